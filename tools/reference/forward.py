#!/usr/bin/python3
"""Independent float64 forward pass: slow, exact, every family. What Oxbow's logits are measured against.

    forward.py MODEL.gguf        compares with the logits beside it (MODEL.json with MODEL.npy, or with MODEL.npz)
    forward.py MODEL.gguf 1,2,3  prints the largest logits after these token ids
"""
import json
import os
import sys

import numpy as np

from blocks import layernorm, rms
from gguf_file import read_gguf
from layers import LAYERS


class Model:
    """A file's settings and weights, and the names that the layers use for them."""

    def __init__(self, path):
        self.kv, self.W = read_gguf(path)
        self.arch = self.kv["general.architecture"]
        if self.arch not in LAYERS:
            raise ValueError("%s: no forward pass for %s (known: %s)" % (path, self.arch, ", ".join(LAYERS)))
        self.L, self.n = self.K("block_count"), self.K("embedding_length")
        self.eps = self.K("attention.layer_norm_rms_epsilon")
        self.nkv, self.nhd = self.per_layer("attention.head_count_kv"), self.per_layer("attention.head_count")
        self.di, self.s = self.K("ssm.inner_size"), self.K("ssm.state_size")
        self.nh, self.g = self.K("ssm.time_step_rank"), self.K("ssm.group_count")
        self.first_values = None  # RWKV-7: the values of its first layer

    def K(self, key, default=None):
        return self.kv.get(self.arch + "." + key, default)

    def scale(self, key, neutral=1.0):
        """A multiplier; 0 and absent both mean neutral."""
        return self.K(key) or neutral

    def per_layer(self, key):
        value = self.K(key)
        return value if isinstance(value, list) else [value] * self.L

    def w(self, i, name):
        """Tensor `name` of layer i, or None."""
        return self.W.get("blk.%d.%s" % (i, name))

    def lin(self, i, name, x):
        return x @ self.w(i, name + ".weight").T

    def norm(self, i, name, x, suffix=".weight"):
        return rms(x, self.w(i, name + suffix), self.eps)

    def embed(self, tokens):
        x = self.W["token_embd.weight"][tokens] * self.scale("embedding_scale")
        if self.arch == "gemma3":
            x = x * np.sqrt(self.n)
        if self.arch == "rwkv7":
            x = layernorm(x, self.W["token_embd_norm.weight"], self.W["token_embd_norm.bias"],
                          self.K("attention.layer_norm_epsilon"))
        return x

    def head(self, x):
        if self.arch == "rwkv7":
            x = layernorm(x, self.W["output_norm.weight"], self.W["output_norm.bias"],
                          self.K("attention.layer_norm_epsilon"))
        else:
            x = rms(x, self.W["token_embd_norm.weight" if self.arch.startswith("lfm2") else "output_norm.weight"], self.eps)
        return x @ self.W.get("output.weight", self.W["token_embd.weight"]).T / self.scale("logit_scale")


def forward(path, tokens):
    """Logits [tokens, vocabulary] of every position, float64, from an empty state."""
    m = Model(path)
    x = m.embed(tokens)
    for i in range(m.L):
        x = LAYERS[m.arch](m, i, x)
    return m.head(x)


def expected_logits(prefix):
    """The float32 logits stored beside a model; for quantised ones the exact rows where both kinds are stored."""
    if os.path.exists(prefix + ".npy"):
        return np.load(prefix + ".npy")
    arrays = np.load(prefix + ".npz")
    return arrays["logits_exact" if "logits_exact" in arrays else "logits"]


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    model = sys.argv[1]
    if len(sys.argv) == 3:
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
