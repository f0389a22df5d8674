"""Models with a planted fault each, and the same without it: pairs for the what-if engine.

Each function is a workload in the `file.py:function` form of `capture`. A copy of this file in a
folder named `repaired` builds every model without its fault, so that `capture --against` times both
in turns. `what_if_captures` captures them; `LEDGER_TINY=1` makes them small enough for a CPU.
"""

import os
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812, everybody writes it so
from torch import Tensor, nn

Compile = Callable[[nn.Module], Callable[..., Tensor]]
Step = Callable[[], object]
REPAIRED = Path(__file__).resolve().parent.name == "repaired"
_TINY = bool(os.environ.get("LEDGER_TINY"))
_GUARDED_CALLS = 3  # made with their guards, before a repaired step leaves them out


def _sized(full: int, tiny: int) -> int:
    return tiny if _TINY else full


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _perceptron(width: int, depth: int) -> nn.Sequential:
    layers = [nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(depth)]
    return nn.Sequential(*layers)


class Blocks(nn.Module):
    """Residual perceptrons; a graph break after each, but for the repaired.

    Written out: of a break in a loop Dynamo leaves out the whole frame.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(_perceptron(width, 4) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.blocks[0](x)
        if not REPAIRED:
            torch._dynamo.graph_break()
        x = x + self.blocks[1](x)
        if not REPAIRED:
            torch._dynamo.graph_break()
        x = x + self.blocks[2](x)
        if not REPAIRED:
            torch._dynamo.graph_break()
        return x + self.blocks[3](x)


def breaks() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Graph breaks at which nothing is read."""
    width = _sized(512, 16)
    return Blocks(width).eval(), (torch.randn(_sized(256, 4), width),)


class Scaled(nn.Module):
    """Each block divides by the largest value: read by the host, but for the repaired."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second, self.third = (_perceptron(width, 4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        largest = x.abs().amax()
        x = self.second(x / (largest if REPAIRED else largest.item()))
        largest = x.abs().amax()
        return self.third(x / (largest if REPAIRED else largest.item()))


def value_breaks() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Graph breaks at which the host reads a value."""
    width = _sized(512, 16)
    return Scaled(width).eval(), (torch.randn(_sized(256, 4), width),)


class Selected(nn.Module):
    """Rows with a positive score go through an expert: their number depends on the data.

    The repaired one computes all rows and keeps those: more work for the device, no read.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = (_perceptron(width, 4) for _ in range(2))
        self.scores = nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        chosen = self.scores(x) > 0
        if REPAIRED:
            x = x + torch.where(chosen[:, :1], self.first(x), 0.0)
            return x + torch.where(chosen[:, 1:], self.second(x), 0.0)
        rows = chosen[:, 0].nonzero()[:, 0]
        x = x.index_add(0, rows, self.first(x[rows]))
        rows = chosen[:, 1].nonzero()[:, 0]
        return x.index_add(0, rows, self.second(x[rows]))


def shape_breaks() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Graph breaks at which a shape depends on data."""
    width = _sized(512, 16)
    return Selected(width).eval(), (torch.randn(_sized(512, 8), width),)


class Guarded(nn.Module):
    """Little work after a table of settings, of which a guard looks at each value."""

    def __init__(self, width: int, depth: int, n_settings: int) -> None:
        super().__init__()
        self.gains = nn.ParameterList(nn.Parameter(torch.ones(width)) for _ in range(depth))
        self.settings = [{"scale": 1.0, "shift": float(number)} for number in range(n_settings)]

    def forward(self, x: Tensor) -> Tensor:
        shift = 0.0
        for setting in self.settings:
            shift = shift + setting["scale"] * setting["shift"]
        for gain in self.gains:
            x = torch.tanh(x * gain) + shift
        return x


def guards(compile: Compile) -> Step:  # noqa: A002, capture hands it over by this name
    """Thousands of guards before little work; the repaired step leaves their evaluation out."""
    width = _sized(256, 16)
    model = compile(Guarded(width, _sized(20, 4), _sized(1500, 20)).to(_device()).eval())
    x = torch.randn(_sized(64, 4), width, device=_device())
    n_calls = 0

    def step() -> Tensor:
        nonlocal n_calls
        n_calls += 1
        with torch.no_grad():
            if REPAIRED and n_calls == _GUARDED_CALLS:
                torch.compiler.set_stance(skip_guard_eval_unsafe=True)
            return model(x)

    return step


