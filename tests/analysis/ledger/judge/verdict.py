"""Right, wrong or undecidable: each device event of a pair, by what the two programs compute."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tests.analysis.ledger.judge.programs import Instance, Phase, Program
from tests.analysis.ledger.judge.trace import DeviceEvent

# A stretch between two sure matches is one thing as long as it is short: in operators that take
# time. Where one side has a single one, or a node that is a whole function of its own, that is all
# of the other's: attention as one kernel.
_LONGEST_STRETCH = 6
_LONGEST_DECOMPOSITION = 40
_WHOLE_FUNCTIONS = ("flex_attention", "scaled_dot_product_attention")
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "convolution_backward")


@dataclass
class Verdict:
    """Time of one side in ns, and the largest mistakes."""

    right: int = 0
    wrong: int = 0
    undecidable: int = 0
    left_open: int = 0  # of it, what the ledger itself says that it cannot decide
    merged: int = 0  # right, in a group with other work that it has nothing to do with
    mistakes: Counter[str] = field(default_factory=Counter)
    doubts: Counter[str] = field(default_factory=Counter)  # what is undecidable

    @property
    def total(self) -> int:
        """All of the side's time."""
        return self.right + self.wrong + self.undecidable

    @property
    def decidable(self) -> int:
        """The side's time that is right or wrong."""
        return self.right + self.wrong


def judge(
    programs: tuple[Program, Program],
    groups: tuple[Callable[[DeviceEvent], int | None], ...],
    left_open: tuple[Callable[[DeviceEvent], bool], ...] | None = None,
) -> tuple[Verdict, Verdict]:
    """Compare a ledger with the truth of a step.

    Args:
        programs: of both sides.
        groups: for each side, the ledger's group of a device event; None: it has no such event.
        left_open: for each side, does the ledger itself call the event undecidable?
    """
    for program in programs:
        for _, instances in program.events:
            for instance in instances:
                instance.is_busy = True
    align_programs(*programs)
    facing: tuple[dict[int, list[frozenset[object]]], ...] = (defaultdict(list), defaultdict(list))
    placed: list[list[tuple[DeviceEvent, int, frozenset[object], str]]] = [[], []]
    for side in (0, 1):
        for event, instances in programs[side].events:
            group = groups[side](event)
            if group is None:
                continue
            clusters = frozenset(i.cluster for i in instances if i.cluster is not None)
            facing[side][group].append(clusters)
            title = " + ".join(dict.fromkeys(i.op for i in instances)) or event.name
            placed[side].append((event, group, clusters, title))
    verdicts = (Verdict(), Verdict())
    for side in (0, 1):
        everywhere = {c for every in facing[1 - side].values() for cs in every for c in cs}
        for event, group, clusters, title in placed[side]:
            others = facing[1 - side].get(group, [])
            verdict = verdicts[side]
            label = f"{title[:70]} <- {event.name[:60]}"
            if left_open is not None and left_open[side](event):
                verdict.undecidable += event.dur_ns
                verdict.left_open += event.dur_ns
            elif any(clusters & other for other in others):
                verdict.right += event.dur_ns
            elif not clusters or (others and not any(others)):
                verdict.undecidable += event.dur_ns
                verdict.doubts[label] += event.dur_ns
            elif clusters & everywhere:
                verdict.wrong += event.dur_ns
                verdict.mistakes[label] += event.dur_ns
            elif others:
                verdict.undecidable += event.dur_ns
                verdict.doubts[label] += event.dur_ns
            else:  # the other side computes it nowhere, and the ledger says so
                verdict.right += event.dur_ns
    _merged(placed, verdicts)
    return verdicts


