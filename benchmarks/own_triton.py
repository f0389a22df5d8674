"""A user's own Triton kernel inside of a model, for `judge_workloads.own_triton_kernel`."""

import torch
import triton
import triton.language as tl
from torch import Tensor, nn


@triton.jit
def gate_kernel(gate, up, out, n, BLOCK: tl.constexpr):  # noqa: N803, Triton's way
    """`out = sigmoid(gate) * gate * up`, elementwise."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    g = tl.load(gate + offsets, mask=inside)
    tl.store(out + offsets, g * tl.sigmoid(g) * tl.load(up + offsets, mask=inside), mask=inside)


def gated(gate: Tensor, up: Tensor) -> Tensor:
    """SiLU of `gate` times `up`."""
    out = torch.empty_like(up)
    grid = (triton.cdiv(out.numel(), 1024),)
    gate_kernel[grid](gate, up, out, out.numel(), BLOCK=1024)
    return out


class GatedPerceptron(nn.Module):
    """Norm, two projections, the kernel, a projection back."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.gate, self.up, self.down = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        normed = self.norm(x)
        return x + self.down(gated(self.gate(normed), self.up(normed)))
