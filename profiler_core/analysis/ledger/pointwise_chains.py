"""Operators in a row that compute one value for each value: one generated kernel has them all.

Inductor computes a pointwise operator where the next one needs its result, so a batch norm's relu
is in the kernel that has the batch norm. Where kernels are known by name alone, an alignment of one
operator with one kernel gave the relu to the next kernel, which only repeats its name, and what
that one computes to the kernel behind it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from profiler_core.analysis.ledger.operator_kinds import ELEMENTWISE
from profiler_core.analysis.ledger.program import Item

_IN_INFERENCE = "batch_norm_legit_no_training"  # it computes no mean: it scales each value


def pointwise_chains(operators: Sequence[Item], kernels: Sequence[Item]) -> list[tuple[int, int]]:
    """What follows pointwise in a row is in the first's kernel: (number, number of the first).

    Kernels whose shapes are known need no such rule: their sizes say more.

    Args:
        operators: of one side, in order.
        kernels: of the other side in the same place, some of them known by name only.
    """
    named = [kernel for kernel in kernels if kernel.by_kernel_name and not kernel.shapes]
    is_inference = all(
        _IN_INFERENCE in kernel.op for kernel in named if "batch_norm" in kernel.inner
    )
    pointwise = ELEMENTWISE | {"batch_norm"} if is_inference else ELEMENTWISE
    followers: list[tuple[int, int]] = []
    first = 0
    for number, item in enumerate(operators):
        before = operators[number - 1] if number else None
        chain = {each.op for each in operators[first : number + 1]}
        if (
            before is not None
            and before.units
            and item.units
            and {before.op, item.op} <= pointwise
            and not (before.by_kernel_name or item.by_kernel_name)
            and bool(item.shapes)
            and item.shapes[:1] == before.shapes[:1]
            and any(chain <= kernel.inner for kernel in named)
        ):
            followers.append((number, first))
        else:
            first = number
    return followers


def with_chains(items: Sequence[Item], followers: Mapping[int, int]) -> dict[int, Item]:
    """Number -> item, of those that follow in no chain; the first of a chain knows the others."""
    behind: defaultdict[int, set[str]] = defaultdict(set)
    for number, first in followers.items():
        behind[first].add(items[number].op)
    return {
        number: replace(item, chain=frozenset(behind[number])) if number in behind else item
        for number, item in enumerate(items)
        if number not in followers
    }
