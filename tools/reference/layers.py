"""One layer of each family: (model, layer index, x [tokens, embedding]) -> x. The names are those of the tensors."""
import numpy as np

from blocks import (SH, attend, conv, delta_rule, gelu_tanh, l2, layernorm, mamba1, mamba2, moe, rope, sig, silu,
                    softplus, swiglu)


def heads(m, i, h):
    """Queries, keys and values, each [tokens, heads, head size]."""
    counts = (m.nhd[i], m.nkv[i], m.nkv[i])
    names = ("attn_q", "attn_k", "attn_v")
    return [m.lin(i, name, h).reshape(len(h), count, -1) for name, count in zip(names, counts)]


def attention(m, i, h, hd, scale=None, rotate=None, qk_norm=False, window=0):
    """Grouped-query attention up to and including the output projection. rotate: (dimensions, base, neox, position scale)."""
    q, k, v = heads(m, i, h)
    if qk_norm:
        q, k = m.norm(i, "attn_q_norm", q), m.norm(i, "attn_k_norm", k)
    if rotate:
        q, k = (rope(t, *rotate) for t in (q, k))
    return m.lin(i, "attn_output", attend(q, k, v, scale or 1 / np.sqrt(hd), window))


def ssm2(m, i, h):
    return mamba2(h, m.W, "blk.%d." % i, m.di, m.nh, m.g, m.s, m.eps)


def dense(m, i, h, names=("ffn_gate", "ffn_up", "ffn_down")):
    return swiglu(h, m.W, "blk.%d." % i, names)


def experts(m, i, h, renormalise, scale=1.0, gating="softmax", relu2=False, latent=None):
    """latent: what the experts see instead of h, which still chooses them."""
    return moe(h, m.W, "blk.%d." % i, m.K("expert_used_count"), renormalise, scale, gating, relu2, latent)


def has_experts(m, i):
    return m.w(i, "ffn_gate_inp.weight") is not None


def granitehybrid(m, i, x):
    rs = m.scale("residual_scale")
    h = m.norm(i, "attn_norm", x)
    if m.nkv[i] == 0:
        h = ssm2(m, i, h)
    else:
        hd = m.n // m.nhd[i]
        rotate = None
        if m.K("rope.scaling.finetuned", True):
            rotate = (m.K("rope.dimension_count") or hd, m.K("rope.freq_base", 10000.0), False)
        h = attention(m, i, h, hd, m.scale("attention.scale", None), rotate)
    x = x + rs * h
    h = m.norm(i, "ffn_norm", x)
    if not has_experts(m, i):
        return x + rs * dense(m, i, h)
    f = experts(m, i, h, True)
    if m.w(i, "ffn_up_shexp.weight") is not None:
        f = f + dense(m, i, h, SH)
    return x + rs * f


