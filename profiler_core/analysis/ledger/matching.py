"""Match two programs: what in one became what in the other.

Segments are matched phase by phase. In a segment the two sequences are aligned by operator, in
order; what is left between two matches is tied by source line, by composition (one dynamo node
that is several eager operators) or by position. A backward's items carry the source line of their
forward operator: in a graph it is printed, in eager it is found by the sequence number.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from profiler_core.analysis.engines import is_engine
from profiler_core.analysis.ledger.alignment import align_codes, alternatives
from profiler_core.analysis.ledger.anchors import (
    between,
    in_doubt,
    kernels_by_size,
    pairs_by_size,
    rising,
    shuffled_runs,
)
from profiler_core.analysis.ledger.attention_parts import parts_by_name
from profiler_core.analysis.ledger.exchange import match_exchange
from profiler_core.analysis.ledger.filling import fill
from profiler_core.analysis.ledger.fused_neighbours import join_neighbours
from profiler_core.analysis.ledger.gap import Gap
from profiler_core.analysis.ledger.match import (
    Evidence,
    Labels,
    Match,
    Tie,
    doubt,
    label_items,
    tie_items,
)
from profiler_core.analysis.ledger.moved import reach, reach_libraries, reach_lines
from profiler_core.analysis.ledger.operators import KERNEL_FREE, SOFTMAX
from profiler_core.analysis.ledger.pointwise_chains import pointwise_chains, with_chains
from profiler_core.analysis.ledger.program import Item, Phase, Program, Segment
from profiler_core.analysis.ledger.realign import realign
from profiler_core.analysis.ledger.replay_overhead import match_replays
from profiler_core.analysis.ledger.work_units import HostStep, forward_units
from profiler_core.analysis.ledger.worth import worth

_MADE_OF_PRODUCTS = ({"attention", "matmul"}, {"attention_backward", "matmul"})
_FOREACH = re.compile(r"aten::_(?:foreach|fused)_|triton_for_")


def match_programs(
    baseline: Program, candidate: Program, steps: tuple[HostStep, HostStep]
) -> Match:
    """Match all segments of two programs."""
    match = Match()
    labels_of: Labels = ({}, {})
    for side, program in enumerate((baseline, candidate)):
        for segment in program.segments:
            for item in segment.items:
                for unit in item.units if item.code and item.op not in KERNEL_FREE else ():
                    for label in item.labels:
                        match.sources[side].setdefault(unit, {})[label] = item.code
    forward_of = tuple(forward_units(step) for step in steps)
    for left, right in _pairs(baseline.segments, candidate.segments):
        if left.phase == "backward":
            _label_backward(left.items, steps[0], forward_of[0], labels_of[0])
            _label_backward(right.items, steps[1], forward_of[1], labels_of[1])
        _match_segment(left, right, match, labels_of)
    _match_optimizers(baseline, candidate, match, steps)
    match_exchange(baseline, candidate, match)
    match_replays(baseline, candidate, match)
    return match


def _pairs(left: Sequence[Segment], right: Sequence[Segment]) -> Iterator[tuple[Segment, Segment]]:
    """Segments that face each other: one to one where their phases agree, else phase by phase."""
    if [segment.phase for segment in left] == [segment.phase for segment in right]:
        yield from zip(left, right, strict=True)
        return
    for phase in ("forward", "backward", "update"):
        sides = [
            Segment(
                phase,
                [item for segment in segments if segment.phase == phase for item in segment.items],
            )
            for segments in (left, right)
        ]
        if all(side.items for side in sides):
            yield sides[0], sides[1]


def _label_backward(
    items: Iterable[Item],
    step: HostStep,
    forward_of: Mapping[int, int],
    labels_of: Mapping[int, frozenset[str]],
) -> None:
    """Give eager backward operators the labels of their forward operators."""
    previous: frozenset[str] = frozenset()
    for item in items:
        if item.unit is None or item.node:
            continue
        unit = step.units[item.unit]
        if unit.backward is None:
            continue
        numbers = [forward_of[n] for n in unit.sequence_numbers if n in forward_of]
        if numbers:
            previous = _forward_labels(numbers[0], step, labels_of)
            item.labels = previous
        elif "AccumulateGrad" in unit.backward:
            item.labels = previous


def _forward_labels(
    unit: int, step: HostStep, labels_of: Mapping[int, frozenset[str]]
) -> frozenset[str]:
    """Labels of a forward operator; of a view that no graph has (`unbind`), those before it."""
    nearest = unit
    while nearest not in labels_of and nearest > 0 and step.units[nearest].common in KERNEL_FREE:
        nearest -= 1
    return labels_of.get(nearest, frozenset((f"unit {unit}",)))


def _match_segment(
    left: Segment,
    right: Segment,
    match: Match,
    labels_of: Labels,
) -> None:
    a, b = left.items, right.items
    shuffled: list[tuple[list[Item], list[Item]]] = []
    if any(item.by_kernel_name or item.library_kernel for item in (*a, *b)):
        shuffled = _shuffled(a, b)
        a, b, frame = _frame(a, b, match, labels_of)
    else:
        frame = []
    pairs = _align_within(a, b, frame, left.phase, match)
    for i, j in pairs:
        tie_items(match, a[i], b[j], _evidence(a[i], b[j]))
        label_items(a[i], b[j], labels_of)
    bounds = [(-1, -1), *pairs, (len(a), len(b))]
    for (i0, j0), (i1, j1) in pairwise(bounds):
        around = [(a[i], b[j]) for i, j in ((i0, j0), (i1, j1)) if 0 <= i < len(a) and j < len(b)]
        between_them = a[i0 + 1 : i1], b[j0 + 1 : j1]
        fill(Gap(*between_them, around, left.phase, match, labels_of, a, (i0, i1)))
    reach_libraries(a, b, match)
    reach(a, b, pairs, match, labels_of)
    if left.phase == "backward":
        reach_lines(a, b, pairs, match, labels_of)
    realign(left.items, right.items, match)
    if left.phase != "update":
        join_neighbours(left.items, right.items, match)
    for operators, kernels in shuffled:
        _doubt_names(operators, kernels, left.phase, match)


def _shuffled(a: Sequence[Item], b: Sequence[Item]) -> list[tuple[list[Item], list[Item]]]:
    """What stands between products of one size whose layers changed places, on either side."""
    between_products = []
    for run in shuffled_runs(a, pairs_by_size(a, b)):
        ends = sorted(i for i, _ in run), sorted(j for _, j in run)
        operators, kernels = a[ends[0][0] : ends[0][-1]], b[ends[1][0] : ends[1][-1]]
        between_products.append((list(operators), [y for y in kernels if y.by_kernel_name]))
    return between_products


def _doubt_names(
    operators: Sequence[Item], kernels: Sequence[Item], phase: Phase, match: Match
) -> None:
    """Among layers that changed places a name is no certainty where another fits as well."""
    tied = {(tie.baseline, tie.candidate) for tie in match.ties if tie.evidence == "kernel name"}
    for x in operators:
        for y in kernels:
            if (x.units, y.units) in tied:
                value = worth(x, y, phase)
                others = [z for z in kernels if z is not y and worth(x, z, phase) == value]
                doubt(match, x, y, ([], others))


def _evidence(a: Item, b: Item) -> Evidence:
    if a.by_kernel_name != b.by_kernel_name:
        return "kernel name"
    return "composite" if {a.op, b.op} in _MADE_OF_PRODUCTS else "operator in order"


def _frame(
    a: Sequence[Item], b: Sequence[Item], match: Match, labels_of: Labels
) -> tuple[list[Item], list[Item], list[tuple[int, int]]]:
    """Tie what agrees in size, and keep what rises in both as the frame of the alignment.

    Returns:
        The items of both sides without those that were tied across the frame, and the frame.
    """
    pairs = pairs_by_size(a, b)
    frame = rising(pairs)
    for (i, j), (k, m) in in_doubt(a, pairs):
        doubt(match, a[i], b[j], ([a[k]], [b[m]]))
        doubt(match, a[k], b[m], ([a[i]], [b[j]]))
    named = parts_by_name(a, b, pairs)
    alone = kernels_by_size(a, b, [*pairs, *named])
    whole = [pair for pair in named if _is_attention(a[pair[0]], b[pair[1]])]
    frame = between(frame, sorted([*alone, *whole]))
    ends = {i for i, _ in frame}, {j for _, j in frame}
    crossing = sorted({*pairs, *named, *alone}.difference(frame))
    for i, j in crossing:
        evidence = _evidence(a[i], b[j])
        tie_items(
            match,
            a[i],
            b[j],
            "operator and shapes" if evidence == "operator in order" else evidence,
        )
        label_items(a[i], b[j], labels_of)
    # A softmax's kernel may have the mask before it in it too.
    fused = {i for i, _ in named if _is_fused(a[i])}, {j for _, j in named if _is_fused(b[j])}
    kept_a = _without({i for i, _ in crossing} - ends[0] - fused[0], a)
    kept_b = _without({j for _, j in crossing} - ends[1] - fused[1], b)
    return (
        [a[i] for i in kept_a],
        [b[j] for j in kept_b],
        [(kept_a[i], kept_b[j]) for i, j in frame],
    )


def _without(gone: Collection[int], items: Sequence[Item]) -> dict[int, int]:
    """Number of an item -> its number among those that stay."""
    stay = (number for number in range(len(items)) if number not in gone)
    return {number: position for position, number in enumerate(stay)}


def _is_attention(a: Item, b: Item) -> bool:
    """One function on both sides, or the softmax of what it was decomposed into."""
    sides = (a, b)
    return all(item.shapes and (item.op == "attention" or _is_fused(item)) for item in sides)


def _is_fused(item: Item) -> bool:
    return item.by_kernel_name and bool(item.inner & SOFTMAX)


def _align_within(
    a: Sequence[Item],
    b: Sequence[Item],
    frame: Sequence[tuple[int, int]],
    phase: Phase,
    match: Match,
) -> list[tuple[int, int]]:
    """The frame, with an alignment between any two neighbours of it."""
    pairs: list[tuple[int, int]] = []
    i0 = j0 = 0
    for i, j in (*frame, (len(a), len(b))):
        pairs.extend((i0 + x, j0 + y) for x, y in _align(a[i0:i], b[j0:j], phase, match))
        if i < len(a):
            pairs.append((i, j))
        i0, j0 = i + 1, j + 1
    return pairs


def _align(
    a: Sequence[Item], b: Sequence[Item], phase: Phase, match: Match
) -> list[tuple[int, int]]:
    """An alignment in which a pointwise chain counts as one operator, and is in one kernel."""
    followers = dict(pointwise_chains(a, b)), dict(pointwise_chains(b, a))
    sides = with_chains(a, followers[0]), with_chains(b, followers[1])
    places = [list(side) for side in sides]
    pairs = [
        (places[0][i], places[1][j])
        for i, j in _align_each(list(sides[0].values()), list(sides[1].values()), phase, match)
    ]
    facing = dict(pairs), {j: i for i, j in pairs}
    pairs += [(i, facing[0][first]) for i, first in followers[0].items() if first in facing[0]]
    pairs += [(facing[1][first], j) for j, first in followers[1].items() if first in facing[1]]
    return sorted(pairs)


def _align_each(
    a: Sequence[Item], b: Sequence[Item], phase: Phase, match: Match
) -> list[tuple[int, int]]:
    def signature(item: Item) -> tuple[object, ...]:
        shapes = item.shapes if item.by_kernel_name else item.shapes[:2]
        return (
            item.op, item.inner, item.fresh, item.labels, shapes, item.extent, item.layouts,
            item.is_part, item.part_of, item.chain,
        )  # fmt: skip

    lefts: dict[tuple[object, ...], int] = {}
    rights: dict[tuple[object, ...], int] = {}
    firsts_a: list[Item] = []
    firsts_b: list[Item] = []
    codes_a = np.zeros(len(a), dtype=np.int32)
    codes_b = np.zeros(len(b), dtype=np.int32)
    for items, numbers, firsts, codes in (
        (a, lefts, firsts_a, codes_a),
        (b, rights, firsts_b, codes_b),
    ):
        for position, item in enumerate(items):
            key = signature(item)
            if key not in numbers:
                numbers[key] = len(firsts)
                firsts.append(item)
            codes[position] = numbers[key]
    table = np.zeros((len(firsts_a), len(firsts_b)), dtype=np.int32)
    # Only items that share a name or a line can match: look these up instead of trying all.
    by_key: dict[str, set[int]] = defaultdict(set)
    for number, item in enumerate(firsts_b):
        for name in _keys(item):
            by_key[name].add(number)
    for number, item in enumerate(firsts_a):
        near: set[int] = set()
        for name in _keys(item):
            near |= by_key.get(name, set())
        for other in near:
            value = worth(item, firsts_b[other], phase)
            if value > 0:
                table[number, other] = value
    pairs = align_codes(codes_a, codes_b, table)
    if any(_by_name_alone(a[i]) or _by_name_alone(b[j]) for i, j in pairs):
        others = alternatives(codes_a, codes_b, table, pairs)
        for (i, j), (also_a, also_b) in zip(pairs, others, strict=True):
            if _by_name_alone(a[i]) or _by_name_alone(b[j]):
                namesakes = (_namesakes(a, i), _namesakes(b, j))
                doubt(
                    match,
                    a[i],
                    b[j],
                    (
                        [*(a[k] for k in also_a), *namesakes[0]],
                        [*(b[k] for k in also_b), *namesakes[1]],
                    ),
                )
    return pairs


def _namesakes(items: Sequence[Item], number: int) -> Iterator[Item]:
    """Generated kernels beside one whose names have the same operators; which does what is open."""
    names = items[number].inner
    if not items[number].by_kernel_name or items[number].shapes:
        return
    for step in (-1, 1):
        other = number + step
        while 0 <= other < len(items) and items[other].by_kernel_name:
            if items[other].inner == names:
                yield items[other]
            other += step


def _by_name_alone(item: Item) -> bool:
    """A kernel without the shapes that would tell it from another of its name."""
    return bool(item.library_kernel) or (item.by_kernel_name and not item.shapes)


def _keys(item: Item) -> Iterator[str]:
    """Two items without a common key are worth nothing to each other."""
    yield item.op
    yield from item.inner
    yield from item.labels
    if item.op in ("matmul", "convolution"):
        yield "matmul or convolution"
    if item.op == "attention":
        yield from SOFTMAX


def _match_optimizers(
    baseline: Program, candidate: Program, match: Match, steps: tuple[HostStep, HostStep]
) -> None:
    """One optimizer step is one group where its kernels run over all parameters at once.

    Inductor's foreach kernels name no nodes, and an eager foreach operator is in all of them.
    """
    done = (
        {unit for tie in match.ties for unit in tie.baseline},
        {unit for tie in match.ties for unit in tie.candidate},
    )
    members = []
    for side, program in enumerate((baseline, candidate)):
        units = steps[side].units
        members.append(
            tuple(
                number
                for number, phase in program.phases.items()
                if phase == "update"
                and (
                    units[number].in_optimizer
                    or _FOREACH.match(units[number].name)
                    or is_engine(units[number].name)  # XLA runs what the optimizer noted down
                    or program.nameless.issuperset((number,))
                )
            )
        )
    if any(set(own) - done[side] for side, own in enumerate(members)) and all(members):
        match.ties.append(Tie(members[0], members[1], "optimizer step"))
