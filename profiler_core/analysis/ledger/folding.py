"""Groups of the same operators as one: "12 × mul + pow + add". This is the view to show first.

They come from the same source lines; the kernel names of two layers differ by a suffix
(`…_view_4`, `…_view_9`). Only groups of the same shapes are equal, and "12 ×" one of them; a
network whose tensors change from stage to stage has "16 conv2d, 41.0 to 76.0 µs".
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from profiler_core.analysis.ledger.program import Phase
from profiler_core.analysis.ledger.result import (
    LEAST_SURE_FIRST,
    Confidence,
    FusionGroup,
    GroupSide,
    Kind,
)
from profiler_core.units import format_durations

# Of the longest to the shortest of equal groups: what one shape's kernels differ by where no
# shapes say that they are of one.
_ALIKE = 1.5

Lines = tuple[str, ...]  # "bert.py:151", those that a group comes from


@dataclass(frozen=True)
class FoldedGroup:
    """Groups of the same operators. Times are ns per step of the runs, of all of them together."""

    groups: tuple[FusionGroup, ...]
    numbers: tuple[int, ...]  # their places in the ledger

    @property
    def first(self) -> FusionGroup:
        """The earliest one; it has the names."""
        return self.groups[0]

    @property
    def kind(self) -> Kind:
        """How they count."""
        return self.first.kind

    @property
    def phase(self) -> Phase:
        """Where in the step they are."""
        return self.first.phase

    @cached_property
    def confidences(self) -> dict[Confidence, int]:
        """How many of them are matched with which confidence, the least sure first."""
        numbers = Counter(group.confidence for group in self.groups)
        return {each: numbers[each] for each in LEAST_SURE_FIRST if each in numbers}

    @property
    def title(self) -> str:
        """`12 × add + layer_norm`, as many as a step has; `12 add` where they are not equal."""
        n = self.n_per_step
        times = " × " if self.are_equal else " "
        return f"{n}{times}{self.first.title}" if n > 1 else self.first.title

    @property
    def label(self) -> str:
        """The title, with the times of the single groups where they are not equal."""
        if self.n_per_step < 2 or self.are_equal:
            return self.title
        return f"{self.title}, {format_durations(min(self._times_ns), max(self._times_ns))}"

    @property
    def n_per_step(self) -> int:
        """How many of them a step has."""
        return max(Counter(group.step_class for group in self.groups).values())

    @cached_property
    def are_equal(self) -> bool:
        """Have all of them the same shapes, by the bytes that these demand?

        Where a shape is not known, by their times.
        """
        moved = {self._moved(group) for group in self.groups}
        if None not in moved:
            return len(moved) == 1
        return max(self._times_ns) <= _ALIKE * min(self._times_ns)

    @property
    def _side(self) -> int:
        """Which side's times and shapes tell: the baseline's, which has one kernel an operator."""
        return 0 if self.baseline_ns else 1

    @cached_property
    def _times_ns(self) -> tuple[float, ...]:
        """Of each group alone, in a step that has it."""
        return tuple(
            group.per_own_step((group.baseline, group.candidate)[self._side].time_ns, self._side)
            for group in self.groups
        )

    def _moved(self, group: FusionGroup) -> float | None:
        n_bytes = (group.baseline, group.candidate)[self._side].bytes_moved
        return None if n_bytes is None else round(group.per_own_step(n_bytes, self._side))

    @property
    def occurrence(self) -> str | None:
        """Which steps have them: "in 2 of 4 steps"; None where all steps of the runs have.

        Steps with another sequence of operators are another class, with groups of their own.
        """
        classes = {group.step_class: group.class_steps for group in self.groups}
        parts = []
        for side, n in enumerate(self.first.n_steps):
            own = sum(steps[side] for steps in classes.values())
            if own < n and any((g.baseline, g.candidate)[side].n_events for g in self.groups):
                parts.append(f"{own} of {n}")
        return f"in {' and '.join(dict.fromkeys(parts))} steps" if parts else None

    @property
    def slowest(self) -> int:
        """The place in the ledger of the one that takes most on either side."""
        most = max(
            self.groups, key=lambda group: max(group.baseline_step_ns, group.candidate_step_ns)
        )
        return self.numbers[self.groups.index(most)]

    @cached_property
    def baseline_ns(self) -> float:
        """Time of the baseline's side per step."""
        return sum(group.baseline_step_ns for group in self.groups)

    @cached_property
    def candidate_ns(self) -> float:
        """Time of the candidate's side per step."""
        return sum(group.candidate_step_ns for group in self.groups)

    @property
    def delta_ns(self) -> float:
        """Below 0: the candidate needs less."""
        return self.candidate_ns - self.baseline_ns

    @cached_property
    def n_kernels(self) -> tuple[float, float]:
        """Kernels of either side per step; copies and memsets are none."""
        return self._count(0), self._count(1)

    @cached_property
    def n_copies(self) -> tuple[float, float]:
        """Copies of either side per step, memsets apart."""
        return self._count(0, "memcpy"), self._count(1, "memcpy")

    @cached_property
    def n_memsets(self) -> tuple[float, float]:
        """Memsets of either side per step."""
        return self._count(0, "memset"), self._count(1, "memset")

    def by_category(self, side: int) -> dict[str, float]:
        """Ns per step by the category of the kernels; 0 the baseline's side, 1 the candidate's."""
        sums: dict[str, float] = {}
        for group in self.groups:
            group_side: GroupSide = (group.baseline, group.candidate)[side]
            for kernel in group_side.kernels:
                share = group.per_step(kernel.time_ns, side)
                sums[kernel.category] = sums.get(kernel.category, 0.0) + share
        return sums

    def _count(self, side: int, category: str = "") -> float:
        """Of copies of this category; without one, of all that are kernels."""
        return sum(
            group.per_step(kernel.n, side)
            for group in self.groups
            for kernel in (group.baseline, group.candidate)[side].kernels
            if kernel.is_kernel is not bool(category) and category in ("", kernel.category)
        )


