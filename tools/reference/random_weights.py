"""Seeded random weights: the same bytes for the same tensor name, on every machine."""
import zlib

import numpy as np

from dequantise import TYPES

SEED = 20260930


def rng_for(name):
    return np.random.Generator(np.random.PCG64(
        np.random.SeedSequence([SEED, zlib.crc32(name.encode())])))


def _pack_k_scales(s, m):
    """8 six-bit scales and 8 six-bit mins -> 12 bytes (Q4_K / Q5_K layout)."""
    s = s.astype(np.uint8)
    m = m.astype(np.uint8)
    out = np.empty((s.shape[0], 12), np.uint8)
    out[:, 0:4] = (s[:, :4] & 63) | ((s[:, 4:] >> 4) << 6)
    out[:, 4:8] = (m[:, :4] & 63) | ((m[:, 4:] >> 4) << 6)
    out[:, 8:12] = (s[:, 4:] & 15) | ((m[:, 4:] & 15) << 4)
    return out


def _f16(x):
    return x.astype(np.float16).view(np.uint8).reshape(-1, 2)


def random_blocks(rng, typ, n, std):
    """n random but valid blocks of a quantised type whose values have about the
    given standard deviation and about zero mean."""
    jit = rng.uniform(0.7, 1.3, n).astype(np.float32)
    byt = lambda k: rng.integers(0, 256, (n, k), dtype=np.uint8)
    if typ == "Q8_0":
        q = rng.integers(-127, 128, (n, 32), dtype=np.int8).view(np.uint8)
        return np.concatenate([_f16(jit * std / 73.3), q], 1)
    if typ == "Q4_0":      # d * (q - 8)
        return np.concatenate([_f16(jit * std / 4.64), byt(16)], 1)
    if typ == "Q4_1":      # d * q + m
        d = jit * std / 4.61
        return np.concatenate([_f16(d), _f16(-7.5 * d), byt(16)], 1)
    if typ == "Q5_0":      # d * (q - 16)
        return np.concatenate([_f16(jit * std / 9.25), byt(4), byt(16)], 1)
    if typ == "Q5_1":
        d = jit * std / 9.23
        return np.concatenate([_f16(d), _f16(-15.5 * d), byt(4), byt(16)], 1)
    if typ in ("Q4_K", "Q5_K"):
        s = rng.integers(16, 64, (n, 8))
        m = np.clip(s + rng.integers(-3, 4, (n, 8)), 0, 63)
        mid, qstd = (7.5, 4.61) if typ == "Q4_K" else (15.5, 9.23)
        d = jit * std / (41.9 * qstd)
        head = [_f16(d), _f16(d * mid), _pack_k_scales(s, m)]
        if typ == "Q4_K":
            return np.concatenate(head + [byt(128)], 1)
        return np.concatenate(head + [byt(32), byt(128)], 1)
    if typ == "Q6_K":
        sc = rng.integers(32, 128, (n, 16)) * rng.choice([-1, 1], (n, 16))
        return np.concatenate([byt(128), byt(64), sc.astype(np.int8).view(np.uint8),
                               _f16(jit * std / (84.4 * 18.47))], 1)
    if typ == "Q2_K":      # 16 groups: d*sc*q - dmin*m, sc and m 4 bit, q 2 bit
        s = rng.integers(4, 16, (n, 16))
        m = np.clip(s + rng.integers(-1, 2, (n, 16)), 0, 15)
        d = jit * std / (10.3 * 1.118)
        return np.concatenate([(s | (m << 4)).astype(np.uint8), byt(64), _f16(d), _f16(d * 1.5)], 1)
    if typ == "Q3_K":      # hmask 32, qs 64, scales 12 (6 bit, biased by 32), d
        return np.concatenate([byt(32), byt(64), byt(12), _f16(jit * std / (18.5 * 2.29))], 1)
    raise ValueError(typ)


CHUNK = 1 << 22  # elements per generated chunk


class Normal:
    def __init__(self, std, mean=0.0):
        self.std, self.mean = std, mean

    def __call__(self, name, ne, typ):
        rng = rng_for(name)
        n = int(np.prod(ne, dtype=np.int64))
        blk = TYPES[typ][1]
        step = CHUNK - CHUNK % blk
        for i in range(0, n, step):
            k = min(step, n - i)
            if typ in ("F32", "F16", "BF16"):
                x = (rng.standard_normal(k, dtype=np.float32) * np.float32(self.std)
                     + np.float32(self.mean))
                yield to_bytes(x, typ)
            else:
                assert self.mean == 0.0
                yield random_blocks(rng, typ, k // blk, self.std).tobytes()


class Fn:
    """Small tensor made by a function of (rng, ne) that returns an array in
    numpy (row-major, slowest first) order."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, name, ne, typ):
        x = np.asarray(self.fn(rng_for(name), ne), np.float32)
        assert x.size == int(np.prod(ne)), (name, x.shape, ne)
        yield to_bytes(x.reshape(-1), typ)


def to_bytes(x, typ):
    if typ == "F32":
        return x.astype("<f4").tobytes()
    if typ == "F16":
        return x.astype("<f2").tobytes()
    if typ == "BF16":
        u = x.astype("<f4").view(np.uint32)
        return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype("<u2").tobytes()
    raise ValueError(typ)


def inv_softplus(y):
    return y + np.log(-np.expm1(-y))


def logu(rng, lo, hi, size):
    return np.exp(rng.uniform(np.log(lo), np.log(hi), size))


def norm_w(scale=1.0):
    return Normal(0.1 * scale, scale)


def dt_bias(lo=0.01, hi=0.8):
    return Fn(lambda r, ne: inv_softplus(logu(r, lo, hi, int(np.prod(ne)))))


def neg_a(lo=0.05, hi=4.0):
    """what the files store: A = -exp(A_log)"""
    return Fn(lambda r, ne: -logu(r, lo, hi, int(np.prod(ne))))


def neg_a_s4d(d_state):
    """mamba1: about -(1..d_state) along the state axis, each jittered"""
    return Fn(lambda r, ne: -(0.15 * np.arange(1, d_state + 1)[None, :] *
                              r.uniform(0.7, 1.4, (ne[1], d_state))))
