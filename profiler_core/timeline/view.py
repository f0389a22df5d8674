"""What a window of the timeline shows, at the width of the screen.

Where few events lie in a lane it is the events themselves; where many do, or they are too dense
for the screen, the exact share of each pixel's time that each category was busy. Busy time up to an
instant t is `cum[i] + min(t - ts[i], dur[i])` with i the last start before t, so two binary
searches a pixel answer for any number of events: O(pixels x series x log n), no pyramid of
averages.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profiler_core.timeline.index import Index

# Rectangles that a canvas draws in about 3 ms; above it, shares are faster and say more.
MAX_EVENTS = 6_000
MIN_PIXELS, MAX_PIXELS = 16, 8_192
_SPARSE = 8  # pixels of the whole width for each event: such a lane is never too dense


@dataclass(frozen=True)
class View:
    """One window [start_ns, end_ns) of the trace, in `width` pixels.

    Every lane asked for is either in `event_lanes` (all its events that touch the window are in
    `events`) or has its shares; `n_events` counts both kinds.
    """

    start_ns: int
    end_ns: int
    width: int
    n_events: int
    events: NDArray[np.int64]  # indexes into the event columns
    event_lane: NDArray[np.uint16]  # of each of them
    event_lanes: tuple[int, ...]
    series: tuple[tuple[int, int], ...]  # (lane, category) of each row of `shares`
    shares: NDArray[np.uint8]  # (series, width): 255 is busy all the time, >= 1 where any
    count_lanes: tuple[int, ...]  # the lane of each row of `counts`
    counts: NDArray[np.uint32]  # (lanes, width): events that start in the pixel


def view(
    index: Index,
    start_ns: int,
    end_ns: int,
    width: int,
    lanes: Sequence[int] | None = None,
    *,
    max_events: int = MAX_EVENTS,
) -> View:
    """The window [start_ns, end_ns) of the lanes asked for (None: all).

    Args:
        index: of the trace.
        start_ns: on the trace's axis; may lie before its first event.
        end_ns: at least one pixel a nanosecond later, else it is moved.
        width: pixels, cut to [16, 8192].
        lanes: numbers of lanes; unknown ones are left out.
        max_events: more events than this are shown as shares.
    """
    width = max(MIN_PIXELS, min(MAX_PIXELS, width))
    end_ns = max(end_ns, start_ns + width)
    n_lanes = len(index.layout.lanes)
    chosen = range(n_lanes) if lanes is None else [n for n in lanes if 0 <= n < n_lanes]
    ranges = {lane: _touching(index, lane, start_ns, end_ns) for lane in chosen}
    crowded = _crowded(index, ranges, start_ns, end_ns, width)
    drawn = [lane for lane in _drawn_as_events(ranges, width, max_events) if lane not in crowded]

    parts = [np.arange(*ranges[lane], dtype=np.int64) for lane in drawn]
    edges = pixel_edges(start_ns, end_ns, width)
    binned = [lane for lane in ranges if lane not in drawn and ranges[lane][1] > ranges[lane][0]]
    pairs, shares, counts = _shares(index, edges, binned)
    return View(
        start_ns=start_ns,
        end_ns=end_ns,
        width=width,
        n_events=sum(stop - first for first, stop in ranges.values()),
        events=np.concatenate(parts) if parts else np.zeros(0, np.int64),
        event_lane=np.repeat(
            np.array(drawn, np.uint16), np.array([part.size for part in parts], np.int64)
        ),
        event_lanes=tuple(drawn),
        series=tuple(pairs),
        shares=shares,
        count_lanes=tuple(binned),
        counts=counts,
    )


def pixel_edges(start_ns: int, end_ns: int, width: int) -> NDArray[np.int64]:
    """Edges of the pixels: width + 1 whole nanoseconds; pixels differ by at most one in length."""
    return start_ns + np.arange(width + 1, dtype=np.int64) * (end_ns - start_ns) // width


def busy_until(
    index: Index, number: int, at: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Busy ns of series `number` before each instant, and how many of its events began before."""
    series = index.layout.series[number]
    ts = index.series_ts[series.first : series.last]
    # Each series has one sum more than starts, so the sums run ahead by the series' number.
    cum = index.series_cum[series.first + number : series.last + number + 1]
    # Keys must be integers: a float key makes searchsorted copy the whole column.
    n_started = np.searchsorted(ts, at, side="left")
    last = np.maximum(n_started - 1, 0)
    running = np.minimum(at - ts[last], cum[last + 1] - cum[last])
    return np.where(n_started > 0, cum[last] + running, 0), n_started


def _touching(index: Index, lane: int, start_ns: int, end_ns: int) -> tuple[int, int]:
    """[first, stop) of the lane's events that overlap the window, as indexes of event columns."""
    row = index.layout.lanes[lane]
    ts = index.ts[row.first : row.last]
    first, stop = np.searchsorted(ts, np.array([start_ns, end_ns], np.int64)).tolist()
    # Events of a lane do not overlap: of those that began before, only the last can reach in.
    if first > 0 and int(ts[first - 1]) + int(index.dur[row.first + first - 1]) > start_ns:
        first -= 1
    return row.first + first, row.first + stop


def _crowded(
    index: Index, ranges: dict[int, tuple[int, int]], start_ns: int, end_ns: int, width: int
) -> set[int]:
    """Lanes whose events have less than two pixels each, from the first to the last.

    The screen draws no event narrower than a pixel: one after another they would look always busy.
    """
    crowded = set()
    for lane, (first, stop) in ranges.items():
        if stop - first <= width // _SPARSE:
            continue
        begin_ns, last = max(start_ns, int(index.ts[first])), stop - 1
        until_ns = min(end_ns, int(index.ts[last]) + int(index.dur[last]))
        if 2 * (stop - first) * (end_ns - start_ns) > width * (until_ns - begin_ns):
            crowded.add(lane)
    return crowded


def _drawn_as_events(ranges: dict[int, tuple[int, int]], width: int, max_events: int) -> list[int]:
    """All lanes where the window holds few events in all; else those that are sparse."""
    sizes = {lane: stop - first for lane, (first, stop) in ranges.items() if stop > first}
    if sum(sizes.values()) <= max_events:
        return list(sizes)
    drawn: list[int] = []
    n_left = max_events
    for lane, size in sorted(sizes.items(), key=lambda item: item[1]):
        if size > width // _SPARSE or size > n_left:
            break
        drawn.append(lane)
        n_left -= size
    return sorted(drawn)


def _shares(
    index: Index, edges: NDArray[np.int64], lanes: list[int]
) -> tuple[list[tuple[int, int]], NDArray[np.uint8], NDArray[np.uint32]]:
    width = edges.size - 1
    row_of_lane = {lane: number for number, lane in enumerate(lanes)}
    counts = np.zeros((len(lanes), width), np.uint32)
    pairs: list[tuple[int, int]] = []
    rows: list[NDArray[np.uint8]] = []
    per_ns = 255 / np.diff(edges)
    for number, series in enumerate(index.layout.series):
        if series.lane not in row_of_lane:
            continue
        busy, n_started = busy_until(index, number, edges)
        in_pixel = np.diff(busy)
        if not in_pixel.any():
            continue
        # Rounded up to 1/255, so that a pixel with any work never looks idle.
        rows.append(np.minimum(np.ceil(in_pixel * per_ns), 255).astype(np.uint8))
        pairs.append((series.lane, series.category))
        counts[row_of_lane[series.lane]] += np.diff(n_started).astype(np.uint32)
    shares = np.stack(rows) if rows else np.zeros((0, width), np.uint8)
    return pairs, shares, counts
