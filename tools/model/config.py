"""Sizes of the bundled model: one place for training, export and evaluation."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    n_vocab: int = 4096
    n_embd: int = 192
    # One letter per layer: M = Mamba-2, A = attention. Attention stands early so that looking things up is learnt early.
    layers: str = "MAMMAMMA"
    n_ff: int = 256
    n_head: int = 6
    n_head_kv: int = 3
    rope_base: float = 10000.0
    d_state: int = 32
    n_ssm_head: int = 6
    d_conv: int = 4
    eps: float = 1e-5
    context: int = 2048

    @property
    def d_inner(self):
        """The file format ties the width of the recurrence to the width of the model."""
        return 2 * self.n_embd

    @property
    def head_dim(self):
        return self.n_embd // self.n_head

    @property
    def d_conv_channels(self):
        return self.d_inner + 2 * self.d_state
