"""Equal groups as one: "12 × mul + pow + add + tanh". This is the view to show first.

Groups are equal when operators and source lines are: the kernel names of two layers differ by a
suffix (`…_view_4`, `…_view_9`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from profiler_core.analysis.ledger.program import Phase
from profiler_core.analysis.ledger.result import FusionGroup, GroupSide, Kind

_COPIES = ("memcpy", "memset")


@dataclass(frozen=True)
class FoldedGroup:
    """Some equal groups. Times are ns a step, of all of them together.

    With `n_steps` a step is the average one of the whole ledger, so that all groups sum to the
    runs' device time a step; without it a step is one of the group's own class.
    """

    groups: tuple[FusionGroup, ...]
    numbers: tuple[int, ...]  # their places in the ledger
    n_steps: tuple[int, int] | None = None  # of the ledger, either side

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

    @property
    def title(self) -> str:
        """`12 × add + layer_norm`."""
        n = len(self.groups)
        return f"{n} × {self.first.title}" if n > 1 else self.first.title

    @cached_property
    def baseline_ns(self) -> float:
        """Time of the baseline's side, a step."""
        return sum(group.baseline.time_ns / self._steps(group, 0) for group in self.groups)

    @cached_property
    def candidate_ns(self) -> float:
        """Time of the candidate's side, a step."""
        return sum(group.candidate.time_ns / self._steps(group, 1) for group in self.groups)

    @property
    def delta_ns(self) -> float:
        """Below 0: the candidate needs less."""
        return self.candidate_ns - self.baseline_ns

    @cached_property
    def n_kernels(self) -> tuple[float, float]:
        """Kernels of either side, a step; copies and memsets are none."""
        return self._count(0, copies=False), self._count(1, copies=False)

    @cached_property
    def n_copies(self) -> tuple[float, float]:
        """Copies and memsets of either side, a step."""
        return self._count(0, copies=True), self._count(1, copies=True)

    def by_category(self, side: int) -> dict[str, float]:
        """Ns a step by the category of the kernels; 0 the baseline's side, 1 the candidate's."""
        sums: dict[str, float] = {}
        for group in self.groups:
            one: GroupSide = (group.baseline, group.candidate)[side]
            for kernel in one.kernels:
                share = kernel.time_ns / self._steps(group, side)
                sums[kernel.category] = sums.get(kernel.category, 0.0) + share
        return sums

    def _steps(self, group: FusionGroup, side: int) -> int:
        return max(1, (self.n_steps or group.n_steps)[side])

    def _count(self, side: int, *, copies: bool) -> float:
        return sum(
            kernel.n / self._steps(group, side)
            for group in self.groups
            for kernel in (group.baseline, group.candidate)[side].kernels
            if (kernel.category in _COPIES) == copies
        )


def fold(
    groups: Sequence[FusionGroup],
    numbers: Iterable[int] | None = None,
    *,
    n_steps: tuple[int, int] | None = None,
) -> tuple[FoldedGroup, ...]:
    """Equal groups together, the biggest saving first, then what is lost, then what is alike.

    Args:
        groups: of a ledger.
        numbers: which of them; all by default.
        n_steps: of the ledger, either side, to average over; None: over each group's own steps.
    """
    kinds: dict[object, list[int]] = {}
    for number in range(len(groups)) if numbers is None else numbers:
        kinds.setdefault(_likeness(groups[number]), []).append(number)
    folded = [
        FoldedGroup(tuple(groups[number] for number in same), tuple(same), n_steps)
        for same in kinds.values()
    ]
    return tuple(sorted(folded, key=lambda one: one.delta_ns))


def in_program_order(
    groups: Sequence[FusionGroup], *, n_steps: tuple[int, int] | None = None
) -> tuple[FoldedGroup, ...]:
    """Every group by itself, in the order of the program; `n_steps` as in `fold`."""
    order: dict[Phase, int] = {"forward": 0, "backward": 1, "update": 2}
    numbers = sorted(range(len(groups)), key=lambda number: (order[groups[number].phase], number))
    return tuple(FoldedGroup((groups[number],), (number,), n_steps) for number in numbers)


def _likeness(group: FusionGroup) -> object:
    def counts(side: GroupSide, n_steps: int) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((one.op, round(one.n / max(1, n_steps))) for one in side.operators))

    lines = tuple(label for label, _ in group.sources)
    if group.baseline.operators:
        return group.kind, group.phase, lines, counts(group.baseline, group.n_steps[0])
    names = tuple(sorted(one.op.rstrip("0123456789") for one in group.candidate.operators))
    return group.kind, group.phase, lines, names
