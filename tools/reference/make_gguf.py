#!/usr/bin/python3
"""Writes GGUF files with seeded random weights. Needs numpy alone.

    make_gguf.py --list
    make_gguf.py FAMILY PRESET OUT.gguf [--quant F32|F16|BF16|Q8_0|Q4_K_M|MIX|...] [--seed N]
    make_gguf.py --all-tiny DIR
"""
import argparse
import sys

import numpy as np

import random_weights
from families import BUILD
from model_builder import Model
from presets import PRESETS


def make(arch, preset, path, quant="F32", parameters=None):
    """Writes one model; returns (bytes, number of parameters). `parameters` replaces the preset's."""
    m = Model(arch, preset, parameters or PRESETS[arch, preset], quant)
    BUILD[arch](m)
    size = m.finish(path)
    return size, sum(int(np.prod(ne)) for _, ne, _ in m.list)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("args", nargs="*", metavar="FAMILY PRESET OUT.gguf")
    ap.add_argument("--quant", default="F32")
    ap.add_argument("--seed", type=int, default=random_weights.SEED)
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--all-tiny", metavar="DIR")
    a = ap.parse_args()
    random_weights.SEED = a.seed
    if a.list:
        for key in PRESETS:
            print("%-16s %s" % key)
        return 0
    if a.all_tiny:
        for arch, preset in PRESETS:
            if preset.startswith("tiny"):
                path = "%s/%s-%s.gguf" % (a.all_tiny, arch, preset)
                print("%-32s %9d bytes %9d params" % (path.split("/")[-1], *make(arch, preset, path)))
        return 0
    if len(a.args) != 3:
        ap.error("expected FAMILY PRESET OUT.gguf")
    arch, preset, path = a.args
    if (arch, preset) not in PRESETS:
        ap.error("unknown preset %s %s (--list shows all)" % (arch, preset))
    print("%s: %d bytes, %d params" % (path, *make(arch, preset, path, a.quant)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
