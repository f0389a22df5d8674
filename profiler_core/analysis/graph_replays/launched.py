"""Captures of graphs with the replayed kernels as device events, as if they had launched them.

Then whatever is asked of kernels that the host launches (operator, shapes, module, category) has an
answer for the replayed ones: the analysis is run on the capture, and its answer carried over event
by event. Times stay those of the replay.
"""

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from profiler_core.analysis.graph_replays.join import replayed_calls, sources
from profiler_core.model.trace import DEVICE_SCHEMA, Trace


@dataclass(frozen=True, slots=True)
class LaunchedCapture:
    """One capture. events: event (row of the replaying trace's device), launched (of trace's)."""

    trace: Trace  # its device events are the captured calls, with the kernels that they replayed
    events: pl.DataFrame


@dataclass(frozen=True, slots=True)
class LaunchedCaptures:
    """All captures of a trace that it replays something of."""

    captures: tuple[LaunchedCapture, ...]

    def estimated_size(self) -> int | float:
        """About how many bytes it adds to what the trace holds."""
        own = [frame for c in self.captures for frame in (c.events, c.trace.device)]
        return sum(frame.estimated_size() for frame in own)


def launched_captures(trace: Trace) -> tuple[LaunchedCapture, ...]:
    """The captures whose graphs a trace replays; () where it replays none, or none is at hand."""
    return trace.derived("launched captures", _launched_captures).captures


@dataclass(frozen=True, slots=True)
class CapturedLaunch:
    """The call that a replayed kernel was captured from, as a row of its trace's runtime table."""

    host: Trace
    call: dict[str, Any]


def captured_call(trace: Trace, event: int) -> CapturedLaunch | None:
    """The captured call of one device event; None where it is not replayed, or not joined.

    Args:
        trace: that replays.
        event: row of its device table.
    """
    calls = replayed_calls(trace).calls
    position = calls["event"].search_sorted(event)
    if position >= calls.height or calls["event"][int(position)] != event:
        return None
    _, number, row = calls.row(int(position))
    host = sources(trace)[number]
    return CapturedLaunch(host, host.runtime.row(row, named=True))


def _launched_captures(trace: Trace) -> LaunchedCaptures:
    calls = replayed_calls(trace).calls
    return LaunchedCaptures(
        tuple(
            _launched(trace, source, own)
            for number, source in enumerate(sources(trace))
            if (own := calls.filter(pl.col("source") == number)).height
        )
    )


def _launched(trace: Trace, source: Trace, calls: pl.DataFrame) -> LaunchedCapture:
    """One source, with a device event for each of its calls that a trace replays."""
    replayed = trace.device.with_row_index("event").select(
        "event", "dur_ns", "cat", "name", "device", "grid", "block"
    )
    nodes = (
        calls.join(replayed, on="event", how="left", maintain_order="left")
        .group_by("row", maintain_order=True)
        .agg(
            pl.col("dur_ns").mean().round().cast(pl.Int64),
            *(pl.col(name).first() for name in ("cat", "name", "device", "grid", "block")),
        )
    )
    host = source.runtime.with_row_index("row").select(
        "row", "ts_ns", "correlation", "external_id", stream="tid"
    )
    device = (
        nodes.join(host, on="row", how="left", maintain_order="left")
        .sort("ts_ns", "row", maintain_order=True)
        .with_row_index("launched")
    )
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in DEVICE_SCHEMA.items()
        if name not in device.columns
    ]
    table = device.with_columns(missing).select(
        pl.col(name).cast(dtype) for name, dtype in DEVICE_SCHEMA.items()
    )
    events = calls.join(device.select("row", "launched"), on="row", how="left")
    return LaunchedCapture(
        replace(source, device=table, graph_captures=()), events.select("event", "launched")
    )
