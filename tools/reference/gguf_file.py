"""The GGUF container (version 3), as the published format description has it: a writer and a reader.

Shapes are in GGUF order ("ne", fastest dimension first): a matrix that maps n_in to n_out is [n_in, n_out] and its row r
(n_in contiguous values) makes output r. Arrays come back in numpy order, so the same matrix is array[out, in].
"""
import struct

import numpy as np

from dequantise import BLOCKS, TYPES, dequantise

U8, I8, U16, I16, U32, I32, F32, BOOL, STR, ARR, U64, I64, F64 = range(13)
ALIGN = 32

# general.file_type values
FTYPE = {"F32": 0, "F16": 1, "Q4_0": 2, "Q8_0": 7, "Q4_K_M": 15, "Q6_K": 18, "BF16": 32}


def _s(x):
    b = x.encode("utf-8")
    return struct.pack("<Q", len(b)) + b


_FMT = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f",
        BOOL: "?", U64: "Q", I64: "q", F64: "d"}


class Writer:
    def __init__(self):
        self.kv = []       # (key, bytes)
        self.keys = {}     # key -> python value, for the manifest
        self.tensors = []  # (name, ne, type name, data source)

    def add(self, key, typ, val):
        assert key not in self.keys, key
        self.keys[key] = val
        if typ == STR:
            body = _s(val)
        else:
            body = struct.pack("<" + _FMT[typ], val)
        self.kv.append((key, struct.pack("<I", typ) + body))

    def arr(self, key, typ, vals):
        assert key not in self.keys, key
        self.keys[key] = vals
        head = struct.pack("<IIQ", ARR, typ, len(vals))
        if typ == STR:
            body = b"".join(_s(v) for v in vals)
        elif typ == BOOL:
            body = bytes(1 if v else 0 for v in vals)
        else:
            body = struct.pack("<%d%s" % (len(vals), _FMT[typ]), *vals)
        self.kv.append((key, head + body))

    def tensor(self, name, ne, typ, src):
        self.tensors.append((name, tuple(int(x) for x in ne), typ, src))

    @staticmethod
    def nbytes(ne, typ):
        _, blk, by = TYPES[typ]
        n = int(np.prod(ne, dtype=np.int64))
        assert ne[0] % blk == 0, (ne, typ)
        return n // blk * by

    def write(self, path):
        infos, off = [], 0
        for name, ne, typ, _ in self.tensors:
            infos.append(_s(name) + struct.pack("<I", len(ne)) +
                         struct.pack("<%dQ" % len(ne), *ne) +
                         struct.pack("<IQ", TYPES[typ][0], off))
            off += -(-self.nbytes(ne, typ) // ALIGN) * ALIGN
        with open(path, "wb") as f:
            f.write(b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.kv)))
            for key, body in self.kv:
                f.write(_s(key) + body)
            for i in infos:
                f.write(i)
            f.write(b"\0" * (-f.tell() % ALIGN))
            base, off = f.tell(), 0
            for name, ne, typ, src in self.tensors:
                assert f.tell() == base + off, name
                n = 0
                for chunk in src(name, ne, typ):
                    f.write(chunk)
                    n += len(chunk)
                assert n == self.nbytes(ne, typ), (name, n, self.nbytes(ne, typ))
                f.write(b"\0" * (-n % ALIGN))
                off += -(-n // ALIGN) * ALIGN
            return f.tell()


class _Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def numbers(self, fmt):
        v = struct.unpack_from("<" + fmt, self.data, self.at)
        self.at += struct.calcsize("<" + fmt)
        return v[0] if len(v) == 1 else v

    def string(self):
        n = self.numbers("Q")
        s = self.data[self.at:self.at + n].decode("utf-8", "replace")
        self.at += n
        return s

    def value(self, typ):
        if typ == STR:
            return self.string()
        if typ == ARR:
            element, n = self.numbers("IQ")
            return [self.value(element) for _ in range(n)]
        return self.numbers(_FMT[typ])


def read_gguf(path, tensors=True):
    """(keys, tensors as float64 arrays in numpy order); with tensors=False the second is empty."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:4] != b"GGUF":
        raise ValueError("%s is not a GGUF file" % path)
    c = _Cursor(data)
    c.at = 4
    version, n_tensors, n_keys = c.numbers("IQQ")
    if version != 3:
        raise ValueError("%s: GGUF version %d, expected 3" % (path, version))
    keys = {}
    for _ in range(n_keys):
        name = c.string()
        keys[name] = c.value(c.numbers("I"))
    if not tensors:
        return keys, {}
    infos = []
    for _ in range(n_tensors):
        name = c.string()
        ne = [c.numbers("Q") for _ in range(c.numbers("I"))]
        infos.append((name, ne, *c.numbers("IQ")))
    alignment = keys.get("general.alignment", ALIGN)
    base = -(-c.at // alignment) * alignment
    weights = {}
    for name, ne, typ, offset in infos:
        block, size = BLOCKS[typ]
        raw = np.frombuffer(data, np.uint8, int(np.prod(ne)) // block * size, base + offset)
        weights[name] = dequantise(typ, raw).reshape(ne[::-1])
    return keys, weights
