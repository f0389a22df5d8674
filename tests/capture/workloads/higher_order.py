"""Models whose steps call operators of higher order, one each."""

import torch
from torch import nn

WIDTH = 16


class Stepping(nn.Module):
    """Two layers, and something of higher order between them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.second(self.between(self.first(x)))


class Attending(Stepping):
    """flex_attention with a score_mod."""

    def between(self, x):
        from torch.nn.attention.flex_attention import flex_attention

        q = x.view(1, 1, -1, WIDTH)
        return flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s * 0.5).view_as(x)


class Branching(Stepping):
    """torch.cond on a value."""

    def between(self, x):
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


class Scanning(Stepping):
    """A running sum by scan."""

    def between(self, x):
        from torch._higher_order_ops.scan import scan

        def add(carry, row):
            total = carry + row
            return total, total.clone()

        return scan(add, torch.zeros_like(x[0]), x)[1]


class Checkpointed(Stepping):
    """Activation checkpointing without reentry."""

    def between(self, x):
        from torch.utils.checkpoint import checkpoint

        return checkpoint(torch.tanh, x, use_reentrant=False)


class Region(nn.Module):
    """What is compiled once."""

    @torch.compiler.nested_compile_region
    def forward(self, x):
        return torch.relu(x) + 1


class Nested(Stepping):
    """invoke_subgraph, by nested_compile_region."""

    def __init__(self):
        super().__init__()
        self.region = Region()

    def between(self, x):
        return self.region(x)


def _built(model):
    return model().eval(), (torch.randn(8, WIDTH),)


def flex():
    return _built(Attending)


def cond():
    return _built(Branching)


def scan():
    return _built(Scanning)


def checkpoint():
    return _built(Checkpointed)


def invoke_subgraph():
    return _built(Nested)
