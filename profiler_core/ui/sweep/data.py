"""From the runs of a sweep to its numbers: the same as on each point's overview."""

from dataclasses import dataclass

from profiler_core.analysis.compare import Side, make_side
from profiler_core.analysis.compilation.compile_time import compile_time
from profiler_core.analysis.sweep.series import PointRuns, Sweep, build_sweep
from profiler_core.errors import FusionscopeError
from profiler_core.store.library import Entry
from profiler_core.store.sweeps import SweepGroup
from profiler_core.ui.analyses import summary_of
from profiler_core.ui.log_reading import compile_log_of
from profiler_core.ui.reading import read_run


@dataclass(frozen=True)
class SeenSweep:
    """A sweep as far as the files allow, and a sentence for each thing they did not allow."""

    sweep: Sweep
    problems: tuple[str, ...]


def seen_sweep(group: SweepGroup) -> SeenSweep:
    """Read the runs of all points; logs that were never read take a moment each.

    Raises:
        BadInput: the runs contradict each other about the sweep they belong to.
    """
    problems: list[str] = []
    points = [
        PointRuns(point.path, tuple(_side(entry, problems) for entry in point.entries))
        for point in group.points
    ]
    return SeenSweep(build_sweep(points), tuple(problems))


def _side(entry: Entry, problems: list[str]) -> Side:
    run = read_run(entry)
    compiling = None
    try:
        compiling = compile_time(compile_log_of(run))
    except FusionscopeError as error:
        problems.append(f"{entry.run.name or entry.variant}: {error.problem}")
    side = make_side(run, None, compiling=compiling)
    if side.memory.peak_reserved_bytes is not None or run.trace is None:
        return side
    try:  # on a CPU only the trace knows what the allocator held
        return make_side(run, summary_of(entry), compiling=compiling)
    except FusionscopeError as error:
        problems.append(f"{entry.run.name or entry.variant}: {error.problem}")
        return side
