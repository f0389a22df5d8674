"""Links from other pages to one event on the timeline, close enough to see it."""

from profiler_core.analysis.dossier.record import TimelineStep
from profiler_core.analysis.work import host_steps
from profiler_core.model.trace import Trace
from profiler_core.ui.timeline.address import Address, Selected

_TIMES_ITS_LENGTH = 10  # shown on each side of the event
_LEAST_NS = 20_000  # on each side: what stands around a kernel of a microsecond


def link_to_event(trace: Trace, run: int, table: str, row: int) -> dict[str, str]:
    """URL parameters that select an event and show it with its neighbours.

    Args:
        trace: of the run.
        run: its place in the choice, 0 is the baseline.
        table: of the trace.
        row: in that table.
    """
    steps = host_steps(trace)
    window = None
    if steps.height:  # the axis begins where the first step does
        event = getattr(trace, table).row(row, named=True)
        start = event["ts_ns"] - steps["ts_ns"][0]
        end = start + event["dur_ns"]
        margin = max(_TIMES_ITS_LENGTH * event["dur_ns"], _LEAST_NS)
        window = (start - margin, end + margin)
    return Address(window=window, event=Selected(run, table, row)).parameters()


def link_to_step(step: TimelineStep) -> dict[str, str]:
    """URL parameters that show one step of a rank, the whole of it.

    Args:
        step: of a run's job.
    """
    place = Address(step=step.number, window=_around(step.time.dur_ns), rank=(step.run, step.rank))
    return place.parameters()


def _around(dur_ns: int) -> tuple[int, int]:
    """From shortly before the host begins the step; the device ends it later than the host."""
    return -dur_ns // 20, dur_ns + dur_ns // 4
