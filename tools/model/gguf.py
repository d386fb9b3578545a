"""Writes and reads GGUF version 3 files, as far as this model needs: F32 and Q8_0 tensors, scalar and list values."""
import struct

import numpy as np

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", U32: "I", I32: "i", F32: "f", BOOL: "?", 10: "Q", 11: "q", 12: "d"}
ALIGN = 32
TENSOR_F32, TENSOR_Q8_0 = 0, 8
BLOCK = 32          # values of a Q8_0 block: one float16 scale and 32 signed bytes


def quantise(values):
    """float32 [..., n * 32] -> bytes of Q8_0 blocks."""
    blocks = values.reshape(-1, BLOCK)
    scale = np.abs(blocks).max(1, keepdims=True) / 127
    inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
    whole = np.rint(blocks * inverse).astype(np.int8)
    return np.concatenate([scale.astype("<f2").view(np.uint8), whole.view(np.uint8)], 1).tobytes()


def text(value):
    data = value.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def packed(kind, value):
    return text(value) if kind == STRING else struct.pack("<" + FORMATS[kind], value)


def write(path, pairs, tensors):
    """pairs: [(key, type, value)], a list value makes an array; tensors: [(name, float32 array, tensor type)], rows last."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs))
    for key, kind, value in pairs:
        if isinstance(value, list):
            body = struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(packed(kind, v) for v in value)
        else:
            body = struct.pack("<I", kind) + packed(kind, value)
        head += text(key) + body
    data = b""
    for name, array, kind in tensors:
        shape = array.shape[::-1]           # the file names the fastest dimension first
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        array = np.ascontiguousarray(array, np.float32)
        data += quantise(array) if kind == TENSOR_Q8_0 else array.astype("<f4").tobytes()
        data += b"\0" * (-len(data) % ALIGN)
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % ALIGN) + data)


def read(path):
    """({key: value}, {name: float32 array})"""
    with open(path, "rb") as f:
        data = f.read()
    at = 4

    def take(layout):
        nonlocal at
        values = struct.unpack_from("<" + layout, data, at)
        at += struct.calcsize("<" + layout)
        return values[0] if len(values) == 1 else values

    def string():
        nonlocal at
        size = take("Q")
        at += size
        return data[at - size:at].decode("utf-8")

    def value(kind):
        if kind == STRING:
            return string()
        if kind == ARRAY:
            inner, n = take("IQ")
            return [value(inner) for _ in range(n)]
        return take(FORMATS[kind])

    version, n_tensors, n_pairs = take("IQQ")
    if data[:4] != b"GGUF" or version != 3:
        raise ValueError(f"{path}: expected a GGUF file of version 3")
    pairs = {}
    for _ in range(n_pairs):
        key = string()
        pairs[key] = value(take("I"))
    infos = []
    for _ in range(n_tensors):
        name, n_dims = string(), take("I")
        shape = [take("Q") for _ in range(n_dims)]
        infos.append((name, shape[::-1], *take("IQ")))
    start = at + -at % ALIGN
    tensors = {}
    for name, shape, kind, offset in infos:
        n = int(np.prod(shape))
        if kind == TENSOR_F32:
            array = np.frombuffer(data, "<f4", n, start + offset)
        elif kind == TENSOR_Q8_0:
            raw = np.frombuffer(data, np.uint8, n // BLOCK * 34, start + offset).reshape(-1, 34)
            array = raw[:, :2].copy().view("<f2").astype(np.float32) * raw[:, 2:].copy().view(np.int8)
        else:
            raise ValueError(f"{path}: tensor {name} has type {kind}, expected F32 (0) or Q8_0 (8)")
        tensors[name] = array.reshape(shape).astype(np.float32)
    return pairs, tensors
