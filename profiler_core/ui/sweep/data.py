"""From the runs of a sweep to its numbers: the same as on each point's overview."""

from dataclasses import dataclass

from profiler_core.analysis.side import Side
from profiler_core.analysis.sweep.series import PointRuns, Sweep, build_sweep
from profiler_core.store.library import Entry
from profiler_core.store.sweeps import SweepGroup
from profiler_core.ui.reading import run_of


@dataclass(frozen=True)
class ReadSweep:
    """A sweep as far as the files allow, and a sentence for each thing they did not allow."""

    sweep: Sweep
    problems: tuple[str, ...]


def read_sweep(group: SweepGroup) -> ReadSweep:
    """Read the runs of all points; logs that were never read take a moment each.

    Raises:
        BadInput: the runs contradict each other about the sweep they belong to.
    """
    problems: list[str] = []
    points = [
        PointRuns(point.path, tuple(_side(entry, problems) for entry in point.entries))
        for point in group.points
    ]
    return ReadSweep(build_sweep(points), tuple(problems))


def _side(entry: Entry, problems: list[str]) -> Side:
    run = run_of(entry)
    side = run.point
    name = entry.run.name or entry.variant
    problems += [f"{name}: {problem.problem}" for problem in run.unreadable]
    return side
