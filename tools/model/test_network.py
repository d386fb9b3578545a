"""Checks of the pieces that a wrong result would not show at once: training path, GGUF round trip, tokenizer.

    test_network.py
"""
import os
import tempfile
import unittest

import torch
import torch.nn.functional as F

import bpe
import export
import fused
import gguf
from config import Config
from network import Network


class NetworkTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.network = Network(Config(layers="MAM"))
        with torch.no_grad():       # away from the start, where skips and norms are exactly one
            for p in self.network.parameters():
                p.add_(torch.randn_like(p) * 0.05)
        self.ids = torch.randint(0, 4096, (3, 71))

    def gradients(self, low):
        self.network.set_low(low)
        self.network.zero_grad()
        logits = self.network(self.ids[:, :-1]).flatten(0, 1)
        target = self.ids[:, 1:].flatten()
        loss = fused.Entropy.apply(logits, target, torch.full((len(target),), 1 / len(target))) if low else F.cross_entropy(logits, target)
        loss.backward()
        return float(loss), {name: p.grad.clone() for name, p in self.network.named_parameters()}

    def test_training_path_has_the_loss_and_gradients_of_the_float32_path(self):
        (loss, exact), (loss_low, low) = self.gradients(False), self.gradients(True)
        self.assertAlmostEqual(loss, loss_low, delta=0.01)
        for name, grad in exact.items():
            alike = F.cosine_similarity(grad.flatten(), low[name].flatten(), 0)
            self.assertGreater(float(alike), 0.98, name)
            self.assertAlmostEqual(float(low[name].norm() / grad.norm()), 1, delta=0.1, msg=name)

    def test_exported_file_gives_the_same_logits(self):
        cfg = Config(layers="MAM")
        tensors = [(n, a, gguf.TENSOR_F32) for n, a in export.to_tensors(self.network.state_dict(), cfg)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.gguf")
            gguf.write(path, [("general.architecture", gguf.STRING, "granitehybrid")], tensors)
            other = Network(cfg)
            other.load_state_dict(export.from_tensors(gguf.read(path)[1], cfg))
        with torch.no_grad():
            self.assertLess(float((self.network(self.ids) - other(self.ids)).abs().max()), 1e-4)

    def test_tokenizer_gives_back_any_text(self):
        tokenizer = bpe.Tokenizer(bpe.train([("the cat and the hat " * 9, 1)], 256 + len(bpe.SPECIALS) + 8))
        for text in ("the cat", "  two  spaces \n\n", "naïve café €5, 東京!", "it's 42_x"):
            self.assertEqual(tokenizer.decode(tokenizer.encode(text)), text)


if __name__ == "__main__":
    unittest.main()
