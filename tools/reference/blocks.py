"""Building blocks in float64: norms, rope, attention, recurrences, feed-forwards. Written for clarity, one token at a time."""
import numpy as np


def sig(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sig(x)


def softplus(x):
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))


def rms(x, w, eps):
    y = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    return y if w is None else y * w


def layernorm(x, w, b, eps):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / np.sqrt(v + eps) * w + b


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * x * (1 + 0.044715 * x * x)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rope(x, n_rot, base, neox, scale=1.0):
    """x: [T, heads, hd]; rotates the first n_rot dims."""
    T = x.shape[0]
    half = n_rot // 2
    inv = base ** (-np.arange(half) * 2.0 / n_rot)
    ang = np.arange(T)[:, None] * scale * inv[None]
    c, s = np.cos(ang)[:, None], np.sin(ang)[:, None]
    y = x.copy()
    if neox:      # pairs (i, i + n_rot/2)
        a, b = x[..., :half], x[..., half:n_rot]
        y[..., :half], y[..., half:n_rot] = a * c - b * s, a * s + b * c
    else:         # pairs (2i, 2i+1)
        a, b = x[..., 0:n_rot:2], x[..., 1:n_rot:2]
        y[..., 0:n_rot:2], y[..., 1:n_rot:2] = a * c - b * s, a * s + b * c
    return y


def attend(q, k, v, scale, window=0):
    """q [T,H,hd] k [T,Hk,hd] v [T,Hk,hv]; query head h uses kv head h // (H/Hk)"""
    T, H = q.shape[:2]
    r = H // k.shape[1]
    k = np.repeat(k, r, 1)
    v = np.repeat(v, r, 1)
    s = np.einsum("ihd,jhd->hij", q, k) * scale
    i, j = np.arange(T)[:, None], np.arange(T)[None]
    mask = j > i
    if window:
        mask |= (i - j) >= window
    s = np.where(mask[None], -np.inf, s)
    return np.einsum("hij,jhd->ihd", softmax(s), v).reshape(T, -1)


def conv(x, w, b=None):
    """causal depthwise convolution; w [channels, k], w[:, -1] meets the current token"""
    T = x.shape[0]
    k = w.shape[1]
    xp = np.concatenate([np.zeros((k - 1, x.shape[1])), x])
    y = sum(xp[i:i + T] * w[:, i] for i in range(k))
    return y if b is None else y + b


def mamba2(x, W, b, di, nh, g, s, eps):
    T = x.shape[0]
    zx = x @ W[b + "ssm_in.weight"].T
    z, xbc, dt = np.split(zx, [di, 2 * di + 2 * g * s], 1)
    xbc = silu(conv(xbc, W[b + "ssm_conv1d.weight"], W.get(b + "ssm_conv1d.bias")))
    u, B, C = np.split(xbc, [di, di + g * s], 1)
    u = u.reshape(T, nh, di // nh)
    B, C = B.reshape(T, g, s), C.reshape(T, g, s)
    B, C = np.repeat(B, nh // g, 1), np.repeat(C, nh // g, 1)   # head h uses group h // (nh/g)
    dt = softplus(dt + W[b + "ssm_dt.bias"])
    A = W[b + "ssm_a"].reshape(-1)
    D = W[b + "ssm_d"].reshape(-1)
    S = np.zeros((nh, di // nh, s))
    Y = np.empty_like(u)
    for t in range(T):
        S = S * np.exp(dt[t] * A)[:, None, None] + (dt[t][:, None] * u[t])[:, :, None] * B[t][:, None, :]
        Y[t] = np.einsum("hps,hs->hp", S, C[t]) + D[:, None] * u[t]
    y = Y.reshape(T, di) * silu(z)                    # gate first ...
    if b + "ssm_norm.weight" in W:                    # ... then RMS norm per group
        y = rms(y.reshape(T, g, di // g), W[b + "ssm_norm.weight"], eps).reshape(T, di)
    return y @ W[b + "ssm_out.weight"].T


def mamba1(x, W, b, di, s, r, eps, bare_norm):
    T = x.shape[0]
    u, z = np.split(x @ W[b + "ssm_in.weight"].T, 2, 1)
    u = silu(conv(u, W[b + "ssm_conv1d.weight"], W[b + "ssm_conv1d.bias"]))
    dt, B, C = np.split(u @ W[b + "ssm_x.weight"].T, [r, r + s], 1)
    if bare_norm or b + "ssm_dt_norm.weight" in W:
        dt = rms(dt, W.get(b + "ssm_dt_norm.weight"), eps)
        B = rms(B, W.get(b + "ssm_b_norm.weight"), eps)
        C = rms(C, W.get(b + "ssm_c_norm.weight"), eps)
    dt = softplus(dt @ W[b + "ssm_dt.weight"].T + W[b + "ssm_dt.bias"])
    A = W[b + "ssm_a"]
    S = np.zeros((di, s))
    Y = np.empty_like(u)
    for t in range(T):
        S = S * np.exp(dt[t][:, None] * A) + (dt[t] * u[t])[:, None] * B[t][None]
        Y[t] = S @ C[t] + W[b + "ssm_d"] * u[t]
    return (Y * silu(z)) @ W[b + "ssm_out.weight"].T


def delta_rule(q, k, v, g, beta):
    """q,k,v [T,H,S] (already matched in heads and normalised), g [T,H] or [T,H,S] log decay"""
    T, H, s = v.shape
    S = np.zeros((H, s, s))                           # [H, key, value]
    O = np.empty_like(v)
    if g.ndim == 2:
        g = g[:, :, None]
    for t in range(T):
        S = S * np.exp(g[t])[:, :, None] if g.shape[2] > 1 else S * np.exp(g[t])[:, :, None]
        d = (v[t] - np.einsum("hkv,hk->hv", S, k[t])) * beta[t][:, None]
        S = S + k[t][:, :, None] * d[:, None, :]
        O[t] = np.einsum("hkv,hk->hv", S, q[t]) / np.sqrt(s)
    return O


def l2(x, eps):
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + eps)


def swiglu(x, W, b, names=("ffn_gate", "ffn_up", "ffn_down")):
    g, u, d = (W[b + n + ".weight"] for n in names)
    return (silu(x @ g.T) * (x @ u.T)) @ d.T


def moe(x, W, b, used, norm, scale=1.0, gating="softmax", relu2=False, latent=None):
    T = x.shape[0]
    lg = x @ W[b + "ffn_gate_inp.weight"].T
    x = x if latent is None else latent
    pr = softmax(lg) if gating == "softmax" else sig(lg)
    sel = pr + W[b + "exp_probs_b.bias"] if b + "exp_probs_b.bias" in W else pr
    U, D = W[b + "ffn_up_exps.weight"], W[b + "ffn_down_exps.weight"]
    G = W.get(b + "ffn_gate_exps.weight")
    out = np.zeros_like(x)
    for t in range(T):
        ids = np.argsort(-sel[t], kind="stable")[:used]
        w = pr[t, ids]
        if norm:
            w = w / max(w.sum(), 6.103515625e-5)
        w = w * scale
        for e, wt in zip(ids, w):
            h = U[e] @ x[t]
            h = np.maximum(h, 0) ** 2 if relu2 else silu(G[e] @ x[t]) * h
            out[t] += wt * (D[e] @ h)
    return out


SH = ("ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp")
