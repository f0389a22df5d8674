"""The model of the tutorial: eight gated blocks, and a check of the activations in their middle."""

import torch
from torch import Tensor, nn


class Block(nn.Module):
    """Norm, a gated perceptron, and the residual."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.gate, self.up = nn.Linear(dim, 2 * dim), nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        normed = self.norm(x)
        return x + self.down(nn.functional.gelu(self.gate(normed)) * self.up(normed))


class Net(nn.Module):
    """Rescales activations that grow too large, half way through."""

    def __init__(self, dim: int = 512) -> None:
        super().__init__()
        self.first = nn.Sequential(*(Block(dim) for _ in range(4)))
        self.second = nn.Sequential(*(Block(dim) for _ in range(4)))
        self.head = nn.Linear(dim, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        if x.abs().max() > 100:  # Python asks the tensor: a graph break
            x = x / x.abs().max()
        return self.head(self.second(x))


def build(batch: int = 64) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """The model and its example input, as `capture` wants them."""
    return Net().eval(), (torch.randn(batch, 512),)
