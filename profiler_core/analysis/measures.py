"""The handful of numbers that matter, of every run of a comparison, each with its definition."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.compare import CandidateComparison, Comparison, Side

Unit = Literal["ns", "bytes", "count", "share", "ratio"]
Judgement = Literal["better", "worse", "same", "unjudged"]

# Counts and peaks repeat exactly from run to run, times nearly; below this a change is no news.
_SAME_WITHIN = 0.02


@dataclass(frozen=True)
class Measure:
    """One number for each run, the baseline first; None: not available."""

    label: str
    definition: str
    unit: Unit
    values: tuple[float | None, ...]
    judgements: tuple[Judgement, ...]  # of the candidates, so one fewer than values

    @property
    def is_known(self) -> bool:
        """At least one run has it."""
        return any(value is not None for value in self.values)

    def change(self, run: int) -> float | None:
        """values[run] / values[0]; None where one is missing or the baseline is zero."""
        mine, base = self.values[run], self.values[0]
        return None if mine is None or not base else mine / base


def measures(comparison: Comparison) -> tuple[Measure, ...]:
    """Every measure that at least one run has, the most important first."""
    sides = (comparison.baseline, *comparison.candidates_sides)
    on_gpu = any(s.summary is not None and s.summary.device_kind == "gpu" for s in sides)
    rows = (_step_times(comparison, sides), *_device(sides, on_gpu), *_cost(comparison, sides))
    return tuple(row for row in rows if row.is_known)