def _merged(
    placed: list[list[tuple[DeviceEvent, int, frozenset[object], str]]],
    verdicts: tuple[Verdict, Verdict],
) -> None:
    """Time beside the largest part of its group: parts share no operator with each other."""
    members: dict[int, list[tuple[int, int, frozenset[object]]]] = defaultdict(list)
    for side in (0, 1):
        for event, group, clusters, _ in placed[side]:
            if clusters:
                members[group].append((side, event.dur_ns, clusters))
    for every in members.values():
        parts: list[tuple[set[object], list[int]]] = []
        for side, time_ns, clusters in every:
            joined, times = set(clusters), [0, 0]
            times[side] = time_ns
            for part in [p for p in parts if p[0] & clusters]:
                parts.remove(part)
                joined |= part[0]
                times = [a + b for a, b in zip(times, part[1], strict=True)]
            parts.append((joined, times))
        parts.sort(key=lambda part: sum(part[1]))
        for _, times in parts[:-1]:
            for side in (0, 1):
                verdicts[side].merged += times[side]


def align_programs(left: Program, right: Program) -> None:
    """Give every instance that faces one of the other side a cluster that both have."""
    for phase in ("forward", "update"):
        a, b = _own(left, phase), _own(right, phase)
        _align(a, b, _same, phase)
    lines = {
        (side, number): instance
        for side, program in enumerate((left, right))
        for instance in program.of("forward")
        for number in instance.numbers
    }
    line_of = {
        (i.cluster, i.op): i.line
        for program in (left, right)
        for i in program.of("forward")
        if i.cluster is not None and i.line
    }
    forward_lines: dict[Instance, str] = {}
    for program in (left, right):
        line = ""
        for instance in program.of("forward"):
            # What the other side does not have (`unbind` of three items) is of the line before it.
            line = line_of.get((instance.cluster, instance.op), "") or instance.line or line
            forward_lines[instance] = line
    blocks = []
    for side, program in enumerate((left, right)):
        for instance in program.of("backward"):
            forward = next((lines[side, n] for n in instance.numbers if (side, n) in lines), None)
            if forward is not None and not instance.line:
                instance.line = forward_lines[forward]
        blocks.append(_blocks(program.of("backward")))
    if all(blocks):
        has_lines = [any(line for line, _ in every) for every in blocks]
        if all(has_lines):
            _align_blocks(*blocks)
        else:
            _align(left.of("backward"), right.of("backward"), _same, "backward")


def _own(program: Program, phase: Phase) -> list[Instance]:
    return [i for i in program.of(phase) if i.op not in ("", "getitem")]


def _same(a: Instance, b: Instance) -> bool:
    if a.op != b.op:
        return False
    if a.is_node and b.is_node and a.line and b.line and a.line != b.line:
        return False
    shared = list(zip(a.shapes[:2], b.shapes[:2], strict=False))
    return all(x == y for x, y in shared)


def _align(
    a: Sequence[Instance], b: Sequence[Instance], same: Callable[[Instance, Instance], bool],
    phase: str,
) -> None:  # fmt: skip
    codes_a, firsts_a = _codes(a, lambda i: (i.op, i.shapes[:2], i.line if i.is_node else ""))
    codes_b, firsts_b = _codes(b, lambda i: (i.op, i.shapes[:2], i.line if i.is_node else ""))
    table = np.array([[same(x, y) for y in firsts_b] for x in firsts_a], dtype=bool)
    pairs = certain_pairs(codes_a, codes_b, table)
    for number, (i, j) in enumerate(pairs):
        a[i].cluster = b[j].cluster = (phase, number)
    bounds = [(-1, -1), *pairs, (len(a), len(b))]
    for number, ((i0, j0), (i1, j1)) in enumerate(pairwise(bounds)):
        lefts, rights = a[i0 + 1 : i1], b[j0 + 1 : j1]
        if lefts and rights and _is_short(lefts, rights):
            for instance in (*lefts, *rights):
                instance.cluster = (phase, "stretch", number)


def _is_short(left: Sequence[Instance], right: Sequence[Instance]) -> bool:
    busy = [sum(instance.is_busy for instance in every) for every in (left, right)]
    is_function = any(i.is_busy and i.op in _WHOLE_FUNCTIONS for i in (*left, *right))
    if min(busy) == 1 or (is_function and min(busy) <= _LONGEST_STRETCH):
        return max(busy) <= _LONGEST_DECOMPOSITION
    return max(busy) <= _LONGEST_STRETCH


