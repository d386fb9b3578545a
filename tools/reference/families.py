"""Keys and tensors of each family, as the published conversions lay them out."""
import numpy as np

from gguf_file import BOOL, F32, I32, STR, U32
from random_weights import Fn, Normal, dt_bias, neg_a


def build_granitehybrid(m):
    p = m.p
    m.start()
    L = p["n_layer"]
    kv = [p["n_kv"] if i in p["attn_layers"] else 0 for i in range(L)]
    m.k("feed_forward_length", U32, p["n_ff"])
    m.k("attention.head_count", U32, p["n_head"])
    m.ka("attention.head_count_kv", I32, kv)
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-5))
    m.k("rope.freq_base", F32, p.get("rope_base", 10000.0))
    m.k("rope.scaling.finetuned", BOOL, p.get("rope", False))
    if "n_rot" in p:
        m.k("rope.dimension_count", U32, p["n_rot"])
    for key, name in (("attention_scale", "attention.scale"), ("embedding_scale", "embedding_scale"),
                      ("residual_scale", "residual_scale"), ("logit_scale", "logit_scale")):
        if key in p:
            m.k(name, F32, p[key])
    if "n_expert" in p:
        m.k("expert_count", U32, p["n_expert"])
        m.k("expert_used_count", U32, p["n_used"])
        if p.get("n_ff_sh"):
            m.k("expert_shared_feed_forward_length", U32, p["n_ff_sh"])
    m.ssm_keys()
    m.vocab()
    m.embeddings()
    hd = p["n_embd"] // p["n_head"]
    for i in range(L):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", p["n_embd"])
        if kv[i] == 0:
            m.mamba2(b)
        else:
            m.attn(b, p["n_head"], kv[i], hd)
        m.norm(b + "ffn_norm", p["n_embd"])
        if "n_expert" in p:
            m.moe(b, p["n_expert"], p["n_ff"])
            if p.get("n_ff_sh"):
                m.swiglu(b, p["n_ff_sh"], names=("ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"))
        else:
            m.swiglu(b, p["n_ff"])


def build_jamba(m):
    p = m.p
    m.start()
    L = p["n_layer"]
    kv = [p["n_kv"] if i in p["attn_layers"] else 0 for i in range(L)]
    m.k("feed_forward_length", U32, p["n_ff"])
    m.k("attention.head_count", U32, p["n_head"])
    m.ka("attention.head_count_kv", I32, kv)
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-6))
    m.k("expert_count", U32, p["n_expert"])
    m.k("expert_used_count", U32, p["n_used"])
    m.ssm_keys(p["dt_rank"])
    m.vocab()
    m.embeddings()
    hd = p["n_embd"] // p["n_head"]
    for i in range(L):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", p["n_embd"])
        if kv[i] == 0:
            m.mamba1(b, norms=True)
        else:
            m.attn(b, p["n_head"], kv[i], hd)
        m.norm(b + "ffn_norm", p["n_embd"])
        if i in p["moe_layers"]:
            m.moe(b, p["n_expert"], p["n_ff"], gain=4.0)
        else:
            m.swiglu(b, p["n_ff"])


def build_mamba(m):
    p = m.p
    m.start()
    m.k("feed_forward_length", U32, 0)
    m.k("attention.head_count", U32, 0)
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-5))
    m.ssm_keys(p["dt_rank"])
    m.k("ssm.dt_b_c_rms", BOOL, p.get("dt_b_c_rms", False))
    m.vocab()
    m.embeddings()
    for i in range(p["n_layer"]):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", p["n_embd"])
        m.mamba1(b)


def build_mamba2(m):
    p = m.p
    m.start()
    m.k("feed_forward_length", U32, 0)
    m.k("attention.head_count", U32, 0)
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-5))
    m.ssm_keys()
    m.vocab()
    m.embeddings()
    for i in range(p["n_layer"]):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", p["n_embd"])
        m.mamba2(b)


