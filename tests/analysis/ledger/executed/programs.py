"""Small programs whose operators stand between probes: scalars that each multiply one value.

A probe is an input of the compiled graph, so NaN in it is NaN in everything that follows from the
one value, and in nothing else. Needs torch only.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812, everybody writes it so
from torch import Tensor

Probes = list[Tensor]
ROWS, WIDTH, WORDS = 24, 48, 32


@dataclass(frozen=True)
class Program:
    """A function of probes and inputs, and how its inputs are made.

    The function's result may be of any shape. Inputs of floats get gradients where it trains.
    """

    function: Callable[..., Tensor]
    n_probes: int
    inputs: Callable[[], tuple[Tensor, ...]]
    is_training: bool = True


def _floats(*shapes: tuple[int, ...]) -> Callable[[], tuple[Tensor, ...]]:
    return lambda: tuple(torch.randn(shape) for shape in shapes)


def linear_gelu(p: Probes, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A product, and a pointwise operator behind it."""
    hidden = F.linear(x * p[0], weight, bias)
    return F.gelu(hidden * p[1]) * p[2]


def layer_norm(p: Probes, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A reduction whose result the same rows need; its gradient reduces both ways."""
    return F.layer_norm(x * p[0], (WIDTH,), weight, bias) * p[1]


def attention(p: Probes, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """A softmax between two batched products."""
    scores = (query * p[0]) @ key.transpose(-1, -2)
    weights = torch.softmax(scores * p[1], -1)
    return ((weights * p[2]) @ value) * p[3]


def embedding(p: Probes, words: Tensor, table: Tensor, weight: Tensor) -> Tensor:
    """Rows of a table: its gradient is added up by atomics."""
    rows = F.embedding(words, table)
    return F.linear(rows * p[0], weight).tanh() * p[1]


def cross_entropy(p: Probes, x: Tensor, weight: Tensor, labels: Tensor) -> Tensor:
    """A loss that Inductor takes to pieces: log_softmax and a gather."""
    logits = F.linear(x * p[0], weight)
    return F.cross_entropy(logits * p[1], labels) * p[2]


def batch_norm(p: Probes, x: Tensor, mean: Tensor, var: Tensor, weight: Tensor) -> Tensor:
    """Statistics of the batch, written into the running ones, and a relu."""
    normed = F.batch_norm(x * p[0], mean.detach(), var.detach().abs(), weight, None, True)
    return torch.relu(normed * p[1]) * p[2]


def dropout(p: Probes, x: Tensor, weight: Tensor) -> Tensor:
    """A random mask that the backward needs too."""
    dropped = F.dropout(x * p[0], 0.3)
    return F.linear(dropped * p[1], weight) * p[2]


def residual(p: Probes, x: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Branches that are added to what they began with."""
    x = x + F.silu(F.linear(x * p[0], first) * p[1])
    return (x + F.silu(F.linear(x * p[2], second) * p[3])) * p[4]


def index_put(p: Probes, x: Tensor, rows: Tensor, values: Tensor) -> Tensor:
    """Values added at indices, some of them several times."""
    summed = torch.index_put(x * p[0], (rows,), values * p[1], accumulate=True)
    return torch.sigmoid(summed * p[2])


def sum_of_rows(p: Probes, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A reduction over the outermost dimension, and the one that a bias's gradient is."""
    hidden = F.linear(x * p[0], weight, bias)
    return torch.relu(hidden * p[1]).sum(dim=0) * p[2]


def cat_split(p: Probes, x: Tensor, y: Tensor) -> Tensor:
    """Halves that are written into one buffer, and read apart again."""
    joined = torch.cat([torch.sin(x * p[0]), torch.cos(y * p[1])], dim=1)
    left, right = (joined * p[2]).split(WIDTH, dim=1)
    return (left * p[3]).exp() + right * p[4]


def _layer(x: Tensor, scale: Tensor, weight: Tensor, before: Tensor, behind: Tensor) -> Tensor:
    normed = F.layer_norm(x * before, (WIDTH,), scale)
    return x + F.gelu(F.linear(normed, weight) * behind)


def two_layers(p: Probes, x: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    """Equal layers, for which Inductor writes each kernel once."""
    x = _layer(x, a, b, p[0], p[1])
    x = _layer(x, c, d, p[2], p[3])
    return _layer(x, a * 2, b * 2, p[4], p[5]) * p[6]


_SQUARE, _ROW = (WIDTH, WIDTH), (WIDTH,)


def _batch_norm_inputs() -> tuple[Tensor, ...]:
    return torch.randn(4, 6, 8, 8), torch.zeros(6), torch.ones(6), torch.randn(6)


PROGRAMS = {
    "linear_gelu": Program(linear_gelu, 3, _floats((ROWS, WIDTH), _SQUARE, _ROW)),
    "layer_norm": Program(layer_norm, 2, _floats((ROWS, WIDTH), _ROW, _ROW)),
    "attention": Program(attention, 4, _floats(*((2, ROWS, 16),) * 3)),
    "attention_inference": Program(attention, 4, _floats(*((2, ROWS, 16),) * 3), False),
    "embedding": Program(
        embedding,
        2,
        lambda: (torch.randint(WORDS, (ROWS,)), torch.randn(WORDS, WIDTH), torch.randn(_SQUARE)),
    ),
    "cross_entropy": Program(
        cross_entropy,
        3,
        lambda: (torch.randn(ROWS, WIDTH), torch.randn(WORDS, WIDTH), torch.arange(ROWS)),
    ),
    "batch_norm": Program(batch_norm, 3, _batch_norm_inputs),
    "dropout": Program(dropout, 3, _floats((ROWS, WIDTH), _SQUARE)),
    "residual": Program(residual, 5, _floats((ROWS, WIDTH), _SQUARE, _SQUARE)),
    "index_put": Program(
        index_put,
        3,
        lambda: (torch.randn(WORDS, WIDTH), torch.arange(ROWS) // 2, torch.randn(ROWS, WIDTH)),
    ),
    "sum_of_rows": Program(sum_of_rows, 3, _floats((ROWS, WIDTH), _SQUARE, _ROW)),
    "cat_split": Program(cat_split, 5, _floats((ROWS, WIDTH), (ROWS, WIDTH))),
    "two_layers": Program(two_layers, 7, _floats((ROWS, WIDTH), _ROW, _SQUARE, _ROW, _SQUARE)),
}
