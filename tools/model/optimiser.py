"""Muon for matrices (momentum whose update is made orthogonal by a Newton-Schulz iteration), Adam for all else."""
import torch

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)      # the published quintic: quick, ends near orthogonal


def orthogonal(g, steps=5):
    """For each matrix of g [n, rows, columns] the nearest one with singular values near 1."""
    a, b, c = NEWTON_SCHULZ
    x = g.bfloat16()
    wide = x.shape[1] <= x.shape[2]
    x = x if wide else x.transpose(1, 2)
    x = x / (x.float().norm(dim=(1, 2), keepdim=True).bfloat16() + 1e-7)
    for _ in range(steps):
        s = x @ x.transpose(1, 2)
        x = a * x + (b * s + c * s @ s) @ x
    return (x if wide else x.transpose(1, 2)).float()


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.95, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            same = {}       # matrices of one shape are worked on together
            for p in group["params"]:
                same.setdefault(p.shape, []).append(p)
            for shape, params in same.items():
                self._update(group, params, max(1.0, shape[0] / shape[1]) ** 0.5)

    def _update(self, group, params, scale):
        look_ahead = []
        for p in params:
            state = self.state[p]
            if not state:
                state["momentum"] = torch.zeros_like(p)
            mean = state["momentum"].lerp_(p.grad, 1 - group["momentum"])
            look_ahead.append(p.grad.lerp(mean, group["momentum"]))
        for p, update in zip(params, orthogonal(torch.stack(look_ahead))):
            p.mul_(1 - group["lr"] * group["weight_decay"])
            p.add_(update, alpha=-group["lr"] * scale)


def make(network, lr_matrix, lr_other):
    """[Muon, Adam] over all parameters; the embedding counts as "other"."""
    matrices = [p for name, p in network.named_parameters() if p.ndim == 2 and name != "embd" and not name.endswith("conv")]
    known = {id(p) for p in matrices}
    other = [p for p in network.parameters() if id(p) not in known]
    return [Muon(matrices, lr_matrix, weight_decay=0.01), torch.optim.AdamW(other, lr_other, betas=(0.9, 0.95), weight_decay=0.0)]
