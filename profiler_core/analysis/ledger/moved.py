"""Ties across other matches: what the alignment in order cannot see, because it moved.

The engine and Inductor's scheduler move what nobody waits for, and a fused kernel waits for all
that goes into it. Each rule looks some matches or items to either side of where a gap is.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from profiler_core.analysis.ledger.match import Labels, Match, label_items, tie_items
from profiler_core.analysis.ledger.program import Item

_REACH_LINES = 400  # nodes to look ahead and back for one source line in a backward
_REACH = 8  # items to look ahead and back for a kernel's name
_NEIGHBOURS = 4  # matches to look back for the beginning of a composite


def reach_lines(
    a: Sequence[Item],
    b: Sequence[Item],
    pairs: Sequence[tuple[int, int]],
    match: Match,
    labels: Labels,
) -> None:
    """A gradient that stands apart from the rest of its line: tie it to the nearest of the line.

    The engine and Inductor's scheduler move what nobody waits for: sums for biases, scatters for
    embeddings.
    """
    for one, other, facing, swapped in (
        (a, b, list(pairs), False),
        (b, a, [(j, i) for i, j in pairs], True),
    ):
        side = 1 if swapped else 0
        done = {unit for tie in match.ties for unit in (tie.candidate if side else tie.baseline)}
        places: dict[str, list[int]] = defaultdict(list)
        for j, y in enumerate(other):
            if y.units:
                for label in y.labels:
                    places[label].append(j)
        firsts = [i for i, _ in facing]
        for i, x in enumerate(one):
            if not x.units or done.issuperset(x.units):
                continue
            at = bisect_left(firsts, i)
            centre = facing[at][1] if at < len(facing) else len(other)
            near = [
                j
                for label in x.labels
                for j in places.get(label, ())
                if abs(j - centre) <= _REACH_LINES and not (x.is_anchor and other[j].op != x.op)
            ]
            if near:
                y = other[min(near, key=lambda j: (abs(j - centre), j))]
                tie_items(match, *((y, x) if swapped else (x, y)), "source line")
                label_items(*((y, x) if swapped else (x, y)), labels)


def reach(
    a: Sequence[Item],
    b: Sequence[Item],
    pairs: Sequence[tuple[int, int]],
    match: Match,
    labels: Labels,
) -> None:
    """Kernels known by name only: look some operators further, past what a library computes.

    A fused kernel waits for all that goes into it: the normalisations of both branches of a
    residual block are computed behind the second branch's convolution.
    """
    if not any(item.by_kernel_name for item in b) and not any(item.by_kernel_name for item in a):
        return
    for one, other, facing, swapped in (
        (a, b, list(pairs), False),
        (b, a, [(j, i) for i, j in pairs], True),
    ):
        side = 1 if swapped else 0
        done = {unit for tie in match.ties for unit in (tie.candidate if side else tie.baseline)}
        firsts = [i for i, _ in facing]
        for i, x in enumerate(one):
            if not x.units or done.issuperset(x.units):
                continue
            at = bisect_left(firsts, i)
            if x.is_anchor:
                # A part of a composite that began some matches before.
                before = [other[j] for _, j in facing[max(0, at - _NEIGHBOURS) : at]]
                whole = next(
                    (y for y in reversed(before) if y.is_composite and x.op in y.inner), None
                )
                if whole is not None and whole.units:
                    tie_items(match, *((whole, x) if swapped else (x, whole)), "composite")
                continue
            centre = facing[at][1] if at < len(facing) else len(other)
            near = sorted(
                range(max(0, centre - _REACH), min(len(other), centre + _REACH)),
                key=lambda j: (abs(j - centre), -j),
            )
            for j in near:
                y = other[j]
                if y.units and not y.is_anchor and _named_in(x, y):
                    tie_items(match, *((y, x) if swapped else (x, y)), "kernel name")
                    label_items(*((y, x) if swapped else (x, y)), labels)
                    break


def _named_in(x: Item, y: Item) -> bool:
    if x.by_kernel_name and y.by_kernel_name:
        return 2 * len(x.inner & y.inner) >= min(len(x.inner), len(y.inner)) > 0
    name, plain = (x, y) if x.by_kernel_name else (y, x)
    return name.by_kernel_name and (plain.op in name.inner or bool(plain.inner & name.inner))
