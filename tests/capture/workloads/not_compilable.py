"""Models that torch.compile cannot compile, one for each way to fail."""

import torch
from torch import nn


@torch.library.custom_op("fusionscope_tests::scale", mutates_args=())
def scale(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class CustomOperator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.scaled(x)

    def scaled(self, x):
        return scale(self.layer(x))


class DataDependent(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x - 1


def custom_operator():
    return CustomOperator(), torch.randn(4, 8)


def data_dependent():
    return DataDependent(), torch.randn(4, 8)