def _codes(items, key):
    numbers: dict[object, int] = {}
    firsts = []
    codes = []
    for item in items:
        value = key(item)
        if value not in numbers:
            numbers[value] = len(firsts)
            firsts.append(item)
        codes.append(numbers[value])
    return np.array(codes, dtype=np.int64), firsts


def certain_pairs(a, b, table) -> list[tuple[int, int]]:
    """The matches that every longest common subsequence of two sequences has."""
    n, m = len(a), len(b)
    if not n or not m:
        return []
    gain = table[np.ix_(a, b)].astype(np.int32)
    forward = np.zeros((n + 1, m + 1), dtype=np.int32)
    for i in range(n):
        forward[i + 1, 1:] = np.maximum(forward[i, 1:], forward[i, :-1] + gain[i])
        forward[i + 1] = np.maximum.accumulate(forward[i + 1])
    backward = np.zeros((n + 1, m + 1), dtype=np.int32)
    for i in range(n - 1, -1, -1):
        backward[i, :-1] = np.maximum(backward[i + 1, :-1], backward[i + 1, 1:] + gain[i])
        backward[i] = np.maximum.accumulate(backward[i][::-1])[::-1]
    best = forward[n, m]
    through = (forward[:-1, :-1] + gain + backward[1:, 1:] == best) & (gain > 0)
    pairs = []
    for i in range(n):
        options = np.flatnonzero(through[i])
        skipped = int((forward[i] + backward[i + 1]).max())
        if options.size == 1 and skipped < best:
            pairs.append((i, int(options[0])))
    return pairs


def _blocks(instances: Sequence[Instance]) -> list[tuple[str, list[Instance]]]:
    """Runs of one source line; what has none goes with what is before it."""
    blocks: list[tuple[str, list[Instance]]] = []
    for instance in instances:
        if blocks and (not instance.line or instance.line == blocks[-1][0]):
            blocks[-1][1].append(instance)
        else:
            blocks.append((instance.line, [instance]))
    return blocks


def _align_blocks(
    left: list[tuple[str, list[Instance]]], right: list[tuple[str, list[Instance]]]
) -> None:
    codes_a, lines_a = _codes([line for line, _ in left], lambda line: line)
    codes_b, lines_b = _codes([line for line, _ in right], lambda line: line)
    table = np.array([[bool(x) and x == y for y in lines_b] for x in lines_a], dtype=bool)
    pairs = certain_pairs(codes_a, codes_b, table)
    for number, (i, j) in enumerate(pairs):
        _products(left[i][1], right[j][1], ("backward", number))
    bounds = [(-1, -1), *pairs, (len(left), len(right))]
    for number, ((i0, j0), (i1, j1)) in enumerate(pairwise(bounds)):
        lefts, rights = left[i0 + 1 : i1], right[j0 + 1 : j1]
        if max(len(lefts), len(rights)) > _LONGEST_STRETCH:
            continue
        for line in {line for line, _ in lefts} & {line for line, _ in rights}:
            # The engine and the scheduler move gradients: only what is of one line is one thing.
            _products(
                [i for own, every in lefts if own == line for i in every],
                [i for own, every in rights if own == line for i in every],
                ("backward", "stretch", number, line),
            )


def _products(left: list[Instance], right: list[Instance], cluster: tuple[object, ...]) -> None:
    """One block: its products face those of equal shapes, the rest is one thing.

    But for the sums of a convolution's bias, by which Inductor writes what they are part of: they
    are the convolution's, the only one of the block.
    """
    seen: tuple[Counter[object], Counter[object]] = (Counter(), Counter())
    for side, every in enumerate((left, right)):
        for instance in every:
            if instance.op in _PRODUCTS:
                seen[side][instance.op, instance.shapes[:2]] += 1
    for every in (left, right):
        for instance in every:
            key = (instance.op, instance.shapes[:2])
            if instance.part_of and instance.part_of <= set(_PRODUCTS):
                of_it = [k for k in seen[0].keys() | seen[1].keys() if k[0] in instance.part_of]
                key = of_it[0] if len(of_it) == 1 else key
            alone = seen[0][key] == seen[1][key] == 1
            instance.cluster = (*cluster, key) if alone else cluster
