"""Code that compiles itself, in the ways people do, and is captured as "eager"."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return functional.gelu(self.layer(x)) + x


def _model():
    return nn.Sequential(Block(), Block(), Block())


def blocks():
    model = _model()
    for block in model[:2]:
        block.compile()
    return model, torch.randn(4, 8)


def whole():
    return torch.compile(_model(), backend="aot_eager"), torch.randn(4, 8)


def own_step():
    model, x = _model(), torch.randn(4, 8)
    compiled = torch.compile(model, backend="aot_eager")

    def step():
        return compiled(x)

    return step


def wrapped_but_switched_off():
    return torch.compile(_model(), disable=True), torch.randn(4, 8)
