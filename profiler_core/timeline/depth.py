"""Which row of its track an event is drawn in, so that no two events of a row overlap.

Threads nest (a call inside a call), streams run side by side; each has its own rule.
Arrays are int64 ns, sorted by start, longer events first where starts are equal.
"""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
MAX_DEPTH = 255  # a row number is one byte; deeper events share the last row


def nested_depths(ts: Ints, end: Ints) -> Ints:
    """Rows of a thread: an event lies one row below the innermost event that is still open.

    For properly nested events the depth is the number of open events, which needs one sort;
    events that cross (clocks rounded to microseconds) take a loop, about 1 µs an event.
    """
    if ts.size == 0:
        return np.zeros(0, np.int64)
    # An event without length counts as open for 1 ns: it would otherwise close before it opens.
    closed = np.searchsorted(np.sort(np.maximum(end, ts + 1)), ts, side="right")
    depth: Ints = np.arange(ts.size, dtype=np.int64) - closed
    if not _overlap_in_a_row(ts, end, depth):
        return _cut(depth)
    return _cut(_stacked(ts, end))


def packed_depths(ts: Ints, end: Ints) -> Ints:
    """Rows of a stream: the first row that is free. One row where nothing overlaps."""
    depth = np.zeros(ts.size, np.int64)
    if ts.size < 2:
        return depth
    latest_end = np.maximum.accumulate(end)
    starts_alone = np.concatenate(([True], ts[1:] >= latest_end[:-1]))
    if starts_alone.all():
        return depth
    # Only groups of overlapping events take the loop; the rest stays in row 0.
    ends_alone = np.concatenate((starts_alone[1:], [True]))
    row_ends: list[int] = []
    for i in np.flatnonzero(~(starts_alone & ends_alone)).tolist():
        start = int(ts[i])
        row = next((r for r, busy_until in enumerate(row_ends) if busy_until <= start), None)
        if row is None:
            row = len(row_ends)
            row_ends.append(0)
        row_ends[row] = int(end[i])
        depth[i] = row
    return _cut(depth)


def _cut(depth: Ints) -> Ints:
    result: Ints = np.minimum(depth, MAX_DEPTH)
    return result


def _overlap_in_a_row(ts: Ints, end: Ints, depth: Ints) -> bool:
    order = np.argsort(depth, kind="stable")
    same_row = depth[order][1:] == depth[order][:-1]
    return bool(np.any(same_row & (end[order][:-1] > ts[order][1:])))


def _stacked(ts: Ints, end: Ints) -> Ints:
    depths = np.empty(ts.size, np.int64)
    open_ends: list[int] = []
    for i, (start, stop) in enumerate(zip(ts.tolist(), end.tolist(), strict=True)):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        depths[i] = len(open_ends)
        open_ends.append(stop)
    return depths
