"""Operators that several kernels compute together, by the log's comments or the kernels' names.

Inductor splits a batch norm and the relu behind it into a reduction and a pointwise kernel, and
both have `native_batch_norm … relu` in their names. Each is matched with one operator, so that
alone the relu became slower and the batch norm faster by more than it was. Where two kernels with
an operator in both names face two operators that are neighbours as they are, all are one group.

Batch norms whose results are added, as those of both branches of a residual block, have kernels of
their own for their means and variances, and one pointwise kernel for all else: it is handed a mean
and a variance of each, by which it is known without a log to compute as many.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod

from profiler_core.analysis.ledger.extents import Shape
from profiler_core.analysis.ledger.match import Evidence, Match, Tie
from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.ledger.worth import NAMED_IN_KERNEL, worth_of_names

_NORM = "batch_norm"


def join_neighbours(a: Sequence[Item], b: Sequence[Item], match: Match) -> None:
    """Tie an operator's kernels to the operator beside it that their names have too.

    Args:
        a: items of one segment of the baseline.
        b: of the candidate's.
        match: their ties.
    """
    for operators, kernels, is_candidate in ((a, b, True), (b, a, False)):
        if any(item.by_kernel_name or item.part_of for item in kernels):
            _join(operators, kernels, match, is_candidate)
            _join_normalisations(operators, kernels, match, is_candidate)


def _join(
    operators: Sequence[Item], kernels: Sequence[Item], match: Match, is_candidate: bool
) -> None:
    """Of one side's operators and the other's kernels.

    Args:
        operators: items of one side.
        kernels: of the other, some known by name, some nodes that are part of operators.
        match: their ties.
        is_candidate: are the kernels the candidate's?
    """
    faced = _facing(match, is_candidate)
    stretch_of = _stretches(kernels)
    items_of: defaultdict[int, list[int]] = defaultdict(list)
    for number, item in enumerate(kernels):
        for unit in item.units:
            items_of[unit].append(number)
    for left, right in _neighbours(operators):
        for own, other in ((left, right), (right, left)):
            beside = _kernels_of(other, faced, items_of)
            for number in _kernels_of(own, faced, items_of):
                kernel = kernels[number]
                near = [kernels[n] for n in beside if stretch_of[n] == stretch_of[number]]
                is_whole = any(kernels[n].op == other.op for n in beside)
                if _does_both(kernel, own, other, near, is_whole=is_whole):
                    units = (other.units, kernel.units)
                    evidence: Evidence = "source line" if kernel.part_of else "kernel name"
                    match.ties.append(Tie(*(units if is_candidate else units[::-1]), evidence))


def _join_normalisations(
    operators: Sequence[Item], kernels: Sequence[Item], match: Match, is_candidate: bool
) -> None:
    """Tie batch norms that one kernel computes from their means and variances to that kernel.

    They are those of the kernels that reduced tensors of its size since the last such kernel; where
    that are not as many as it is handed the results of, nothing says which they are.
    """
    faced = _facing(match, not is_candidate)
    norm_of = {unit: item for item in operators if item.op == _NORM for unit in item.units}
    reduced: defaultdict[Shape, list[Item]] = defaultdict(list)
    for kernel in kernels:
        if not kernel.by_kernel_name or _NORM not in kernel.inner or not kernel.shapes:
            continue
        if kernel.is_reduction:
            reduced[kernel.shapes[0]].append(kernel)
            continue
        n_normalised = _n_normalised(kernel)
        statistics = reduced.pop(_largest(kernel), []) if n_normalised else []
        units = {unit for each in statistics for own in each.units for unit in faced.get(own, ())}
        norms = sorted({norm_of[unit].units for unit in units if unit in norm_of})
        if n_normalised == len(norms) == len(statistics) > 1:
            for norm in norms:
                ends = (norm, kernel.units)
                match.ties.append(Tie(*(ends if is_candidate else ends[::-1]), "kernel name"))


def _n_normalised(kernel: Item) -> int:
    """Of how many batch norms a pointwise kernel is handed mean and variance, by its tensors.

    A mean and a variance keep the axes of what they were reduced from: (1, 64, 1, 1) of
    (32, 64, 56, 56).
    """
    largest = _largest(kernel)
    kept = tuple(size if axis == 1 else 1 for axis, size in enumerate(largest))
    n_kept = kernel.shapes.count(kept) if kept != largest else 0
    n_normalised, odd = divmod(n_kept, 2)
    return 0 if odd or kernel.shapes.count(largest) < n_normalised else n_normalised


def _largest(kernel: Item) -> Shape:
    return max(kernel.shapes, key=prod)


def _does_both(
    kernel: Item, own: Item, other: Item, near: Sequence[Item], *, is_whole: bool
) -> bool:
    """Does a kernel that is matched with one operator compute some of the next one, too?

    Args:
        kernel: or a node.
        own: the operator that it is matched with.
        other: the operator beside that.
        near: what `other` is matched with, in one stretch with the kernel.
        is_whole: is `other` matched with a node of its own name?
    """
    if kernel.part_of:
        is_of_both = {own.op, other.op} <= kernel.part_of
        # Not where the other operator was not decomposed and has a kernel of its own.
        return is_of_both and bool(other.labels & kernel.labels) and not is_whole
    return (
        kernel.by_kernel_name
        and bool(near)
        and any(each.is_reduction for each in (kernel, *near))
        and worth_of_names(other, kernel) >= NAMED_IN_KERNEL
    )


def _kernels_of(
    operator: Item, faced: Mapping[int, set[int]], items_of: Mapping[int, Sequence[int]]
) -> set[int]:
    """Numbers of the items that are tied to an operator."""
    units = {unit for member in operator.units for unit in faced.get(member, ())}
    return {number for unit in units for number in items_of.get(unit, ())}


def _facing(match: Match, is_candidate: bool) -> dict[int, set[int]]:
    """Unit of an operator -> units of the other side's kernels that are tied to it."""
    faced: defaultdict[int, set[int]] = defaultdict(set)
    for tie in match.ties:
        own, others = tie.baseline, tie.candidate
        if not is_candidate:
            own, others = others, own
        for unit in own:
            faced[unit].update(others)
    return faced


def _neighbours(items: Sequence[Item]) -> list[tuple[Item, Item]]:
    """Operators of which one follows the other, with nothing of a library between them."""
    pairs: list[tuple[Item, Item]] = []
    before: Item | None = None
    for item in items:
        if item.is_anchor:
            before = None
        elif item.units and not item.by_kernel_name:
            if before is not None:
                pairs.append((before, item))
            before = item
    return pairs


def _stretches(kernels: Sequence[Item]) -> list[int]:
    """For each item the number of its stretch: what libraries compute lies between two."""
    numbers, number = [], 0
    for item in kernels:
        number += item.is_anchor or bool(item.library_kernel)
        numbers.append(number)
    return numbers
