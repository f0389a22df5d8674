"""Kinds of kernels as rows: calls and time of each per step, all runs side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.per_step import PerStep
from profiler_core.analysis.side import Side, whole_steps


@dataclass(frozen=True)
class CategoryRow:
    """One kind; (calls, time in ns) per step of each run, zeros where it has none of it."""

    key: str
    label: str
    runs: tuple[tuple[float, float] | None, ...]  # None: the run has no whole trace


def calls_head(label: str) -> str:
    """The head of a column of calls, beside one of times that bears the name of its run alone."""
    return f"calls, {label}"


def category_rows(sides: Sequence[Side]) -> tuple[CategoryRow, ...]:
    """The kinds that at least one run has, in the order of CATEGORIES."""
    steps = [whole_steps(side) for side in sides]
    return tuple(
        CategoryRow(key, label, tuple(_of(step, key) for step in steps))
        for key, label in CATEGORIES.items()
        if any(step is not None and key in step.category_n for step in steps)
    )


def _of(step: PerStep | None, key: str) -> tuple[float, float] | None:
    if step is None:
        return None
    return step.category_n.get(key, 0.0), step.category_time_ns.get(key, 0.0)
