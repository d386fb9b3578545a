"""The stored goldens are what the float64 forward pass computes from the stored models."""
import contextlib
import io
import json
import os
import sys
import unittest

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "reference"))
import make_goldens  # noqa: E402
from forward import forward  # noqa: E402


class Goldens(unittest.TestCase):
    def test_the_forward_pass_gives_the_stored_logits(self):
        for name in make_goldens.MODELS:
            prefix = os.path.join(make_goldens.GOLDEN, name)
            with open(prefix + ".json") as f:
                tokens = np.array(json.load(f)["tokens"])
            stored = np.load(prefix + ".npy")
            self.assertLess(np.abs(forward(prefix + ".gguf", tokens) - stored).max(), 1e-5, name)

    def test_a_prefix_has_the_same_logits_as_the_whole(self):
        prefix = os.path.join(make_goldens.GOLDEN, "granitehybrid-dense")
        with open(prefix + ".json") as f:
            tokens = np.array(json.load(f)["tokens"])
        self.assertLess(np.abs(forward(prefix + ".gguf", tokens[:17]) - np.load(prefix + ".npy")[:17]).max(), 1e-5)

    def test_the_generator_writes_the_stored_models(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = make_goldens.check()
        self.assertEqual(status, 0, said.getvalue())

    def test_every_file_beside_the_goldens_belongs_to_one(self):
        known = {name + end for name in make_goldens.MODELS for end in (".gguf", ".json", ".npy")} | {"README.md"}
        self.assertEqual(set(os.listdir(make_goldens.GOLDEN)) - known, set())


if __name__ == "__main__":
    unittest.main()
