"""Models whose steps call operators of higher order, one each."""

import torch
import triton.language as tl
from torch import nn
from torch._higher_order_ops import triton_kernel_wrap
from triton.runtime.interpreter import InterpretedFunction

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


def halved(source, out, n, BLOCK: tl.constexpr):  # noqa: N803, Triton's way
    """`out = source / 2`, elementwise."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, tl.load(source + offsets, mask=inside) * 0.5, mask=inside)


class OwnKernel(Stepping):
    """A Triton kernel of the user's, called as a compiled graph calls it, into a given tensor.

    Dynamo takes it into a graph only where Triton has a driver, so the call is beside the graphs.
    """

    @torch.compiler.disable
    def between(self, x):
        out = torch.empty_like(x)
        triton_kernel_wrap.triton_kernel_wrapper_mutation(
            **self.call(x), kwargs={"source": x, "out": out}
        )
        return out

    @staticmethod
    def call(x):
        """The kernel, run by Triton's interpreter: no GPU is needed."""
        table = triton_kernel_wrap.kernel_side_table
        constants = {"n": x.numel(), "BLOCK": 256}
        return {
            "kernel_idx": table.add_kernel(InterpretedFunction(halved)),
            "constant_args_idx": table.add_constant_args(constants),
            "grid": [(1, 1, 1)],
            "tma_descriptor_metadata": {},
        }


class OwnKernelFunctional(OwnKernel):
    """The same into a copy, as it stands in a graph without mutations."""

    @torch.compiler.disable
    def between(self, x):
        return triton_kernel_wrap.triton_kernel_wrapper_functional(
            **self.call(x),
            kwargs={"source": x, "out": torch.empty_like(x)},
            tensors_to_clone=["out"],
        )["out"]


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


def triton_mutation():
    return _built(OwnKernel)


def triton_functional():
    return _built(OwnKernelFunctional)


def invoke_subgraph():
    return _built(Nested)
