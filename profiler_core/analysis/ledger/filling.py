"""What an alignment in order leaves over: tied by line, by composition, by name, by position."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from profiler_core.analysis.ledger.match import Evidence, Labels, Match, label_items, tie_items
from profiler_core.analysis.ledger.operators import KERNEL_FREE
from profiler_core.analysis.ledger.program import Item, Phase
from profiler_core.analysis.ledger.worth import shape_bonus

# cuDNN's parts of a convolution by FFT or Winograd; the product among them is of complex numbers.
_OF_CONVOLUTION = re.compile(r"fft|flip_filter|gemm_cf32|winograd|cudnn|reduced_divisor", re.I)
_REACH_LINES = 400  # nodes to look ahead and back for one source line in a backward
_REACH = 8  # items to look ahead and back for a kernel's name
_MOST_AT_A_PLACE = 12  # items between two matches that may be one thing together
_NEIGHBOURS = 4  # matches to look past for an operator in another order


def swap(
    a: Sequence[Item],
    b: Sequence[Item],
    pairs: list[tuple[int, int]],
    match: Match,
    labels_of: Labels,
) -> list[tuple[int, int]]:
    """Match what two neighbours have in another order: the two products of a linear's backward.

    Only operators that libraries compute, of one source line, and at most some matches away.
    """
    matched_b = {j for _, j in pairs}
    waiting: dict[tuple[str, str], list[int]] = defaultdict(list)
    for j, item in enumerate(b):
        if j not in matched_b and item.units and item.is_anchor:
            for label in item.labels:
                waiting[item.op, label].append(j)
    if not waiting:
        return pairs
    matched_a = {i for i, _ in pairs}
    lefts = [i for i, _ in pairs]
    for i, item in enumerate(a):
        if i in matched_a or not item.units or not item.is_anchor:
            continue
        at = bisect_left(lefts, i)
        low = pairs[max(0, at - _NEIGHBOURS)][1] if pairs else 0
        high = pairs[min(len(pairs) - 1, at + _NEIGHBOURS)][1] if pairs else len(b)
        near = [
            j
            for label in item.labels
            for j in waiting.get((item.op, label), ())
            if low <= j <= high
        ]
        if near:
            j = max(near, key=lambda number: shape_bonus(item, b[number]))
            for label in b[j].labels:
                waiting[item.op, label].remove(j)
            tie_items(match, item, b[j], "source line")
            label_items(item, b[j], labels_of)
            match.out_of_order.update((id(item), id(b[j])))
    return pairs


def fill(
    a: Sequence[Item],
    b: Sequence[Item],
    around: Sequence[tuple[Item, Item]],
    phase: Phase,
    match: Match,
    labels_of: Labels,
) -> None:
    """Tie what is left between two matches; `around` are the matches on either end."""
    tied_a: set[int] = set(match.out_of_order)
    tied_b: set[int] = set(match.out_of_order)

    def tie(x: Item, y: Item, evidence: Evidence) -> None:
        tied_a.add(id(x))
        tied_b.add(id(y))
        tie_items(match, x, y, evidence)
        label_items(x, y, labels_of)

    near_a = [x for x, _ in around]
    near_b = [y for _, y in around]
    weak_a = [x for x, y in around if not (x.op == y.op and x.is_anchor)]
    weak_b = [y for x, y in around if not (x.op == y.op and y.is_anchor)]
    # 1. One source line on both sides.
    for y in b:
        if y.units and y.labels and id(y) not in tied_b:
            same = [
                x for x in a if x.units and x.labels & y.labels and id(x) not in match.out_of_order
            ]
            for x in same or [x for x in weak_a if x.units and x.labels & y.labels]:
                tie(x, y, "source line")
    for x in a:
        if x.units and x.labels and id(x) not in tied_a:
            here = [y for y in b if y.units and y.labels & x.labels]
            for y in (
                here
                or [y for y in weak_b if y.units and y.labels & x.labels]
                or [y for y in near_b if y.units and y.labels & x.labels]
            ):
                tie(x, y, "source line")
    # 2. A composite next to its parts.
    for x in a:
        if x.units and id(x) not in tied_a:
            for y in near_b:
                if (
                    y.units
                    and y.is_composite
                    and not y.by_kernel_name
                    and (x.op in y.inner or x.inner & y.inner or y is near_b[0])
                    and not (x.is_anchor and x.op not in y.inner)
                ):
                    tie(x, y, "composite")
                    break
    for y in b:
        if y.units and id(y) not in tied_b and not y.labels:
            for x in [*near_a, *a]:
                is_part = y.op in x.inner or bool(y.inner & x.inner) or x not in near_a[1:]
                if x.units and x.is_composite and is_part:
                    tie(x, y, "composite")
                    break
    # Attention in one kernel is two products, and a softmax, in several.
    for left, near, right, tied in ((a, near_a, b, tied_b), (b, near_b, a, tied_a)):
        attention = [one for one in (*left, *near) if one.units and one.op == "attention"]
        for part in right:
            if part.units and part.op == "matmul" and id(part) not in tied and not part.labels:
                for whole in attention[:1]:
                    tie(*((whole, part) if left is a else (part, whole)), "composite")
    # 3. Names inside a kernel's name.
    for x in a:
        if x.units and id(x) not in tied_a:
            for y in [*b, *near_b]:
                if y.by_kernel_name and (x.op in y.inner or x.inner & y.inner):
                    tie(x, y, "kernel name")
                    break
    for y in b:
        if y.units and y.by_kernel_name and id(y) not in tied_b:
            for x in [*a, *near_a]:
                if x.units and (x.op in y.inner or x.inner & y.inner):
                    tie(x, y, "kernel name")
                    break
    # A cast or a layout copy works for the library's operator that follows it.
    if around and around[-1][1].is_anchor and around[-1][0].units:
        for y in b:
            if y.units and id(y) not in tied_b and y.only_copies:
                tie(around[-1][0], y, "position")
    # A library's operator may be several kernels; a replay without a log shows only these.
    if not any(x.units for x in a):
        for y in b:
            if y.library_kernel and id(y) not in tied_b:
                beside = [pair for pair in around if pair[1].library_kernel and pair[1].op == y.op]
                if _OF_CONVOLUTION.search(y.library_kernel):
                    beside = beside or [p for p in around if p[0].op.startswith("convolution")]
                beside.sort(key=lambda pair: pair[1].library_kernel != y.library_kernel)
                if beside:
                    tie(beside[0][0], y, "position")
    # 4. What stands alone in the same place.
    left_a = [x for x in a if x.units and id(x) not in tied_a]
    left_b = [y for y in b if y.units and id(y) not in tied_b and y.op not in KERNEL_FREE]
    if phase == "backward":
        left_a = [x for x in left_a if not x.labels or not any(y.labels for y in left_b)]
        left_b = [y for y in left_b if not y.labels or not any(x.labels for x in left_a)]
    # Without a match beside it there is no place, and many at one place are not one thing.
    if around and max(len(left_a), len(left_b)) <= _MOST_AT_A_PLACE:
        for x in left_a:
            for y in left_b:
                tie(x, y, "position")
    # The baseline launches nothing between the same neighbours: a copy of the candidate's own.
    if len(around) == 2 and not any(x.units for x in a):
        for y in b:
            if y.units and y.node and id(y) not in tied_b and y.op in ("clone", "cast"):
                match.added.update(y.units)
    # A view inside a composite: its gradient is known by the composite's line.
    nearby = frozenset(label for y in near_b for label in y.labels)
    for x in a:
        if x.unit is not None and nearby and phase != "backward":
            labels_of[0].setdefault(x.unit, nearby)


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
