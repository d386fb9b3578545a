"""Tensor types of GGUF files and their exact values in float64."""
import numpy as np

# name -> (type id, elements per block, bytes per block)
TYPES = {
    "F32": (0, 1, 4), "F16": (1, 1, 2), "BF16": (30, 1, 2),
    "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22),
    "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34),
    "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144),
    "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210),
}

# type id -> (elements per block, bytes per block)
BLOCKS = {number: (elements, size) for number, elements, size in TYPES.values()}


def dequantise(t, raw):
    """Bytes (uint8) of a tensor of type t -> its values, float64."""
    if t == 0:
        return raw.view("<f4").astype(np.float64)
    if t == 1:
        return raw.view("<f2").astype(np.float64)
    if t == 30:
        return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    b = raw.reshape(-1, BLOCKS[t][1])
    h = lambda c: np.ascontiguousarray(b[:, c:c + 2]).view("<f2").astype(np.float64)  # [n,1]
    nib = lambda q: np.concatenate([q & 15, q >> 4], 1).astype(np.int32)
    if t == 8:
        return (h(0) * b[:, 2:].view(np.int8)).reshape(-1)
    if t == 2:
        return (h(0) * (nib(b[:, 2:]) - 8)).reshape(-1)
    if t == 3:
        return (h(0) * nib(b[:, 4:]) + h(2)).reshape(-1)
    if t in (6, 7):
        o = 2 if t == 6 else 4
        bits = np.unpackbits(b[:, o:o + 4], axis=1, bitorder="little").astype(np.int32)
        q = nib(b[:, o + 4:]) | (bits << 4)
        return (h(0) * (q - 16) if t == 6 else h(0) * q + h(2)).reshape(-1)
    n = b.shape[0]
    if t in (12, 13):                                   # Q4_K, Q5_K
        s = b[:, 4:16].astype(np.int32)
        sc = np.concatenate([s[:, 0:4] & 63, (s[:, 8:12] & 15) | ((s[:, 0:4] >> 6) << 4)], 1)
        mn = np.concatenate([s[:, 4:8] & 63, (s[:, 8:12] >> 4) | ((s[:, 4:8] >> 6) << 4)], 1)
        qs = b[:, -128:].reshape(n, 4, 32)
        q = np.stack([qs & 15, qs >> 4], 2).reshape(n, 8, 32).astype(np.int32)
        if t == 13:
            qh = b[:, 16:48].astype(np.int32)
            q |= np.stack([(qh >> j) & 1 for j in range(8)], 1) << 4
        return (h(0)[:, :, None] * sc[:, :, None] * q - h(2)[:, :, None] * mn[:, :, None]).reshape(-1)
    if t == 14:                                         # Q6_K
        ql = b[:, 0:128].reshape(n, 2, 2, 32).astype(np.int32)
        qh = b[:, 128:192].reshape(n, 2, 32).astype(np.int32)
        sc = b[:, 192:208].view(np.int8).reshape(n, 2, 8).astype(np.int32)
        q = np.stack([(ql[:, :, 0] & 15) | ((qh & 3) << 4), (ql[:, :, 1] & 15) | (((qh >> 2) & 3) << 4),
                      (ql[:, :, 0] >> 4) | (((qh >> 4) & 3) << 4), (ql[:, :, 1] >> 4) | ((qh >> 6) << 4)], 2) - 32
        return (h(208)[:, :, None] * np.repeat(sc.reshape(n, 16), 16, 1).reshape(n, 8, 32)
                * q.reshape(n, 8, 32)).reshape(-1)
    if t == 10:                                         # Q2_K
        s = b[:, 0:16].astype(np.int32)
        qs = b[:, 16:80].reshape(n, 2, 1, 32).astype(np.int32)
        q = (qs >> (2 * np.arange(4)).reshape(1, 1, 4, 1)) & 3      # [n, half, shift, 32]
        q = q.reshape(n, 16, 16)
        return (h(80)[:, :, None] * (s & 15)[:, :, None] * q - h(82)[:, :, None] * (s >> 4)[:, :, None]).reshape(-1)
    if t == 11:                                         # Q3_K
        hm = b[:, 0:32].astype(np.int32)
        qs = b[:, 32:96].reshape(n, 2, 1, 32).astype(np.int32)
        q = (qs >> (2 * np.arange(4)).reshape(1, 1, 4, 1)) & 3
        hb = (hm[:, None, :] >> np.arange(8).reshape(1, 8, 1)) & 1
        q = q.reshape(n, 8, 32) - 4 * (1 - hb)
        a = b[:, 96:108].astype(np.int32)
        lo = np.concatenate([a[:, 0:4] & 15, a[:, 4:8] & 15, a[:, 0:4] >> 4, a[:, 4:8] >> 4], 1)
        hi = np.concatenate([(a[:, 8:12] >> k) & 3 for k in (0, 2, 4, 6)], 1)
        sc = (lo | (hi << 4)) - 32
        return (h(108)[:, :, None] * sc[:, :, None] * q.reshape(n, 16, 16)).reshape(-1)
    raise ValueError(t)