def jamba(m, i, x):
    h = m.norm(i, "attn_norm", x)
    if m.nkv[i] == 0:
        h = mamba1(h, m.W, "blk.%d." % i, m.di, m.s, m.nh, m.eps, False)
    else:
        h = attention(m, i, h, m.n // m.nhd[i])
    x = x + h
    h = m.norm(i, "ffn_norm", x)
    return x + (experts(m, i, h, False) if has_experts(m, i) else dense(m, i, h))


def mamba(m, i, x):
    h = m.norm(i, "attn_norm", x)
    return x + mamba1(h, m.W, "blk.%d." % i, m.di, m.s, m.nh, m.eps, m.K("ssm.dt_b_c_rms", False))


def mamba_2(m, i, x):
    return x + ssm2(m, i, m.norm(i, "attn_norm", x))


def falcon_h1(m, i, x):
    h = m.norm(i, "attn_norm", x)
    hd = m.K("attention.key_length")
    x = x + attention(m, i, h, hd, rotate=(hd, m.K("rope.freq_base", 10000.0), True)) + ssm2(m, i, h)
    return x + dense(m, i, m.norm(i, "ffn_norm", x, ""))


def nemotron_h(m, i, x):
    feed_forward = m.per_layer("feed_forward_length")[i]
    h = m.norm(i, "attn_norm", x)
    relu2 = lambda up, down: m.lin(i, down, np.maximum(m.lin(i, up, h), 0) ** 2)
    if feed_forward == 0:
        return x + (ssm2(m, i, h) if m.nkv[i] == 0 else attention(m, i, h, m.K("attention.key_length")))
    if not has_experts(m, i):
        return x + relu2("ffn_up", "ffn_down")
    settings = (m.K("expert_weights_norm"), m.scale("expert_weights_scale"), "sigmoid", True)
    if m.K("moe_latent_size"):
        routed = m.lin(i, "ffn_latent_up", experts(m, i, h, *settings, m.lin(i, "ffn_latent_down", h)))
    else:
        routed = experts(m, i, h, *settings)
    return x + routed + relu2("ffn_up_shexp", "ffn_down_shexp")


def gated_delta_net(m, i, h):
    T, nk, nv, s = len(h), m.g, m.nh, m.s
    mixed = silu(conv(m.lin(i, "attn_qkv", h), m.w(i, "ssm_conv1d.weight")))
    q, k, v = np.split(mixed, [nk * s, 2 * nk * s], 1)
    q, k, v = q.reshape(T, nk, s), k.reshape(T, nk, s), v.reshape(T, nv, s)
    q, k = l2(q, m.eps), l2(k, m.eps)
    r = nv // nk
    if m.arch == "qwen3next":
        q, k = np.repeat(q, r, 1), np.repeat(k, r, 1)        # value head j -> key head j // r
        ba = m.lin(i, "ssm_ba", h).reshape(T, nk, 2 * r)
        beta, alpha = ba[..., :r].reshape(T, nv), ba[..., r:].reshape(T, nv)
    else:
        q, k = np.tile(q, (1, r, 1)), np.tile(k, (1, r, 1))  # value head j -> key head j % nk
        beta, alpha = m.lin(i, "ssm_beta", h), m.lin(i, "ssm_alpha", h)
    decay = m.w(i, "ssm_a") * softplus(alpha + m.w(i, "ssm_dt.bias"))
    o = delta_rule(q, k, v, decay, sig(beta))
    z = m.lin(i, "attn_gate", h).reshape(T, nv, s)
    return m.lin(i, "ssm_out", (m.norm(i, "ssm_norm", o) * silu(z)).reshape(T, nv * s))


def gated_attention(m, i, h):
    T, hd, H = len(h), m.K("attention.key_length"), m.nhd[i]
    q, gate = np.split(m.lin(i, "attn_q", h).reshape(T, H, 2 * hd), 2, 2)
    k, v = (m.lin(i, name, h).reshape(T, m.nkv[i], hd) for name in ("attn_k", "attn_v"))
    q, k = m.norm(i, "attn_q_norm", q), m.norm(i, "attn_k_norm", k)
    q, k = (rope(t, m.K("rope.dimension_count"), m.K("rope.freq_base", 10000.0), True) for t in (q, k))
    return m.lin(i, "attn_output", attend(q, k, v, 1 / np.sqrt(hd)) * sig(gate.reshape(T, H * hd)))


def qwen(m, i, x):
    h = m.norm(i, "attn_norm", x)
    x = x + (gated_attention(m, i, h) if m.w(i, "attn_qkv.weight") is None else gated_delta_net(m, i, h))
    h = m.norm(i, "post_attention_norm", x)
    if not has_experts(m, i):
        return x + dense(m, i, h)
    return x + experts(m, i, h, True) + dense(m, i, h, SH) * sig(h @ m.w(i, "ffn_gate_inp_shexp.weight"))[:, None]


def lfm2(m, i, x):
    h = m.norm(i, "attn_norm", x)
    if m.nkv[i]:
        hd = m.n // m.nhd[i]
        h = attention(m, i, h, hd, rotate=(hd, m.K("rope.freq_base", 10000.0), True), qk_norm=True)
    else:
        B, C, X = np.split(m.lin(i, "shortconv.in_proj", h), 3, 1)
        h = m.lin(i, "shortconv.out_proj", C * conv(B * X, m.w(i, "shortconv.conv.weight")))
    x = x + h
    h = m.norm(i, "ffn_norm", x)
    return x + (experts(m, i, h, True, 1.0, "sigmoid") if has_experts(m, i) else dense(m, i, h))


def llama(m, i, x):
    hd = m.n // m.nhd[i]
    x = x + attention(m, i, m.norm(i, "attn_norm", x), hd, rotate=(hd, m.K("rope.freq_base", 10000.0), False))
    return x + dense(m, i, m.norm(i, "ffn_norm", x))


def gemma3(m, i, x):
    hd = m.K("attention.key_length")
    local = i % 6 < 5
    base, position_scale = (10000.0, 1.0) if local else (m.K("rope.freq_base"), 1 / m.K("rope.scaling.factor", 1.0))
    a = attention(m, i, m.norm(i, "attn_norm", x), hd, rotate=(hd, base, True, position_scale), qk_norm=True,
                  window=m.K("attention.sliding_window") if local else 0)
    x = x + m.norm(i, "post_attention_norm", a)
    h = m.norm(i, "ffn_norm", x)
    h = m.lin(i, "ffn_down", gelu_tanh(m.lin(i, "ffn_gate", h)) * m.lin(i, "ffn_up", h))
    return x + m.norm(i, "post_ffw_norm", h)


def plamo2_mamba(m, i, h):
    T, nh, hd, s = len(h), m.nh, m.di // m.nh, m.s
    zx = m.lin(i, "ssm_in", h).reshape(T, nh, 2 * hd)                              # per head: z then x
    z, u = zx[..., :hd], zx[..., hd:].reshape(T, m.di)
    u = silu(conv(u, m.w(i, "ssm_conv1d.weight")))
    B, C, dt = np.split(m.lin(i, "ssm_x", u), [s, 2 * s], 1)                       # in this order
    B, C, dt = (m.norm(i, name, v, "") for name, v in (("ssm_b_norm", B), ("ssm_c_norm", C), ("ssm_dt_norm", dt)))
    dt = softplus(m.lin(i, "ssm_dt", dt) + m.w(i, "ssm_dt.bias"))
    u = u.reshape(T, nh, hd)
    S = np.zeros((nh, hd, s))
    Y = np.empty_like(u)
    for t in range(T):
        S = S * np.exp(dt[t] * m.w(i, "ssm_a"))[:, None, None] + (dt[t][:, None] * u[t])[:, :, None] * B[t][None, None]
        Y[t] = S @ C[t] + m.w(i, "ssm_d")[:, None] * u[t]
    return m.lin(i, "ssm_out", (Y * silu(z)).reshape(T, m.di))


def plamo2(m, i, x):
    h = m.norm(i, "attn_norm", x)
    if m.nkv[i] == 0:
        h = plamo2_mamba(m, i, h)
    else:
        T, hd, H, Hk = len(h), m.K("attention.key_length"), m.nhd[i], m.nkv[i]
        q, k, v = np.split(m.lin(i, "attn_qkv", h), [H * hd, (H + Hk) * hd], 1)
        q, k, v = q.reshape(T, H, hd), k.reshape(T, Hk, hd), v.reshape(T, Hk, hd)
        q, k = m.norm(i, "attn_q_norm", q), m.norm(i, "attn_k_norm", k)
        q, k = (rope(t, hd, m.K("rope.freq_base", 10000.0), True) for t in (q, k))
        h = m.lin(i, "attn_output", attend(q, k, v, 1 / np.sqrt(hd)))
    x = x + m.norm(i, "post_attention_norm", h, "")
    a, u = np.split(m.lin(i, "ffn_up", m.norm(i, "ffn_norm", x)), 2, 1)
    return x + m.norm(i, "post_ffw_norm", m.lin(i, "ffn_down", silu(a) * u), "")


def kimi_delta_attention(m, i, h):
    T, H, hd = len(h), m.nhd[i], m.K("kda.head_dim")

    def stream(c):
        taps = m.w(i, "ssm_conv1d_%s.weight" % c).reshape(H * hd, -1)
        return silu(conv(m.lin(i, "attn_" + c, h), taps)).reshape(T, H, hd)

    q, k, v = stream("q"), stream("k"), stream("v")
    f = m.lin(i, "ssm_f_b", m.lin(i, "ssm_f_a", h))
    decay = softplus(f + m.w(i, "ssm_dt.bias")).reshape(T, H, hd) * m.w(i, "ssm_a").reshape(1, H, 1)
    o = delta_rule(l2(q, m.eps), l2(k, m.eps), v, decay, sig(m.lin(i, "ssm_beta", h)))
    gate = m.lin(i, "ssm_g_b", m.lin(i, "ssm_g_a", h)).reshape(T, H, hd)
    return m.lin(i, "attn_output", (m.norm(i, "ssm_norm", o) * sig(gate)).reshape(T, H * hd))


def latent_attention(m, i, h):
    T, H = len(h), m.nhd[i]
    R, r, km = m.K("attention.kv_lora_rank"), m.K("rope.dimension_count"), m.K("attention.key_length_mla")
    q = m.lin(i, "attn_q", h).reshape(T, H, km)
    c = m.lin(i, "attn_kv_a_mqa", h)
    ck, kpe = m.norm(i, "attn_kv_a_norm", c[:, :R]), c[:, R:]
    qn = np.einsum("thd,hrd->thr", q[..., :km - r], m.w(i, "attn_k_b.weight"))
    queries = np.concatenate([qn, q[..., km - r:]], 2)
    keys = np.concatenate([ck, kpe], 1)[:, None]
    a = attend(queries, keys, ck[:, None], 1 / np.sqrt(km)).reshape(T, H, R)
    return m.lin(i, "attn_output", np.einsum("thr,hvr->thv", a, m.w(i, "attn_v_b.weight")).reshape(T, -1))


def kimi_linear(m, i, x):
    h = m.norm(i, "attn_norm", x)
    x = x + (kimi_delta_attention(m, i, h) if m.nkv[i] == 0 else latent_attention(m, i, h))
    h = m.norm(i, "ffn_norm", x)
    if not has_experts(m, i):
        return x + dense(m, i, h)
    return x + experts(m, i, h, True, m.scale("expert_weights_scale"), "sigmoid") + dense(m, i, h, SH)


def shifted(h):
    """The previous token's row; zeros before the first."""
    return np.concatenate([np.zeros((1, h.shape[1])), h[:-1]])


def rwkv7_time_mix(m, i, h):
    T, n, hs = len(h), m.n, m.K("wkv.head_size")
    H = n // hs
    M = lambda name: m.w(i, "time_mix_" + name + ".weight")
    lerp = M("lerp_fused").reshape(6, n)
    xr, xw, xk, xv, xa, xg = (h + (shifted(h) - h) * lerp[j] for j in range(6))
    r = xr @ M("receptance").T
    w = np.exp(-0.606531 * sig(np.tanh(xw @ M("w1").T) @ M("w2").T + M("w0")))
    k, v = xk @ M("key").T, xv @ M("value").T
    if m.first_values is None:
        m.first_values = v
    else:
        v = v + (m.first_values - v) * sig((xv @ M("v1").T) @ M("v2").T + M("v0"))
    gate = sig(xg @ M("g1").T) @ M("g2").T
    a = sig((xa @ M("a1").T) @ M("a2").T + M("a0"))
    kk = (k * M("k_k")).reshape(T, H, hs)
    kk = kk / np.maximum(np.sqrt((kk * kk).sum(-1, keepdims=True)), 1e-12)
    k = k + k * M("k_a") * (a - 1)
    r, w, k, v, a = (t.reshape(T, H, hs) for t in (r, w, k, v, a))
    S = np.zeros((H, hs, hs))  # [heads, value, key]
    Y = np.empty((T, H, hs))
    for t in range(T):
        sa = np.einsum("hvk,hk->hv", S, -kk[t])
        S = S * w[t][:, None, :] + v[t][:, :, None] * k[t][:, None, :] + sa[:, :, None] * (kk[t] * a[t])[:, None, :]
        Y[t] = np.einsum("hvk,hk->hv", S, r[t])
    mean = Y.mean(-1, keepdims=True)
    y = (Y - mean) / np.sqrt(((Y - mean) ** 2).mean(-1, keepdims=True) + 64e-5)
    y = y.reshape(T, n) * M("ln") + m.w(i, "time_mix_ln.bias")
    bonus = (k * r * M("r_k").reshape(H, hs)).sum(-1, keepdims=True)
    return ((y + (v * bonus).reshape(T, n)) * gate) @ M("output").T


def rwkv7(m, i, x):
    eps = m.K("attention.layer_norm_epsilon")
    norm = lambda name: layernorm(x, m.w(i, name + ".weight"), m.w(i, name + ".bias"), eps)
    x = x + rwkv7_time_mix(m, i, norm("attn_norm"))
    h = norm("attn_norm_2")
    hk = h + (shifted(h) - h) * m.w(i, "channel_mix_lerp_k.weight").reshape(m.n)
    return x + m.lin(i, "channel_mix_value", np.maximum(m.lin(i, "channel_mix_key", hk), 0) ** 2)


LAYERS = {
    "granitehybrid": granitehybrid, "jamba": jamba, "mamba": mamba, "mamba2": mamba_2, "falcon-h1": falcon_h1,
    "nemotron_h": nemotron_h, "nemotron_h_moe": nemotron_h, "qwen35": qwen, "qwen35moe": qwen, "qwen3next": qwen,
    "lfm2": lfm2, "lfm2moe": lfm2, "llama": llama, "gemma3": gemma3, "plamo2": plamo2, "kimi-linear": kimi_linear,
    "rwkv7": rwkv7,
}