def fold(
    groups: Sequence[FusionGroup], numbers: Iterable[int] | None = None
) -> tuple[FoldedGroup, ...]:
    """Groups of the same operators together: biggest saving first, then losses, then no change.

    Args:
        groups: of a ledger.
        numbers: which of them; all by default.
    """
    kinds: dict[object, dict[Lines, list[int]]] = {}
    for number in range(len(groups)) if numbers is None else numbers:
        group = groups[number]
        lines = tuple(line for line, _ in group.sources)
        kinds.setdefault(_likeness(group), {}).setdefault(lines, []).append(number)
    folded = [
        FoldedGroup(tuple(groups[number] for number in same), tuple(same))
        for by_lines in kinds.values()
        for same in _with_what_all_share(by_lines)
    ]
    return tuple(sorted(folded, key=lambda group: (group.delta_ns, group.numbers)))


def _with_what_all_share(by_lines: Mapping[Lines, list[int]]) -> list[list[int]]:
    """Groups of the same operators by their lines; one that has further lines joins the many.

    The first of equal layers also makes what all of them use, such as a mask.
    """
    joined = {lines: list(numbers) for lines, numbers in by_lines.items()}
    for lines, numbers in by_lines.items():
        many = [
            other
            for other, others in by_lines.items()
            if other and set(other) < set(lines) and len(others) > len(numbers)
        ]
        if many:
            into = max(many, key=lambda other: len(by_lines[other]))
            joined[into] += joined.pop(lines)
    return [sorted(numbers) for numbers in joined.values()]


def in_program_order(groups: Sequence[FusionGroup]) -> tuple[FoldedGroup, ...]:
    """Every group by itself, in the order of the program."""
    order: dict[Phase, int] = {"forward": 0, "backward": 1, "update": 2}
    numbers = sorted(range(len(groups)), key=lambda number: (order[groups[number].phase], number))
    return tuple(FoldedGroup((groups[number],), (number,)) for number in numbers)


def _likeness(group: FusionGroup) -> object:
    """What equal groups have in common, but for their lines."""
    if group.baseline.operators:
        times = sorted((o.op, round(group.per_own_step(o.n, 0))) for o in group.baseline.operators)
        return group.kind, group.phase, tuple(times)
    names = tuple(
        sorted(operator.op.rstrip("0123456789") for operator in group.candidate.operators)
    )
    return group.kind, group.phase, names