def build_falcon_h1(m):
    p = m.p
    m.start()
    m.k("feed_forward_length", U32, p["n_ff"])
    m.k("attention.head_count", U32, p["n_head"])
    m.k("attention.head_count_kv", U32, p["n_kv"])
    m.k("attention.key_length", U32, p["head_dim"])
    m.k("attention.value_length", U32, p["head_dim"])
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-5))
    m.k("rope.freq_base", F32, p.get("rope_base", 1e11))
    m.ssm_keys()
    m.vocab()
    m.embeddings()
    for i in range(p["n_layer"]):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", p["n_embd"])
        m.mamba2(b, norm=p.get("ssm_norm", False), conv_bias=True)
        m.attn(b, p["n_head"], p["n_kv"], p["head_dim"])
        m.norm(b + "ffn_norm", p["n_embd"], suffix="")     # this family: no ".weight"
        m.swiglu(b, p["n_ff"])


def build_nemotron_h(m):
    p = m.p
    m.start()
    pat = p["pattern"]
    assert len(pat) == p["n_layer"]
    moe = "n_expert" in p
    ff = [p["n_ff"] if c in "-E" else 0 for c in pat]
    kv = [p["n_kv"] if c == "*" else 0 for c in pat]
    m.ka("feed_forward_length", I32, ff)
    m.k("attention.head_count", U32, p["n_head"])
    m.ka("attention.head_count_kv", I32, kv)
    m.k("attention.key_length", U32, p["head_dim"])
    m.k("attention.value_length", U32, p["head_dim"])
    m.k("attention.layer_norm_epsilon", F32, p.get("eps", 1e-5))
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-5))
    m.k("rope.freq_base", F32, 10000.0)
    m.k("rope.scaling.finetuned", BOOL, False)
    if moe:
        m.k("expert_count", U32, p["n_expert"])
        m.k("expert_used_count", U32, p["n_used"])
        m.k("expert_feed_forward_length", U32, p["n_ff"])
        m.k("expert_shared_feed_forward_length", U32, p["n_ff_sh"])
        m.k("expert_shared_count", U32, 1)
        m.k("expert_weights_norm", BOOL, True)
        m.k("expert_weights_scale", F32, p.get("w_scale", 2.5))
        m.k("expert_group_count", U32, 1)
        if "latent" in p:
            m.k("moe_latent_size", U32, p["latent"])
    m.ssm_keys()
    m.vocab()
    m.embeddings()
    for i, c in enumerate(pat):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", p["n_embd"])
        if c == "M":
            m.mamba2(b)
        elif c == "*":
            m.attn(b, p["n_head"], p["n_kv"], p["head_dim"])
        elif c == "-":
            m.lin(b + "ffn_up", p["n_embd"], p["n_ff"])
            m.lin(b + "ffn_down", p["n_ff"], p["n_embd"], 0.9)
        else:
            m.moe(b, p["n_expert"], p["n_ff"], gate=False, gain=0.6, bias=True, latent=p.get("latent"))
            m.lin(b + "ffn_up_shexp", p["n_embd"], p["n_ff_sh"])
            m.lin(b + "ffn_down_shexp", p["n_ff_sh"], p["n_embd"], 0.7)


def qwen_linear(m, b, ba):
    p = m.p
    n, s, nk, nv, c = p["n_embd"], p["d_state"], p["ssm_groups"], p["ssm_heads"], p["d_conv"]
    kd, vd = s * nk, s * nv
    m.lin(b + "attn_qkv", n, 2 * kd + vd)
    m.lin(b + "attn_gate", n, vd)
    m.t(b + "ssm_conv1d.weight", [c, 2 * kd + vd], Normal(0.5))
    m.t(b + "ssm_dt.bias", [nv], dt_bias(0.02, 0.8))
    m.t(b + "ssm_a", [nv], neg_a(0.05, 3.0))
    if ba:
        m.lin(b + "ssm_ba", n, 2 * nv)
    else:
        m.lin(b + "ssm_beta", n, nv)
        m.lin(b + "ssm_alpha", n, nv)
    m.norm(b + "ssm_norm", s)
    m.lin(b + "ssm_out", vd, n, 1.8)


