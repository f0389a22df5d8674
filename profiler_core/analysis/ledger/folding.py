"""Equal groups as one: "12 × mul + pow + add + tanh". This is the view to show first.

Groups are equal when operators and source lines are: the kernel names of two layers differ by a
suffix (`…_view_4`, `…_view_9`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from profiler_core.analysis.ledger.program import Phase
from profiler_core.analysis.ledger.result import FusionGroup, GroupSide, Kind


@dataclass(frozen=True)
class FoldedGroup:
    """Some equal groups. Times are ns a step, of all of them together."""

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

    @property
    def title(self) -> str:
        """`12 × add + layer_norm`."""
        n = len(self.groups)
        return f"{n} × {self.first.title}" if n > 1 else self.first.title

    @cached_property
    def baseline_ns(self) -> float:
        """Time of the baseline's side, a step."""
        return sum(group.baseline_step_ns for group in self.groups)

    @cached_property
    def candidate_ns(self) -> float:
        """Time of the candidate's side, a step."""
        return sum(group.candidate_step_ns for group in self.groups)

    @property
    def delta_ns(self) -> float:
        """Below 0: the candidate needs less."""
        return self.candidate_ns - self.baseline_ns

    @cached_property
    def n_kernels(self) -> tuple[float, float]:
        """Device events of either side, a step."""
        return (
            sum(group.baseline.n_kernels / max(1, group.n_steps[0]) for group in self.groups),
            sum(group.candidate.n_kernels / max(1, group.n_steps[1]) for group in self.groups),
        )

    def by_category(self, side: int) -> dict[str, float]:
        """Ns a step by the category of the kernels; 0 the baseline's side, 1 the candidate's."""
        sums: dict[str, float] = {}
        for group in self.groups:
            one: GroupSide = (group.baseline, group.candidate)[side]
            for kernel in one.kernels:
                share = kernel.time_ns / max(1, group.n_steps[side])
                sums[kernel.category] = sums.get(kernel.category, 0.0) + share
        return sums


def fold(
    groups: Sequence[FusionGroup], numbers: Iterable[int] | None = None
) -> tuple[FoldedGroup, ...]:
    """Equal groups together, the biggest saving first, then what is lost, then what is alike.

    Args:
        groups: of a ledger.
        numbers: which of them; all by default.
    """
    kinds: dict[object, list[int]] = {}
    for number in range(len(groups)) if numbers is None else numbers:
        kinds.setdefault(_likeness(groups[number]), []).append(number)
    folded = [
        FoldedGroup(tuple(groups[number] for number in same), tuple(same))
        for same in kinds.values()
    ]
    return tuple(sorted(folded, key=lambda one: one.delta_ns))


def in_program_order(groups: Sequence[FusionGroup]) -> tuple[FoldedGroup, ...]:
    """Every group by itself, in the order of the program."""
    order: dict[Phase, int] = {"forward": 0, "backward": 1, "update": 2}
    numbers = sorted(range(len(groups)), key=lambda number: (order[groups[number].phase], number))
    return tuple(FoldedGroup((groups[number],), (number,)) for number in numbers)


def _likeness(group: FusionGroup) -> object:
    def counts(side: GroupSide, n_steps: int) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((one.op, round(one.n / max(1, n_steps))) for one in side.operators))

    lines = tuple(label for label, _ in group.sources)
    if group.baseline.operators:
        return group.kind, group.phase, lines, counts(group.baseline, group.n_steps[0])
    names = tuple(sorted(one.op.rstrip("0123456789") for one in group.candidate.operators))
    return group.kind, group.phase, lines, names
