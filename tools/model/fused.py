"""fused.c as PyTorch functions. Everything here works on contiguous CPU tensors; bfloat16 in, bfloat16 out unless said otherwise."""
import ctypes
import hashlib
import pathlib
import subprocess
import tempfile

import torch

SOURCE = pathlib.Path(__file__).with_name("fused.c")


def build():
    """Compiles fused.c for this machine once; the library's name holds the source's hash."""
    name = "oxbow-fused-" + hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12] + ".so"
    path = pathlib.Path(tempfile.gettempdir()) / name
    if not path.exists():
        made = path.with_suffix(".new")
        subprocess.run(["cc", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", str(SOURCE), "-o", str(made), "-lm"], check=True)
        made.replace(path)
    return ctypes.CDLL(str(path))


LIBRARY = build()
LIBRARY.entropy.restype = ctypes.c_float


def call(name, *args):
    """Tensors go as pointers, ints as long, floats as float."""
    kinds = {int: ctypes.c_long, float: ctypes.c_float}
    return getattr(LIBRARY, name)(*(ctypes.c_void_p(a.data_ptr()) if torch.is_tensor(a) else kinds[type(a)](a) for a in args))


def half_like(x):
    return torch.empty(x.shape, dtype=torch.bfloat16)


class Norm(torch.autograd.Function):
    """RMS norm of float32 rows."""

    @staticmethod
    def forward(ctx, x, w, eps):
        x, n = x.contiguous(), x.shape[-1]
        y, inverse = half_like(x), torch.empty(x.numel() // n)
        call("norm_forward", x, w, y, inverse, x.numel() // n, n, eps)
        ctx.save_for_backward(x, w, inverse)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w, inverse = ctx.saved_tensors
        dx, dw = torch.empty_like(x), torch.zeros_like(w)
        call("norm_backward", dy.contiguous(), x, w, inverse, dx, dw, inverse.numel(), x.shape[-1])
        return dx, dw, None


class SwiGlu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        out = half_like(gate)
        call("swiglu_forward", gate, up, out, gate.numel())
        ctx.save_for_backward(gate, up)
        return out

    @staticmethod
    def backward(ctx, dout):
        gate, up = ctx.saved_tensors
        dgate, dup = half_like(gate), half_like(up)
        call("swiglu_backward", dout.contiguous(), gate, up, dgate, dup, gate.numel())
        return dgate, dup


HEAD, STATE, KEPT_EVERY = 64, 32, 32        # sizes that fused.c is compiled for


class Mamba(torch.autograd.Function):
    """All of a Mamba-2 block between its two matrices: convolution, recurrence, gate, norm.

    zxbcdt [b, t, 2 n + 2 STATE + heads] holds z, x, B, C, dt of each token; conv [taps, channels]; a, d, dt_bias [heads]; w [n].
    """

    @staticmethod
    def forward(ctx, zxbcdt, conv, conv_bias, dt_bias, a, d, w, eps):
        b, t, width = zxbcdt.shape
        n, heads, channels = len(w), len(a), len(conv_bias)
        zxbcdt, conv = zxbcdt.contiguous(), conv.contiguous()
        z, xbc, raw = zxbcdt.split([n, channels, heads], -1)
        mixed = torch.empty(b, t, channels, dtype=torch.bfloat16)
        y, out = torch.empty(b, t, n, dtype=torch.bfloat16), torch.empty(b, t, n, dtype=torch.bfloat16)
        kept = torch.empty(b, heads, -(-t // KEPT_EVERY), STATE, HEAD)
        inverse = torch.empty(b * t)
        call("conv_forward", xbc, width, conv, conv_bias, mixed, b, t, channels)
        call("scan_forward", mixed, raw, width, dt_bias, a, d, y, kept, b, t, heads)
        call("gate_forward", y, z, width, w, out, inverse, b * t, n, eps)
        ctx.save_for_backward(zxbcdt, conv, conv_bias, dt_bias, a, d, w, mixed, y, kept, inverse)
        return out

    @staticmethod
    def backward(ctx, dout):
        zxbcdt, conv, conv_bias, dt_bias, a, d, w, mixed, y, kept, inverse = ctx.saved_tensors
        b, t, width = zxbcdt.shape
        n, heads, channels = len(w), len(a), len(conv_bias)
        back = torch.empty_like(zxbcdt)
        z, xbc, raw = zxbcdt.split([n, channels, heads], -1)
        dz, dxbc, draw = back.split([n, channels, heads], -1)
        dy, dmixed = half_like(y), half_like(mixed)
        grads = [torch.zeros_like(v) for v in (conv, conv_bias, dt_bias, a, d, w)]
        dconv, dconv_bias, ddt_bias, da, dd, dw = grads
        scratch = torch.empty((KEPT_EVERY + 1) * STATE * HEAD + 2 * STATE * t)
        call("gate_backward", dout.contiguous(), y, z, width, w, inverse, dy, dz, dw, b * t, n)
        call("scan_backward", dy, mixed, raw, width, dt_bias, a, d, kept, dmixed, draw, ddt_bias, da, dd, scratch, b, t, heads)
        call("conv_backward", dmixed, xbc, width, conv, conv_bias, dxbc, dconv, dconv_bias, b, t, channels)
        return back, *grads, None


class Entropy(torch.autograd.Function):
    """Weighted sum of the cross entropies of bfloat16 logits [rows, n], which are overwritten; weight [rows] float32."""

    @staticmethod
    def forward(ctx, logits, target, weight):
        total = call("entropy", logits, target, weight, *logits.shape)
        ctx.save_for_backward(logits)
        return torch.tensor(total)

    @staticmethod
    def backward(ctx, grad):
        return ctx.saved_tensors[0] * grad.bfloat16(), None, None