def build_qwen_gdn(m):
    p = m.p
    m.start()
    next_ = m.arch == "qwen3next"
    moe = "n_expert" in p
    m.k("feed_forward_length", U32, p["n_ff"])
    m.k("attention.head_count", U32, p["n_head"])
    m.k("attention.head_count_kv", U32, p["n_kv"])
    m.k("attention.key_length", U32, p["head_dim"])
    m.k("attention.value_length", U32, p["head_dim"])
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-6))
    m.k("rope.freq_base", F32, p.get("rope_base", 1e7))
    m.k("rope.dimension_count", U32, p["n_rot"])
    if not next_:
        m.ka("rope.dimension_sections", I32, p["sections"])
    if moe:
        m.k("expert_count", U32, p["n_expert"])
        m.k("expert_used_count", U32, p["n_used"])
        m.k("expert_feed_forward_length", U32, p["n_ff_exp"])
        m.k("expert_shared_feed_forward_length", U32, p["n_ff_sh"])
    m.ssm_keys()
    m.k("full_attention_interval", U32, p["interval"])
    if p.get("recurrent_key", True):
        m.ka("attention.recurrent_layers", BOOL,
             [(i + 1) % p["interval"] != 0 for i in range(p["n_layer"])])
    m.vocab()
    m.embeddings()
    for i in range(p["n_layer"]):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", p["n_embd"])
        if (i + 1) % p["interval"]:
            qwen_linear(m, b, next_)
        else:
            m.attn(b, p["n_head"], p["n_kv"], p["head_dim"], out_gain=2.5, q_mult=2)
            m.norm(b + "attn_q_norm", p["head_dim"])
            m.norm(b + "attn_k_norm", p["head_dim"])
        m.norm(b + "post_attention_norm", p["n_embd"])
        if moe:
            m.moe(b, p["n_expert"], p["n_ff_exp"])
            m.t(b + "ffn_gate_inp_shexp.weight", [p["n_embd"]], Normal(1.0 / np.sqrt(p["n_embd"])))
            m.swiglu(b, p["n_ff_sh"], names=("ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"))
        else:
            m.swiglu(b, p["n_ff"])


def build_lfm2(m):
    p = m.p
    m.start()
    moe = "n_expert" in p
    L = p["n_layer"]
    kv = [p["n_kv"] if i in p["attn_layers"] else 0 for i in range(L)]
    m.k("feed_forward_length", U32, p["n_ff"])
    m.k("attention.head_count", U32, p["n_head"])
    m.ka("attention.head_count_kv", I32, kv)
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-5))
    m.k("rope.freq_base", F32, p.get("rope_base", 1e6))
    m.k("shortconv.l_cache", U32, p["l_cache"])
    if moe:
        m.k("expert_count", U32, p["n_expert"])
        m.k("expert_used_count", U32, p["n_used"])
        m.k("expert_feed_forward_length", U32, p["n_ff_exp"])
        m.k("leading_dense_block_count", U32, p["dense_lead"])
        m.k("expert_gating_func", U32, 2)
    m.vocab()
    m.embeddings(norm_name="token_embd_norm")
    n = p["n_embd"]
    hd = n // p["n_head"]
    for i in range(L):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", n)
        if kv[i]:
            m.attn(b, p["n_head"], kv[i], hd)
            m.norm(b + "attn_q_norm", hd)
            m.norm(b + "attn_k_norm", hd)
        else:
            m.lin(b + "shortconv.in_proj", n, 3 * n)
            m.t(b + "shortconv.conv.weight", [p["l_cache"], n], Normal(0.6))
            m.lin(b + "shortconv.out_proj", n, n)
        m.norm(b + "ffn_norm", n)
        if moe and i >= p["dense_lead"]:
            m.moe(b, p["n_expert"], p["n_ff_exp"], bias=True)
        else:
            m.swiglu(b, p["n_ff"])