class Heads(nn.Module):
    """Many small products of one input, which nothing fuses."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(width, width) for _ in range(n_heads))

    def forward(self, x: Tensor) -> Tensor:
        for head in self.heads:
            x = torch.relu(head(x))
        return x


def small_kernels() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A chain of products too small for the device."""
    width = _sized(128, 16)
    return Heads(width, _sized(60, 4)).eval(), (torch.randn(32, width),)


def _training(width: int, depth: int) -> tuple[nn.Module, Tensor, Tensor]:
    model = _perceptron(width, depth).to(_device()).train()
    return model, *torch.randn(2, _sized(1024, 8), width, device=_device())


def syncs(compile: Compile) -> Step:  # noqa: A002
    """A training step that reads the loss of each of its micro-batches."""
    model, x, target = _training(_sized(4096, 16), _sized(6, 2))
    called = compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step() -> object:
        losses: list[object] = []
        for part, wanted in zip(x.chunk(4), target.chunk(4), strict=True):
            loss = F.mse_loss(called(part), wanted)
            loss.backward()
            losses.append(loss.detach() if REPAIRED else loss.item())
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return losses[-1]

    return step


def pageable_copies(compile: Compile) -> Step:  # noqa: A002
    """A batch from pageable memory in each step; from pinned memory in the repaired."""
    width = _sized(2048, 16)
    called = compile(_perceptron(width, _sized(8, 2)).to(_device()).eval())
    batch = torch.randn(_sized(2048, 8), width)
    if REPAIRED and torch.cuda.is_available():
        batch = batch.pin_memory()

    def step() -> Tensor:
        with torch.no_grad():
            return called(batch.to(_device(), non_blocking=REPAIRED))

    return step


def small_copies(compile: Compile) -> Step:  # noqa: A002
    """Forty small tensors that are copied one by one; in one piece in the repaired."""
    width, n_parts = _sized(1024, 16), _sized(40, 4)
    called = compile(_perceptron(width, _sized(6, 2)).to(_device()).eval())
    parts = [torch.randn(8, width) for _ in range(n_parts)]
    whole = torch.cat(parts)

    def step() -> Tensor:
        with torch.no_grad():
            if REPAIRED:
                return called(whole.to(_device()))
            return called(torch.cat([part.to(_device()) for part in parts]))

    return step


def plain_fp32() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Large products in fp32."""
    width = _sized(2048, 16)
    return _perceptron(width, _sized(8, 2)).eval(), (torch.randn(_sized(2048, 8), width),)


def uneven_shapes() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Products in bf16 whose rows begin on no multiple of 16 bytes; they do in the repaired."""
    width = _sized(2048, 16) - (0 if REPAIRED else 1)
    model = _perceptron(width, _sized(8, 2)).to(torch.bfloat16).eval()
    return model, (torch.randn(_sized(4096, 8), width, dtype=torch.bfloat16),)


class Convolutions(nn.Module):
    """A stack of convolutions with normalisation."""

    def __init__(self, channels: int, depth: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()
            )
            for _ in range(depth)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return x.mean((2, 3))


def contiguous_images() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Convolutions in bf16 over contiguous images: eager converts before and after each."""
    model = Convolutions(_sized(128, 8), _sized(8, 2)).to(torch.bfloat16).eval()
    size = _sized(64, 8)
    return model, (torch.randn(_sized(32, 2), 3, size, size, dtype=torch.bfloat16),)


def plain_optimizer(compile: Compile) -> Step:  # noqa: A002
    """AdamW without its fused implementation over 40 million parameters."""
    model, x, target = _training(_sized(2048, 16), _sized(10, 2))
    called = compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=REPAIRED or None)

    def step() -> Tensor:
        loss = F.mse_loss(called(x[: _sized(256, 8)]), target[: _sized(256, 8)])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step
