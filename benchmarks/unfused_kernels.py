"""What `unfused_by_hand` fuses: each pair plain, and by a Triton kernel that does both at once."""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

_ROWS = 64  # that one program of `product_and_sums` adds up


@triton.jit
def pooled(x, scale, shift, out, channels, size, n, BLOCK: tl.constexpr):  # noqa: N803, Triton's way
    """`out = max_pool2d(relu(scale * x + shift), 2)`; images of size x size, scale by channel."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = place < n
    half = size // 2
    column = place % half
    row = (place // half) % half
    image = place // (half * half)
    channel = image % channels
    a = tl.load(scale + channel, mask)
    b = tl.load(shift + channel, mask)
    first = image * size * size + 2 * row * size + 2 * column
    best = a * tl.load(x + first, mask) + b
    best = tl.maximum(best, a * tl.load(x + first + 1, mask) + b)
    best = tl.maximum(best, a * tl.load(x + first + size, mask) + b)
    best = tl.maximum(best, a * tl.load(x + first + size + 1, mask) + b)
    tl.store(out + place, tl.maximum(best, 0.0), mask)


@triton.jit
def product_and_sums(x, g, out, sums, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):  # noqa: N803
    """`out = gelu'(x) * g`, and in `sums` its sums over each ROWS rows."""
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < width
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(ROWS):
        place = (tl.program_id(0) * ROWS + i) * width + column
        value = tl.load(x + place, mask, other=0.0)
        normal = 0.5 * (1.0 + tl.erf(value * 0.7071067811865476))
        density = 0.3989422804014327 * tl.exp(-0.5 * value * value)
        result = tl.load(g + place, mask, other=0.0) * (normal + value * density)
        tl.store(out + place, result, mask)
        total += result
    tl.store(sums + tl.program_id(0) * width + column, total, mask)


@dataclass(frozen=True)
class Pool:
    """Activation and pooling of 64 images: 822 MB between the two."""

    names = ("relu", "max_pool2d")  # in those of the two calls

    def inputs(self) -> tuple[Tensor, ...]:
        """Images, and scale and shift by channel."""
        return (
            torch.randn(64, 64, 224, 224, device="cuda"),
            torch.rand(64, device="cuda"),
            torch.randn(64, device="cuda"),
        )

    def plain(self, x: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, ...]:
        """As a model says it."""
        active = torch.relu(x * scale.view(1, -1, 1, 1) + shift.view(1, -1, 1, 1))
        return (torch.nn.functional.max_pool2d(active, 2),)

    def by_hand(self, x: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, ...]:
        """In one kernel."""
        batch, channels, size, _ = x.shape
        out = torch.empty(batch, channels, size // 2, size // 2, device="cuda")
        grid = (triton.cdiv(out.numel(), 1024),)
        pooled[grid](x, scale, shift, out, channels, size, out.numel(), BLOCK=1024)
        return (out,)


@dataclass(frozen=True)
class Columns:
    """The gradient through a GELU and its column sums: 268 MB between the two."""

    names = ("triton_poi", "triton_red")

    def inputs(self) -> tuple[Tensor, ...]:
        """What went into the GELU, and the gradient of its result."""
        return torch.randn(16384, 4096, device="cuda"), torch.randn(16384, 4096, device="cuda")

    def plain(self, x: Tensor, g: Tensor) -> tuple[Tensor, ...]:
        """As a model says it."""
        normal = 0.5 * (1.0 + torch.erf(x * 0.7071067811865476))
        result = g * (normal + x * 0.3989422804014327 * torch.exp(-0.5 * x * x))
        return result, result.sum(0)

    def by_hand(self, x: Tensor, g: Tensor) -> tuple[Tensor, ...]:
        """In one kernel, and a small one that adds up what its programs summed."""
        rows, width = x.shape
        out, sums = torch.empty_like(x), torch.empty(rows // _ROWS, width, device="cuda")
        grid = (rows // _ROWS, triton.cdiv(width, 512))
        product_and_sums[grid](x, g, out, sums, width, ROWS=_ROWS, BLOCK=512)
        return out, sums.sum(0)


PAIRS = {"pool": Pool(), "columns": Columns()}