def build_llama(m):
    p = m.p
    m.start()
    hd = p["n_embd"] // p["n_head"]
    m.k("feed_forward_length", U32, p["n_ff"])
    m.k("attention.head_count", U32, p["n_head"])
    m.k("attention.head_count_kv", U32, p["n_kv"])
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-5))
    m.k("rope.freq_base", F32, p.get("rope_base", 10000.0))
    m.k("rope.dimension_count", U32, hd)
    m.vocab()
    m.embeddings()
    for i in range(p["n_layer"]):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", p["n_embd"])
        m.attn(b, p["n_head"], p["n_kv"], hd)
        m.norm(b + "ffn_norm", p["n_embd"])
        m.swiglu(b, p["n_ff"])


def build_gemma3(m):
    p = m.p
    m.start()
    m.k("feed_forward_length", U32, p["n_ff"])
    m.k("attention.head_count", U32, p["n_head"])
    m.k("attention.head_count_kv", U32, p["n_kv"])
    m.k("attention.key_length", U32, p["head_dim"])
    m.k("attention.value_length", U32, p["head_dim"])
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-6))
    m.k("rope.freq_base", F32, p.get("rope_base", 1e6))
    if "rope_factor" in p:
        m.k("rope.scaling.type", STR, "linear")
        m.k("rope.scaling.factor", F32, p["rope_factor"])
    m.k("attention.sliding_window", U32, p["window"])
    m.vocab()
    p2 = dict(p, embedding_scale=np.sqrt(p["n_embd"]))
    m.p = p2
    m.embeddings()
    m.p = p
    n = p["n_embd"]
    for i in range(p["n_layer"]):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", n)
        m.attn(b, p["n_head"], p["n_kv"], p["head_dim"])
        m.norm(b + "attn_q_norm", p["head_dim"])
        m.norm(b + "attn_k_norm", p["head_dim"])
        m.norm(b + "post_attention_norm", n)
        m.norm(b + "ffn_norm", n)
        m.swiglu(b, p["n_ff"])
        m.norm(b + "post_ffw_norm", n)


