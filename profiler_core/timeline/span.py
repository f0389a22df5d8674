"""What was busy in a span of time: exact, from the index alone, at any number of events."""

from dataclasses import dataclass

import numpy as np

from profiler_core.timeline.index import Index
from profiler_core.timeline.layout import Track
from profiler_core.timeline.view import busy_until


@dataclass(frozen=True)
class SpanRow:
    """One category on one track. Rows of a track add up to its busy time, overlaps twice."""

    track: Track
    category: str
    busy_ns: int  # inside the span; events are cut at its ends
    n_started: int  # events that start inside it

    def share_of(self, length_ns: int) -> float:
        """What part of a span of that length its events take, 1 at the most."""
        return min(1.0, self.busy_ns / length_ns)


def busy_in_span(index: Index, start_ns: int, end_ns: int) -> tuple[SpanRow, ...]:
    """Each stream's categories in [start_ns, end_ns); threads where the trace has no stream."""
    at = np.array([start_ns, end_ns], np.int64)
    tracks = index.layout.tracks
    kind = "stream" if any(track.kind == "stream" for track in tracks) else "thread"
    sums: dict[tuple[int, int], list[int]] = {}
    for number, series in enumerate(index.layout.series):
        track = index.layout.lanes[series.lane].track
        if tracks[track].kind != kind:
            continue
        busy, n_started = busy_until(index, number, at)
        total = sums.setdefault((track, series.category), [0, 0])
        total[0] += int(busy[1] - busy[0])
        total[1] += int(n_started[1] - n_started[0])
    return tuple(
        SpanRow(tracks[track], index.layout.categories[category], busy, n)
        for (track, category), (busy, n) in sorted(
            sums.items(), key=lambda item: (item[0][0], -item[1][0])
        )
        if busy or n
    )
