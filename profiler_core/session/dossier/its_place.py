"""What one run of a pair does in the place of a CPU's operator that it does not call."""

from collections.abc import Sequence

from profiler_core.analysis.dossier.record import RunTime
from profiler_core.analysis.in_its_place import in_its_place
from profiler_core.analysis.wording.operator import place_about
from profiler_core.session.pair import Pair


def about_its_place(pair: Pair | None, name: str, times: Sequence[RunTime]) -> tuple[str, ...]:
    """A sentence for each run of the pair without the operator; () beside kernels of a GPU.

    Args:
        pair: whose groups tell it; None: the run is alone.
        name: of the operator.
        times: its own, in each run.
    """
    if pair is None or any(run.required_trace().has_device_events for run in pair.runs):
        return ()
    others = in_its_place(pair.ledger.groups).get(name)
    runs = (0, pair.number + 1)
    without = [t.label for t in times if t.run in runs and t.time_ns is None and not t.inside]
    return () if others is None else tuple(place_about(label, others) for label in without)