def build_plamo2(m):
    p = m.p
    m.start()
    L, n = p["n_layer"], p["n_embd"]
    kv = [p["n_kv"] if i in p["attn_layers"] else 0 for i in range(L)]
    hc = [p["n_head"] if i in p["attn_layers"] else 0 for i in range(L)]
    m.ka("attention.head_count_kv", I32, kv)
    m.ka("attention.head_count", I32, hc)
    m.k("attention.key_length", U32, p["head_dim"])
    m.k("attention.value_length", U32, p["head_dim"])
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-6))
    m.k("rope.freq_base", F32, 10000.0)
    m.ssm_keys()
    m.k("feed_forward_length", U32, p["n_ff"])
    m.vocab()
    m.embeddings()
    di, s, nh, c = p["d_inner"], p["d_state"], p["ssm_heads"], p["d_conv"]
    dtd = max(64, n // 16)
    for i in range(L):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", n)
        if kv[i] == 0:
            m.lin(b + "ssm_in", n, 2 * di)
            m.t(b + "ssm_conv1d.weight", [c, di], Normal(0.5))
            m.lin(b + "ssm_x", di, dtd + 2 * s, 1.7)
            m.lin(b + "ssm_dt", dtd, nh, 0.8)
            m.t(b + "ssm_dt.bias", [nh], dt_bias())
            m.t(b + "ssm_a", [nh], neg_a())
            m.t(b + "ssm_d", [nh], Normal(0.3, 0.8))
            m.lin(b + "ssm_out", di, n)
            m.norm(b + "ssm_dt_norm", dtd, suffix="")
            m.norm(b + "ssm_b_norm", s, suffix="")
            m.norm(b + "ssm_c_norm", s, suffix="")
        else:
            hd = p["head_dim"]
            m.lin(b + "attn_qkv", n, (hc[i] + 2 * kv[i]) * hd)
            m.norm(b + "attn_q_norm", [hd, hc[i]])
            m.norm(b + "attn_k_norm", [hd, kv[i]])
            m.lin(b + "attn_output", hc[i] * hd, n)
        m.norm(b + "post_attention_norm", n, suffix="")
        m.norm(b + "ffn_norm", n)
        m.lin(b + "ffn_down", p["n_ff"], n)
        m.lin(b + "ffn_up", n, 2 * p["n_ff"])
        m.norm(b + "post_ffw_norm", n, suffix="")


def build_kimi_linear(m):
    p = m.p
    m.start()
    L, n, nh = p["n_layer"], p["n_embd"], p["n_head"]
    kv = [1 if i in p["attn_layers"] else 0 for i in range(L)]
    kd, R, r, nope, vdim = p["kda_dim"], p["kv_lora"], p["n_rot"], p["qk_nope"], p["v_dim"]
    m.k("feed_forward_length", U32, p["n_ff"])
    m.k("attention.head_count", U32, nh)
    m.ka("attention.head_count_kv", I32, kv)
    m.k("attention.layer_norm_rms_epsilon", F32, p.get("eps", 1e-5))
    m.k("attention.kv_lora_rank", U32, R)
    m.k("attention.key_length", U32, R + r)
    m.k("attention.value_length", U32, R)
    m.k("attention.key_length_mla", U32, nope + r)
    m.k("attention.value_length_mla", U32, vdim)
    m.k("rope.dimension_count", U32, r)
    m.k("rope.freq_base", F32, 10000.0)
    m.k("ssm.conv_kernel", U32, p["d_conv"])
    m.k("kda.head_dim", U32, kd)
    m.k("expert_count", U32, p["n_expert"])
    m.k("expert_used_count", U32, p["n_used"])
    m.k("expert_feed_forward_length", U32, p["n_ff_exp"])
    m.k("expert_shared_count", U32, 1)
    m.k("leading_dense_block_count", U32, p["dense_lead"])
    m.k("expert_weights_scale", F32, 2.446)
    m.k("expert_gating_func", U32, 2)
    m.vocab()
    m.embeddings()
    di = kd * nh
    for i in range(L):
        b = "blk.%d." % i
        m.norm(b + "attn_norm", n)
        if kv[i] == 0:
            for c in "qkv":
                m.t(b + "ssm_conv1d_%s.weight" % c, [p["d_conv"], 1, di, 1], Normal(0.5))
            for c in "qkv":
                m.lin(b + "attn_" + c, n, di)
            m.lin(b + "ssm_f_a", n, kd)
            m.lin(b + "ssm_f_b", kd, di)
            m.lin(b + "ssm_beta", n, nh)
            m.t(b + "ssm_a", [1, nh, 1, 1], neg_a(0.05, 3.0))
            m.t(b + "ssm_dt.bias", [di], dt_bias(0.02, 0.8))
            m.lin(b + "ssm_g_a", n, kd)
            m.lin(b + "ssm_g_b", kd, di)
            m.norm(b + "ssm_norm", kd)
            m.lin(b + "attn_output", di, n, 1.8)
        else:
            m.norm(b + "attn_kv_a_norm", R)
            m.lin(b + "attn_q", n, nh * (nope + r), 1.4)
            m.lin(b + "attn_kv_a_mqa", n, R + r)
            m.lin3(b + "attn_k_b", nope, R, nh, 1.4)
            m.lin3(b + "attn_v_b", R, vdim, nh)
            m.lin(b + "attn_output", nh * vdim, n, 1.5)
        m.norm(b + "ffn_norm", n)
        if i < p["dense_lead"]:
            m.swiglu(b, p["n_ff"])
        else:
            m.moe(b, p["n_expert"], p["n_ff_exp"], bias=True, gain=1.0)
            m.swiglu(b, p["n_ff_exp"], names=("ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"))


def build_rwkv7(m):
    p = m.p
    m.start()
    n, hs, L = p["n_embd"], p["head_size"], p["n_layer"]
    m.k("feed_forward_length", U32, p["n_ff"])
    m.k("attention.head_count", U32, 0)
    m.k("attention.layer_norm_epsilon", F32, 1e-5)
    m.k("wkv.head_size", U32, hs)
    m.k("attention.decay_lora_rank", U32, p["r_w"])
    m.k("attention.iclr_lora_rank", U32, p["r_a"])
    m.k("attention.value_residual_mix_lora_rank", U32, p["r_v"])
    m.k("attention.gate_lora_rank", U32, p["r_g"])
    m.k("token_shift_count", U32, 2)
    m.vocab()
    m.t("token_embd.weight", [n, p["n_vocab"]], Normal(1.0))
    m.norm("token_embd_norm", n)
    m.t("token_embd_norm.bias", [n], Normal(0.1))
    m.norm("output_norm", n)
    m.t("output_norm.bias", [n], Normal(0.1))
    m.t("output.weight", [n, p["n_vocab"]], Normal(2.5 / np.sqrt(n)))
    uni = lambda lo, hi: Fn(lambda r, ne: r.uniform(lo, hi, int(np.prod(ne))))
    for i in range(L):
        b = "blk.%d." % i
        for nm in ("attn_norm", "attn_norm_2"):
            m.norm(b + nm, n)
            m.t(b + nm + ".bias", [n], Normal(0.1))
        m.t(b + "time_mix_w0.weight", [n], uni(-6.0, 1.0))
        m.lin(b + "time_mix_w1", n, p["r_w"])
        m.lin(b + "time_mix_w2", p["r_w"], n, 0.5)
        m.t(b + "time_mix_a0.weight", [n], Normal(0.5))
        m.lin(b + "time_mix_a1", n, p["r_a"])
        m.lin(b + "time_mix_a2", p["r_a"], n, 0.7)
        rv = p["r_a"] if i == 0 else p["r_v"]
        m.t(b + "time_mix_v0.weight", [n], Normal(0.5))
        m.lin(b + "time_mix_v1", n, rv)
        m.lin(b + "time_mix_v2", rv, n, 0.7)
        m.lin(b + "time_mix_g1", n, p["r_g"])
        m.lin(b + "time_mix_g2", p["r_g"], n, 1.5)
        m.t(b + "time_mix_lerp_fused.weight", [n, 1, 1, 6], uni(0.0, 1.0))
        m.t(b + "time_mix_k_k.weight", [n], Normal(0.1, 0.85))
        m.t(b + "time_mix_k_a.weight", [n], Normal(0.1, 1.0))
        m.t(b + "time_mix_r_k.weight", [n], Normal(0.2))
        for nm in ("key", "value", "receptance"):
            m.lin(b + "time_mix_" + nm, n, n)
        m.norm(b + "time_mix_ln", n)
        m.t(b + "time_mix_ln.bias", [n], Normal(0.1))
        m.lin(b + "time_mix_output", n, n, 1.5)
        m.t(b + "channel_mix_lerp_k.weight", [n, 1, 1], uni(0.0, 1.0))
        m.lin(b + "channel_mix_key", n, p["n_ff"])
        m.lin(b + "channel_mix_value", p["n_ff"], n, 0.9)


BUILD = {
    "granitehybrid": build_granitehybrid, "jamba": build_jamba, "mamba": build_mamba,
    "mamba2": build_mamba2, "falcon-h1": build_falcon_h1, "nemotron_h": build_nemotron_h,
    "nemotron_h_moe": build_nemotron_h, "qwen35": build_qwen_gdn, "qwen35moe": build_qwen_gdn,
    "qwen3next": build_qwen_gdn, "lfm2": build_lfm2, "lfm2moe": build_lfm2,
    "llama": build_llama, "gemma3": build_gemma3, "plamo2": build_plamo2,
    "kimi-linear": build_kimi_linear, "rwkv7": build_rwkv7,
}
