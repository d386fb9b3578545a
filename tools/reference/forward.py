#!/usr/bin/python3
"""Independent float64 forward pass: slow, exact, every family. What Oxbow's logits are measured against.

    forward.py MODEL.gguf        compares with the logits beside it (MODEL.json with MODEL.npy, or with MODEL.npz)
    forward.py MODEL.gguf 1,2,3  prints the logits' largest entries after these token ids
"""
import json
import os
import sys

import numpy as np

from blocks import (SH, attend, conv, delta_rule, gelu_tanh, l2, layernorm, mamba1, mamba2, moe, rms, rope, sig, silu,
                    softplus, swiglu)
from gguf_file import read_gguf


def forward(path, toks):
    """Logits [tokens, vocabulary] of every position, float64, from an empty state."""
    kv, W = read_gguf(path)
    arch = kv["general.architecture"]
    K = lambda k, d=None: kv.get(arch + "." + k, d)
    # Multipliers: 0 and absent both mean neutral.
    scale = lambda k, neutral=1.0: K(k) or neutral
    L, n = K("block_count"), K("embedding_length")
    eps = K("attention.layer_norm_rms_epsilon")
    per = lambda k, d=None: (lambda v: v if isinstance(v, list) else [v] * L)(K(k, d))
    nkv, nhd = per("attention.head_count_kv"), per("attention.head_count")
    di, s, nh, g = K("ssm.inner_size"), K("ssm.state_size"), K("ssm.time_step_rank"), K("ssm.group_count")
    x = W["token_embd.weight"][toks] * scale("embedding_scale")
    T = len(toks)
    if arch == "gemma3":
        x = x * np.sqrt(n)
    if arch == "rwkv7":
        e = K("attention.layer_norm_epsilon")
        x = layernorm(x, W["token_embd_norm.weight"], W["token_embd_norm.bias"], e)
        vfirst = None

    def qkv(h, b, H, Hk, hd):
        f = lambda c, m: (h @ W[b + "attn_%s.weight" % c].T).reshape(T, m, -1)
        return f("q", H), f("k", Hk), f("v", Hk)

    for i in range(L):
        b = "blk.%d." % i
        N = lambda nm, y, sfx=".weight": rms(y, W[b + nm + sfx], eps)
        if arch == "granitehybrid":
            rs = scale("residual_scale")
            h = N("attn_norm", x)
            if nkv[i] == 0:
                h = mamba2(h, W, b, di, nh, g, s, eps)
            else:
                hd = n // nhd[i]
                q, k, v = qkv(h, b, nhd[i], nkv[i], hd)
                if K("rope.scaling.finetuned", True):
                    nr = (K("rope.dimension_count") or hd)
                    q, k = (rope(t, nr, K("rope.freq_base", 10000.0), False) for t in (q, k))
                h = attend(q, k, v, scale("attention.scale", 1 / np.sqrt(hd))) @ W[b + "attn_output.weight"].T
            x = x + rs * h
            h = N("ffn_norm", x)
            if b + "ffn_gate_inp.weight" in W:
                f = moe(h, W, b, K("expert_used_count"), True)
                if b + "ffn_up_shexp.weight" in W:
                    f = f + swiglu(h, W, b, SH)
            else:
                f = swiglu(h, W, b)
            x = x + rs * f
        elif arch == "jamba":
            h = N("attn_norm", x)
            if nkv[i] == 0:
                h = mamba1(h, W, b, di, s, nh, eps, False)
            else:
                hd = n // nhd[i]
                q, k, v = qkv(h, b, nhd[i], nkv[i], hd)
                h = attend(q, k, v, 1 / np.sqrt(hd)) @ W[b + "attn_output.weight"].T
            x = x + h
            h = N("ffn_norm", x)
            x = x + (moe(h, W, b, K("expert_used_count"), False) if b + "ffn_gate_inp.weight" in W
                     else swiglu(h, W, b))
        elif arch == "mamba":
            x = x + mamba1(N("attn_norm", x), W, b, di, s, nh, eps, K("ssm.dt_b_c_rms", False))
        elif arch == "mamba2":
            x = x + mamba2(N("attn_norm", x), W, b, di, nh, g, s, eps)
        elif arch == "falcon-h1":
            h = N("attn_norm", x)
            hd = K("attention.key_length")
            q, k, v = qkv(h, b, nhd[i], nkv[i], hd)
            q, k = (rope(t, hd, K("rope.freq_base", 10000.0), True) for t in (q, k))
            a = attend(q, k, v, 1 / np.sqrt(hd)) @ W[b + "attn_output.weight"].T
            x = x + a + mamba2(h, W, b, di, nh, g, s, eps)
            x = x + swiglu(N("ffn_norm", x, ""), W, b)
        elif arch in ("nemotron_h", "nemotron_h_moe"):
            ff = per("feed_forward_length")
            h = N("attn_norm", x)
            if nkv[i] == 0 and ff[i] == 0:
                h = mamba2(h, W, b, di, nh, g, s, eps)
            elif ff[i] == 0:
                hd = K("attention.key_length")
                q, k, v = qkv(h, b, nhd[i], nkv[i], hd)
                h = attend(q, k, v, 1 / np.sqrt(hd)) @ W[b + "attn_output.weight"].T
            elif b + "ffn_gate_inp.weight" in W:
                sh = np.maximum(h @ W[b + "ffn_up_shexp.weight"].T, 0) ** 2 @ W[b + "ffn_down_shexp.weight"].T
                h = moe(h, W, b, K("expert_used_count"), K("expert_weights_norm"),
                        scale("expert_weights_scale"), "sigmoid", True) + sh
            else:
                h = np.maximum(h @ W[b + "ffn_up.weight"].T, 0) ** 2 @ W[b + "ffn_down.weight"].T
            x = x + h
        elif arch in ("qwen35", "qwen35moe", "qwen3next"):
            h = N("attn_norm", x)
            if b + "attn_qkv.weight" in W:
                nk, nv = g, nh
                kd, vd = nk * s, nv * s
                m = silu(conv(h @ W[b + "attn_qkv.weight"].T, W[b + "ssm_conv1d.weight"]))
                q, k, v = np.split(m, [kd, 2 * kd], 1)
                q, k, v = q.reshape(T, nk, s), k.reshape(T, nk, s), v.reshape(T, nv, s)
                q, k = l2(q, eps), l2(k, eps)
                r = nv // nk
                if arch == "qwen3next":
                    q, k = np.repeat(q, r, 1), np.repeat(k, r, 1)      # v head j -> k head j // r
                    ba = (h @ W[b + "ssm_ba.weight"].T).reshape(T, nk, 2 * r)
                    be, al = ba[..., :r].reshape(T, nv), ba[..., r:].reshape(T, nv)
                else:
                    q, k = np.tile(q, (1, r, 1)), np.tile(k, (1, r, 1))  # v head j -> k head j % nk
                    be, al = h @ W[b + "ssm_beta.weight"].T, h @ W[b + "ssm_alpha.weight"].T
                gate = W[b + "ssm_a"] * softplus(al + W[b + "ssm_dt.bias"])
                o = delta_rule(q, k, v, gate, sig(be))
                z = (h @ W[b + "attn_gate.weight"].T).reshape(T, nv, s)
                o = rms(o, W[b + "ssm_norm.weight"], eps) * silu(z)
                h = o.reshape(T, vd) @ W[b + "ssm_out.weight"].T
            else:
                hd = K("attention.key_length")
                H, Hk = nhd[i], nkv[i]
                qg = (h @ W[b + "attn_q.weight"].T).reshape(T, H, 2 * hd)
                q, gt = qg[..., :hd], qg[..., hd:].reshape(T, H * hd)
                k = (h @ W[b + "attn_k.weight"].T).reshape(T, Hk, hd)
                v = (h @ W[b + "attn_v.weight"].T).reshape(T, Hk, hd)
                q, k = N("attn_q_norm", q), N("attn_k_norm", k)
                nr = K("rope.dimension_count")
                q, k = (rope(t, nr, K("rope.freq_base", 10000.0), True) for t in (q, k))
                h = (attend(q, k, v, 1 / np.sqrt(hd)) * sig(gt)) @ W[b + "attn_output.weight"].T
            x = x + h
            h = N("post_attention_norm", x)
            if b + "ffn_gate_inp.weight" in W:
                f = moe(h, W, b, K("expert_used_count"), True)
                f = f + swiglu(h, W, b, SH) * sig(h @ W[b + "ffn_gate_inp_shexp.weight"])[:, None]
            else:
                f = swiglu(h, W, b)
            x = x + f
        elif arch in ("lfm2", "lfm2moe"):
            h = N("attn_norm", x)
            if nkv[i]:
                hd = n // nhd[i]
                q, k, v = qkv(h, b, nhd[i], nkv[i], hd)
                q, k = N("attn_q_norm", q), N("attn_k_norm", k)
                q, k = (rope(t, hd, K("rope.freq_base", 10000.0), True) for t in (q, k))
                h = attend(q, k, v, 1 / np.sqrt(hd)) @ W[b + "attn_output.weight"].T
            else:
                B, C, X = np.split(h @ W[b + "shortconv.in_proj.weight"].T, 3, 1)
                h = (C * conv(B * X, W[b + "shortconv.conv.weight"])) @ W[b + "shortconv.out_proj.weight"].T
            x = x + h
            h = N("ffn_norm", x)
            x = x + (moe(h, W, b, K("expert_used_count"), True, 1.0, "sigmoid")
                     if b + "ffn_gate_inp.weight" in W else swiglu(h, W, b))
        elif arch == "llama":
            hd = n // nhd[i]
            q, k, v = qkv(N("attn_norm", x), b, nhd[i], nkv[i], hd)
            q, k = (rope(t, hd, K("rope.freq_base", 10000.0), False) for t in (q, k))
            x = x + attend(q, k, v, 1 / np.sqrt(hd)) @ W[b + "attn_output.weight"].T
            x = x + swiglu(N("ffn_norm", x), W, b)
        elif arch == "gemma3":
            hd = K("attention.key_length")
            q, k, v = qkv(N("attn_norm", x), b, nhd[i], nkv[i], hd)
            q, k = N("attn_q_norm", q), N("attn_k_norm", k)
            local = i % 6 < 5
            base, sc = (10000.0, 1.0) if local else (K("rope.freq_base", 10000.0), 1 / K("rope.scaling.factor", 1.0))
            q, k = (rope(t, hd, base, True, sc) for t in (q, k))
            a = attend(q, k, v, 1 / np.sqrt(hd), K("attention.sliding_window") if local else 0)
            x = x + N("post_attention_norm", a @ W[b + "attn_output.weight"].T)
            h = N("ffn_norm", x)
            h = (gelu_tanh(h @ W[b + "ffn_gate.weight"].T) * (h @ W[b + "ffn_up.weight"].T)) @ W[b + "ffn_down.weight"].T
            x = x + N("post_ffw_norm", h)
        elif arch == "plamo2":
            h = N("attn_norm", x)
            if nkv[i] == 0:
                hd = di // nh
                zx = (h @ W[b + "ssm_in.weight"].T).reshape(T, nh, 2 * hd)   # per head: z then x
                z, u = zx[..., :hd], zx[..., hd:].reshape(T, di)
                u = silu(conv(u, W[b + "ssm_conv1d.weight"]))
                B, C, dt = np.split(u @ W[b + "ssm_x.weight"].T, [s, 2 * s], 1)  # order B, C, dt
                B, C, dt = N("ssm_b_norm", B, ""), N("ssm_c_norm", C, ""), N("ssm_dt_norm", dt, "")
                dt = softplus(dt @ W[b + "ssm_dt.weight"].T + W[b + "ssm_dt.bias"])
                u = u.reshape(T, nh, hd)
                S = np.zeros((nh, hd, s))
                Y = np.empty_like(u)
                for t in range(T):
                    S = S * np.exp(dt[t] * W[b + "ssm_a"])[:, None, None] + \
                        (dt[t][:, None] * u[t])[:, :, None] * B[t][None, None]
                    Y[t] = S @ C[t] + W[b + "ssm_d"][:, None] * u[t]
                h = (Y * silu(z)).reshape(T, di) @ W[b + "ssm_out.weight"].T
            else:
                hd = K("attention.key_length")
                H, Hk = nhd[i], nkv[i]
                m = h @ W[b + "attn_qkv.weight"].T
                q, k, v = np.split(m, [H * hd, (H + Hk) * hd], 1)
                q, k, v = q.reshape(T, H, hd), k.reshape(T, Hk, hd), v.reshape(T, Hk, hd)
                q, k = N("attn_q_norm", q), N("attn_k_norm", k)
                q, k = (rope(t, hd, K("rope.freq_base", 10000.0), True) for t in (q, k))
                h = attend(q, k, v, 1 / np.sqrt(hd)) @ W[b + "attn_output.weight"].T
            x = x + N("post_attention_norm", h, "")
            h = N("ffn_norm", x)
            a, u = np.split(h @ W[b + "ffn_up.weight"].T, 2, 1)
            x = x + N("post_ffw_norm", (silu(a) * u) @ W[b + "ffn_down.weight"].T, "")
        elif arch == "kimi-linear":
            h = N("attn_norm", x)
            H, hd = nhd[i], K("kda.head_dim")
            if nkv[i] == 0:
                def qc(c):
                    y = h @ W[b + "attn_%s.weight" % c].T
                    w = W[b + "ssm_conv1d_%s.weight" % c].reshape(H * hd, -1)
                    return silu(conv(y, w)).reshape(T, H, hd)
                q, k, v = qc("q"), qc("k"), qc("v")
                q, k = l2(q, eps), l2(k, eps)
                f = (h @ W[b + "ssm_f_a.weight"].T) @ W[b + "ssm_f_b.weight"].T
                gate = softplus(f + W[b + "ssm_dt.bias"]).reshape(T, H, hd) * W[b + "ssm_a"].reshape(1, H, 1)
                be = sig(h @ W[b + "ssm_beta.weight"].T)
                o = delta_rule(q, k, v, gate, be)
                gg = ((h @ W[b + "ssm_g_a.weight"].T) @ W[b + "ssm_g_b.weight"].T).reshape(T, H, hd)
                h = (rms(o, W[b + "ssm_norm.weight"], eps) * sig(gg)).reshape(T, H * hd) @ W[b + "attn_output.weight"].T
            else:
                R, r = K("attention.kv_lora_rank"), K("rope.dimension_count")
                km = K("attention.key_length_mla")
                q = (h @ W[b + "attn_q.weight"].T).reshape(T, H, km)
                c = h @ W[b + "attn_kv_a_mqa.weight"].T
                ck, kpe = N("attn_kv_a_norm", c[:, :R]), c[:, R:]
                qn = np.einsum("thd,hrd->thr", q[..., :km - r], W[b + "attn_k_b.weight"])
                Q = np.concatenate([qn, q[..., km - r:]], 2)
                Kk = np.concatenate([ck, kpe], 1)[:, None]
                a = attend(Q, Kk, ck[:, None], 1 / np.sqrt(km)).reshape(T, H, R)
                h = np.einsum("thr,hvr->thv", a, W[b + "attn_v_b.weight"]).reshape(T, -1) @ W[b + "attn_output.weight"].T
            x = x + h
            h = N("ffn_norm", x)
            if b + "ffn_gate_inp.weight" in W:
                x = x + moe(h, W, b, K("expert_used_count"), True, scale("expert_weights_scale"), "sigmoid") \
                    + swiglu(h, W, b, SH)
            else:
                x = x + swiglu(h, W, b)
        elif arch == "rwkv7":
            hs = K("wkv.head_size")
            H = n // hs
            h = layernorm(x, W[b + "attn_norm.weight"], W[b + "attn_norm.bias"], e)
            prev = np.concatenate([np.zeros((1, n)), h[:-1]])
            lf = W[b + "time_mix_lerp_fused.weight"].reshape(6, n)
            xr, xw, xk, xv, xa, xg = (h + (prev - h) * lf[j] for j in range(6))
            M = lambda nm: W[b + "time_mix_" + nm + ".weight"]
            r = xr @ M("receptance").T
            w = np.exp(-0.606531 * sig(np.tanh(xw @ M("w1").T) @ M("w2").T + M("w0")))
            k, v = xk @ M("key").T, xv @ M("value").T
            if vfirst is None:
                vfirst = v
            else:
                v = v + (vfirst - v) * sig((xv @ M("v1").T) @ M("v2").T + M("v0"))
            gt = sig(xg @ M("g1").T) @ M("g2").T
            a = sig((xa @ M("a1").T) @ M("a2").T + M("a0"))
            kk = (k * M("k_k")).reshape(T, H, hs)
            kk = kk / np.maximum(np.sqrt((kk * kk).sum(-1, keepdims=True)), 1e-12)
            k = k + k * M("k_a") * (a - 1)
            r, w, k, v, a = (t.reshape(T, H, hs) for t in (r, w, k, v, a))
            S = np.zeros((H, hs, hs))                   # [H, value, key]
            Y = np.empty((T, H, hs))
            for t in range(T):
                sa = np.einsum("hvk,hk->hv", S, -kk[t])
                S = S * w[t][:, None, :] + v[t][:, :, None] * k[t][:, None, :] \
                    + sa[:, :, None] * (kk[t] * a[t])[:, None, :]
                Y[t] = np.einsum("hvk,hk->hv", S, r[t])
            m = Y.mean(-1, keepdims=True)
            y = (Y - m) / np.sqrt(((Y - m) ** 2).mean(-1, keepdims=True) + 64e-5)
            y = y.reshape(T, n) * M("ln") + W[b + "time_mix_ln.bias"]
            rk = (k * r * M("r_k").reshape(H, hs)).sum(-1, keepdims=True)
            y = y + (v * rk).reshape(T, n)
            x = x + (y * gt) @ M("output").T
            h = layernorm(x, W[b + "attn_norm_2.weight"], W[b + "attn_norm_2.bias"], e)
            prev = np.concatenate([np.zeros((1, n)), h[:-1]])
            hk = h + (prev - h) * W[b + "channel_mix_lerp_k.weight"].reshape(n)
            x = x + np.maximum(hk @ W[b + "channel_mix_key.weight"].T, 0) ** 2 @ W[b + "channel_mix_value.weight"].T
        else:
            raise ValueError(arch)

    if arch == "rwkv7":
        x = layernorm(x, W["output_norm.weight"], W["output_norm.bias"], e)
    else:
        nm = "token_embd_norm.weight" if arch.startswith("lfm2") else "output_norm.weight"
        x = rms(x, W[nm], eps)
    out = x @ W.get("output.weight", W["token_embd.weight"]).T
    return out / scale("logit_scale")


def expected_logits(prefix):
    """The float32 logits stored beside a model; for quantised ones the exact rows where both kinds are stored."""
    if os.path.exists(prefix + ".npy"):
        return np.load(prefix + ".npy")
    arrays = np.load(prefix + ".npz")
    return arrays["logits_exact" if "logits_exact" in arrays else "logits"]


def main():
    model = sys.argv[1]
    if len(sys.argv) > 2:
        last = forward(model, np.array([int(t) for t in sys.argv[2].split(",")]))[-1]
        for token in np.argsort(-last, kind="stable")[:10]:
            print("%6d %.6f" % (token, last[token]))
        return 0
    prefix = model[:-len(".gguf")]
    with open(prefix + ".json") as f:
        tokens = json.load(f)["tokens"]
    ref = expected_logits(prefix)
    out = forward(model, np.array(tokens))
    diff = np.abs(out - ref)
    print("%-32s max %.3e  rms %.3e  argmax equal %d/%d" % (
        os.path.basename(model), diff.max(), np.sqrt((diff ** 2).mean()), (out.argmax(1) == ref.argmax(1)).sum(), len(ref)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
