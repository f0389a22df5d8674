"""The metadata of the index (meta.json): tracks, lanes, series, and the version.

A *track* is a stream of a device or a thread of the host. Its rows are *lanes*: within a lane
no two events overlap. A *series* is the events of one category in one lane.
"""

from typing import Literal

import msgspec

VERSION = 3  # raise it whenever an older index would be read wrongly

TrackKind = Literal["stream", "ranges", "thread", "python"]

# The tables of `Trace` that are drawn; an event's `table` column is the index in this tuple.
TABLES = ("device", "gpu_annotations", "ops", "runtime", "annotations", "python")


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """One stream or thread. Its lanes are [first_lane, first_lane + n_lanes)."""

    kind: TrackKind
    label: str
    device: int | None = None
    stream: int | None = None
    pid: int | None = None
    tid: int | None = None
    first_lane: int
    n_lanes: int
    n_events: int
    # Union of its events over the whole trace; of a thread without annotations, and over the steps.
    busy_ns: int
    waiting_ns: int = 0  # of a thread: of that, inside calls that only wait


class Lane(msgspec.Struct, frozen=True, array_like=True):
    """A row: its events are [first, last) of the event columns, sorted by start."""

    track: int
    depth: int
    first: int
    last: int


class Series(msgspec.Struct, frozen=True, array_like=True):
    """One category in one lane: [first, last) of the series columns, sorted by start."""

    lane: int
    category: int
    first: int
    last: int


class StepRange(msgspec.Struct, frozen=True, array_like=True):
    """One profiled step as the host annotated it."""

    name: str  # "ProfilerStep#3"
    ts_ns: int
    end_ns: int


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """meta.json. Times are ns on the trace's own axis (`Trace.origin_ns` is 0)."""

    version: int
    n_events: int
    start_ns: int  # of the first event drawn; 0 where there is none
    end_ns: int
    categories: tuple[str, ...]
    steps: tuple[StepRange, ...]
    tracks: tuple[Track, ...]
    lanes: tuple[Lane, ...]
    series: tuple[Series, ...]
    skipped: dict[str, int]  # of the trace's tally: reason -> events that are not here
    repairs: dict[str, int]  # what was mended in the file -> how often
    sizes: dict[str, int]  # file -> bytes, so that a cut file is noticed on opening
