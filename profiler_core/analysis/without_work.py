"""What a trace holds that has neither kernels nor operators: no number can be made of it."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.recording import recording_of
from profiler_core.analysis.work import device_work
from profiler_core.model.trace import Trace

NO_CATEGORY = "no category"

# Tables that the profiler's own categories go to, and what their rows are.
_KINDS = {
    "ops": "operator that wraps or allocates",
    "annotations": "annotation",
    "gpu_annotations": "annotation",
    "runtime": "runtime call",
    "python": "Python call",
    "memory": "memory event",
    "counters": "counter sample",
}
_SCHEMA = "schemaVersion"  # Kineto heads every trace with it


@dataclass(frozen=True)
class WithoutWork:
    """The events of such a trace."""

    by_profiler: bool  # has it what only the torch profiler writes, or is it another tool's?
    kinds: Mapping[str, int]  # of the profiler's events -> how many, the most frequent first
    categories: Mapping[str, int]  # of all others, as the file calls them; likewise
    is_cut: bool = False  # an unknown part of the file is missing, which may have held work
    missing: tuple[str, ...] = ()  # how to record what it lacks, where another tool made it

    @property
    def n_events(self) -> int:
        """Events of both."""
        return sum(self.kinds.values()) + sum(self.categories.values())


def without_work(trace: Trace) -> WithoutWork | None:
    """What there is instead of kernels and operators; None: there is at least one of these."""
    if device_work(trace).height:
        return None
    kinds: dict[str, int] = {}
    for table, kind in _KINDS.items():
        n = getattr(trace, table).height
        if n:
            kinds[kind] = kinds.get(kind, 0) + n
    recording = recording_of(trace)
    named = trace.other["cat"].cast(pl.String).fill_null(NO_CATEGORY)
    return WithoutWork(
        by_profiler=bool(kinds) or _SCHEMA in trace.metadata or recording is not None,
        kinds=_most_frequent_first(kinds),
        is_cut=trace.tally.is_cut,
        missing=() if recording is None else recording.missing,
        categories=_most_frequent_first(dict(named.value_counts().iter_rows())),
    )


def _most_frequent_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
