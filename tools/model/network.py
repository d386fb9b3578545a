"""The network in PyTorch: Mamba-2 and attention layers, each followed by a SwiGLU feed-forward.

Shapes: b = sequences, t = tokens, h = heads, p = channels of a head, s = state size, c = chunks, q = tokens of a chunk.
In float32 the recurrence is computed in chunks (the "state space duality" form of the Mamba-2 paper, arXiv 2405.21060, section 6),
all of it as batched matrix products. For training there is a second path: bfloat16 operands and the kernels of fused.py.
export.py says which tensor of the GGUF file each parameter becomes.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

import fused

CHUNK = 32          # tokens of one chunk of the recurrence; sequence lengths are padded to a multiple by the caller


class Linear(nn.Module):
    """y = W x. With `low` set, operands are rounded to bfloat16 (sums stay in float32), which is several times faster."""

    def __init__(self, n_in, n_out, gain=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) * gain / math.sqrt(n_in))
        self.low = False

    def forward(self, x):
        if self.low:
            return F.linear(x.bfloat16(), self.weight.bfloat16())
        return F.linear(x, self.weight)


class Norm(nn.Module):
    def __init__(self, n, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.eps, self.low = eps, False

    def forward(self, x):
        if self.low:
            return fused.Norm.apply(x, self.weight, self.eps)
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class FeedForward(nn.Module):
    def __init__(self, cfg, gain):
        super().__init__()
        self.gate = Linear(cfg.n_embd, cfg.n_ff)
        self.up = Linear(cfg.n_embd, cfg.n_ff)
        self.down = Linear(cfg.n_ff, cfg.n_embd, gain)

    def forward(self, x):
        gate, up = self.gate(x), self.up(x)
        return self.down(fused.SwiGlu.apply(gate, up) if self.gate.low else F.silu(gate) * up)


def rope_table(cfg, n):
    """cos and sin, each [n, head_dim / 2]"""
    inv = cfg.rope_base ** (-torch.arange(cfg.head_dim // 2, dtype=torch.float64) * 2 / cfg.head_dim)
    angle = torch.arange(n, dtype=torch.float64)[:, None] * inv[None]
    return angle.cos().float(), angle.sin().float()


def rotate(x, cos, sin):
    """x [b, t, h, hd]; neighbouring values form the pairs"""
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = cos[:, None], sin[:, None]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


class Softmax(torch.autograd.Function):
    """Softmax over the last dimension of score + mask; its own backward pass, as the stock one is slow on wide rows."""

    @staticmethod
    def forward(ctx, score, mask):
        p = (score.float() + mask).softmax(-1).to(score.dtype)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, grad):
        p, = ctx.saved_tensors
        share = grad * p
        return share - p * share.sum(-1, keepdim=True), None


class Attention(nn.Module):
    def __init__(self, cfg, gain):
        super().__init__()
        self.cfg = cfg
        self.q = Linear(cfg.n_embd, cfg.n_embd)
        self.k = Linear(cfg.n_embd, cfg.n_head_kv * cfg.head_dim)
        self.v = Linear(cfg.n_embd, cfg.n_head_kv * cfg.head_dim)
        self.output = Linear(cfg.n_embd, cfg.n_embd, gain)

    def forward(self, x, cos, sin, mask):
        b, t, _ = x.shape
        cfg, hd = self.cfg, self.cfg.head_dim
        q = rotate(self.q(x).float().view(b, t, cfg.n_head, hd), cos, sin) / math.sqrt(hd)
        k = rotate(self.k(x).float().view(b, t, cfg.n_head_kv, hd), cos, sin)
        v = self.v(x).view(b, t, cfg.n_head_kv, hd).transpose(1, 2)
        # Query heads that share a key head are laid out as more rows of the same product.
        r = cfg.n_head // cfg.n_head_kv
        q = q.view(b, t, cfg.n_head_kv, r, hd).permute(0, 2, 3, 1, 4).reshape(b, cfg.n_head_kv, r * t, hd)
        k = k.permute(0, 2, 3, 1)
        if self.q.low:
            q, k = q.bfloat16(), k.bfloat16()
        p = Softmax.apply((q @ k).view(b, cfg.n_head_kv, r, t, t), mask)
        y = p.view(b, cfg.n_head_kv, r * t, t) @ v
        y = y.view(b, cfg.n_head_kv, r, t, hd).permute(0, 3, 1, 2, 4).reshape(b, t, -1)
        return self.output(y)


def scan(x, dt, a, B, C):
    """S_t = exp(dt_t a) S_{t-1} + dt_t x_t B_t^T; y_t = S_t C_t, from the zero state.

    x [b, t, h, p], dt [b, t, h], a [h] (negative), B and C [b, t, s]; returns y [b, t, h, p].
    """
    b, t, h, p = x.shape
    s, q = B.shape[-1], CHUNK
    c = t // q
    x = x.view(b, c, q, h, p).transpose(2, 3)                                   # [b c h q p]
    B, C = B.view(b, c, q, s), C.view(b, c, q, s)
    dt = dt.view(b, c, q, h).transpose(2, 3)                                    # [b c h q]
    total = (dt * a[:, None]).cumsum(-1)                                        # log decay since the chunk's start
    # Inside a chunk: token i reads token j <= i with weight exp(total_i - total_j) dt_j (C_i . B_j).
    later = torch.ones(q, q, dtype=torch.bool).triu(1)
    decay = (total[..., :, None] - total[..., None, :]).masked_fill(later, -math.inf).exp()
    weight = decay * (C @ B.transpose(-1, -2)).unsqueeze(2) * dt[..., None, :]
    y = weight @ x
    if c == 1:
        return y.transpose(2, 3).reshape(b, t, h, p)
    # What a chunk leaves behind, then the state that each chunk starts from.
    keep = (total[..., -1:] - total).exp() * dt                                 # [b c h q]
    left = (x * keep[..., None]).transpose(-1, -2) @ B.unsqueeze(2)            # [b c h p s]
    chunk_decay = total[..., -1].exp()[..., None, None]
    state, states = torch.zeros_like(left[:, 0]), []
    for i in range(c):
        states.append(state)
        state = state * chunk_decay[:, i] + left[:, i]
    start = torch.stack(states, 1)
    y = y + (C.unsqueeze(2) @ start.transpose(-1, -2)) * total.exp()[..., None]
    return y.transpose(2, 3).reshape(b, t, h, p)


class Mamba2(nn.Module):
    def __init__(self, cfg, gain):
        super().__init__()
        self.cfg = cfg
        channels, h = cfg.d_conv_channels, cfg.n_ssm_head
        self.ssm_in = Linear(cfg.n_embd, cfg.d_inner + channels + h)
        self.conv = nn.Parameter(torch.randn(channels, cfg.d_conv) * 0.3)
        self.conv_bias = nn.Parameter(torch.zeros(channels))
        dt = torch.exp(torch.linspace(math.log(0.01), math.log(0.3), h))
        self.dt_bias = nn.Parameter(dt + torch.log(-torch.expm1(-dt)))
        self.a_log = nn.Parameter(torch.linspace(0.0, math.log(8.0), h))
        self.d = nn.Parameter(torch.ones(h))
        self.norm = Norm(cfg.d_inner, cfg.eps)
        self.ssm_out = Linear(cfg.d_inner, cfg.n_embd, gain)

    def forward(self, x, cos, sin, mask):
        zxbcdt, a, d, cfg = self.ssm_in(x), -self.a_log.exp(), self.d, self.cfg
        if self.ssm_in.low:
            y = fused.Mamba.apply(zxbcdt, self.conv.t(), self.conv_bias, self.dt_bias, a, d, self.norm.weight, cfg.eps)
            return self.ssm_out(y)
        b, t, _ = x.shape
        z, xbc, dt = zxbcdt.split([cfg.d_inner, cfg.d_conv_channels, cfg.n_ssm_head], -1)
        past = F.pad(xbc, (0, 0, cfg.d_conv - 1, 0))
        mixed = self.conv_bias + sum(past[:, i:i + t] * self.conv[:, i] for i in range(cfg.d_conv))
        u, B, C = F.silu(mixed).split([cfg.d_inner, cfg.d_state, cfg.d_state], -1)
        u = u.reshape(b, t, cfg.n_ssm_head, -1)
        y = scan(u, F.softplus(dt + self.dt_bias), a, B, C) + u * d[:, None]
        return self.ssm_out(self.norm(y.reshape(b, t, -1) * F.silu(z)))


class Layer(nn.Module):
    def __init__(self, cfg, kind, gain):
        super().__init__()
        self.attn_norm = Norm(cfg.n_embd, cfg.eps)
        self.mixer = Attention(cfg, gain) if kind == "A" else Mamba2(cfg, gain)
        self.ffn_norm = Norm(cfg.n_embd, cfg.eps)
        self.ffn = FeedForward(cfg, gain)

    def forward(self, x, cos, sin, mask):
        x = x + self.mixer(self.attn_norm(x), cos, sin, mask)
        return x + self.ffn(self.ffn_norm(x))


class Network(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        gain = 1 / math.sqrt(2 * len(cfg.layers))      # keeps the residual stream at unit scale whatever the depth
        self.embd = nn.Parameter(torch.randn(cfg.n_vocab, cfg.n_embd) * 0.05)
        self.blk = nn.ModuleList([Layer(cfg, kind, gain) for kind in cfg.layers])
        self.output_norm = Norm(cfg.n_embd, cfg.eps)
        self.low = False

    def set_low(self, low):
        """Bfloat16 operands in matrix products (training) or float32 throughout (evaluation)."""
        self.low = low
        for module in self.modules():
            if isinstance(module, (Linear, Norm)):
                module.low = low

    def hidden(self, tokens):
        """tokens [b, t] -> normalised last layer [b, t, E]; t is padded to whole chunks here."""
        b, n = tokens.shape
        tokens = F.pad(tokens, (0, -n % CHUNK))
        t = tokens.shape[1]
        cos, sin = rope_table(self.cfg, t)
        mask = torch.full((t, t), -math.inf).triu(1)
        x = F.embedding(tokens, self.embd)
        for layer in self.blk:
            x = layer(x, cos, sin, mask)
        return self.output_norm(x)[:, :n]

    def logits(self, hidden):
        if self.low:
            return F.linear(hidden.bfloat16(), self.embd.bfloat16())
        return F.linear(hidden, self.embd)

    def forward(self, tokens):
        return self.logits(self.hidden(tokens))
