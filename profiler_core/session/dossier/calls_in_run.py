"""The calls of one name in each run of a comparison: of a kernel, or of copies or memsets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from profiler_core.analysis.dossier.record import TimelineEvent
from profiler_core.analysis.kernel_calls import KernelCalls, kernel_calls
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run


@dataclass(frozen=True)
class CallsInRun:
    """The calls of one name in one run."""

    comparison: Comparison
    number: int  # of the run in the comparison
    calls: KernelCalls

    @classmethod
    def of(cls, comparison: Comparison, number: int, name: str) -> Self:
        """Those that the run's trace has; it has a trace."""
        trace = comparison.runs[number].required_trace()
        return cls(comparison, number, kernel_calls(trace, name))

    @property
    def run(self) -> Run:
        """Whose calls they are."""
        return self.comparison.runs[self.number]

    @property
    def label(self) -> str:
        """Of the run in the comparison."""
        return self.comparison.labels[self.number]

    @property
    def n_steps(self) -> int:
        """What a time per step divides by."""
        summary = self.comparison.sides[self.number].summary
        return summary.n_steps if summary is not None else 1


def longest_calls(runs: Sequence[CallsInRun]) -> tuple[TimelineEvent, ...]:
    """The longest call of each run, as an event on the timeline."""
    return tuple(
        TimelineEvent(each.number, each.label, table, each.run.recorded_row(table, row))
        for each in runs
        if each.calls.longest is not None
        for table, row in [each.calls.longest]
    )
