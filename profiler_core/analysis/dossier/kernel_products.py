"""The products that one kernel computes, with the operations that are its own.

A call of an operator may launch several kernels of a product: the two gradients of a convolution,
which need the same operations, a product in parts, and what adds these up.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from profiler_core.analysis.finding_rules.op_work import OpWork, product_work
from profiler_core.analysis.ledger.library_kernels import ADDS_PARTS
from profiler_core.model.trace import Trace

# What clears a workspace for a product's kernel, scales or adds up its parts, by names.
_HELPER = re.compile(
    ADDS_PARTS + r"|init_device_workspace|\bscal_kernel"
    r"|cublasLt::|winograd.*(?:Output|generate)|computeOffsets|scalePackedTensor",
    re.IGNORECASE,
)
_GRADIENT = re.compile("dgrad|wgrad")  # in the names of cuDNN's kernels: of the input, the weight


@dataclass(frozen=True)
class _Share:
    """What a kernel is of one call: one of so many equal parts, for so long; 0: not told apart."""

    n_equal_parts: int
    own_ns: int = 0


def is_product_helper(name: str) -> bool:
    """Does a kernel of this name only prepare or finish a product that another one computes?"""
    return _HELPER.search(name) is not None


def kernel_products(trace: Trace, kernel: str) -> tuple[OpWork, ...]:
    """Calls of matrix products and convolutions that a kernel computes, or a part of them.

    Returns:
        With its own part of their operations and its own time (`kernel_ns`) where each of its calls
        tells it; else all calls whole, with what other kernels compute of them. Empty for a kernel
        that only prepares or finishes what another one computes.
    """
    products = product_work(trace)
    shares = [
        (number, position, share)
        for number, op in enumerate(products)
        for position in range(len(op.times_ns))
        if (share := _share(op, position, kernel)) is not None
    ]
    are_told_apart = all(share.own_ns for _, _, share in shares)
    calls: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for number, position, share in shares:
        n_equal_parts = share.n_equal_parts if are_told_apart else 1
        calls.setdefault((number, n_equal_parts), []).append((position, share.own_ns))
    return tuple(
        replace(
            products[number].of_calls([position for position, _ in own]),
            kernel=kernel,
            kernel_ns=sum(ns for _, ns in own) if are_told_apart else None,
            n_equal_parts=n_equal_parts,
        )
        for (number, n_equal_parts), own in calls.items()
    )


def _share(op: OpWork, position: int, kernel: str) -> _Share | None:
    """None: it computes nothing of the call."""
    computing = [part for part in op.parts[position] if not is_product_helper(part[0])]
    if not computing:  # no name tells what computes it: the longest stands for all
        return _Share(1) if op.kernel == kernel else None
    own = [ns for name, ns in computing if name == kernel]
    if not own:
        return None
    n = op.n_products
    if len(computing) == n:
        return _Share(n // len(own), sum(own))
    if n == 2 and _is_whole_gradient([name for name, _ in computing], kernel):
        return _Share(2, sum(own))
    return _Share(1)


def _is_whole_gradient(names: Sequence[str], kernel: str) -> bool:
    """Do the names say that it is all of one gradient, and the other kernels are of the other?"""
    kinds = {name: kind.group() if (kind := _GRADIENT.search(name)) else "" for name in names}
    alike = [name for name in names if kinds[name] == kinds[kernel]]
    return bool(kinds[kernel]) and "" not in kinds.values() and alike == [kernel]
