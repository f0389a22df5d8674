"""What the host did to start device work (docs/columns.md, Launches)."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

_COLUMNS = (
    "ts_ns",
    "dur_ns",
    "device",
    "stream",
    "launch_row",
    "launch_ts_ns",
    "launch_dur_ns",
    "launch_name",
)


@dataclass(frozen=True)
class Launches:
    """Calls that started at least one counted device event, whatever their name.

    n_events_linked + n_events_unlinked is the number of counted device events.
    """

    n_calls: int
    n_graph_calls: int
    by_api: Mapping[str, int]  # calls by name, most frequent first
    call_time_ns: int  # sum of the calls' own durations
    n_events_linked: int
    n_events_unlinked: int  # their launch is not in the trace
    linked_time_fraction: float | None  # share of device time whose launch is known
    delay_median_ns: int | None  # start of a device event - end of its launch call
    delay_p90_ns: int | None
    n_negative_delays: int  # clocks that disagree, or work that began inside its call
    max_queue_length: int  # launched, not yet started; the longest of any stream


def launches(work: pl.DataFrame) -> Launches:
    """Launch statistics of the window.

    A graph launch is one call; the delay of its events is that of the first one.

    Args:
        work: counted device events, from `device_work`.
    """
    events = work.select(*_COLUMNS)  # a row of device work has thirty columns
    linked = events.filter(pl.col("launch_row").is_not_null())
    # Work is sorted by ts_ns, so the first row of a launch is its first event.
    calls = linked.filter(pl.col("launch_row").is_first_distinct())
    by_api = calls.group_by("launch_name").len().with_columns(pl.col("launch_name").cast(pl.String))
    by_api = by_api.sort("len", "launch_name", descending=[True, False])
    names = {name or "unnamed": n for name, n in by_api.iter_rows()}
    delay = (calls["ts_ns"] - calls["launch_ts_ns"] - calls["launch_dur_ns"]).sort()
    total = int(events["dur_ns"].sum())
    return Launches(
        n_calls=calls.height,
        n_graph_calls=sum(n for name, n in names.items() if is_graph_launch(name)),
        by_api=names,
        call_time_ns=int(calls["launch_dur_ns"].sum()),
        n_events_linked=linked.height,
        n_events_unlinked=events.height - linked.height,
        linked_time_fraction=int(linked["dur_ns"].sum()) / total if total else None,
        delay_median_ns=_quantile(delay, 0.5),
        delay_p90_ns=_quantile(delay, 0.9),
        n_negative_delays=int((delay < 0).sum()),
        max_queue_length=_max_queue_length(calls),
    )


def is_graph_launch(name: str) -> bool:
    """cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch …: one call, many device events."""
    return "GraphLaunch" in name


def _quantile(values: pl.Series, fraction: float) -> int | None:
    quantile = values.quantile(fraction, interpolation="nearest")
    return None if quantile is None else int(quantile)


def _max_queue_length(calls: pl.DataFrame) -> int:
    longest = 0
    for stream in calls.select("device", "stream", "launch_ts_ns", "ts_ns").partition_by(
        "device", "stream", include_key=False
    ):
        launched = stream["launch_ts_ns"].sort()
        # Work that seems to start before its call (clocks) leaves the queue when it enters.
        started = stream.select(pl.max_horizontal("ts_ns", "launch_ts_ns")).to_series().sort()
        n_started = started.search_sorted(launched, side="left")
        queued = pl.int_range(1, stream.height + 1, eager=True) - n_started
        longest = max(longest, int(queued.max()))  # type: ignore[arg-type]
    return longest
