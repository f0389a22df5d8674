"""Why the device is idle: each gap of the busy union has one cause.

Causes are defined in docs/columns.md, Idle time by cause.

A gap that ends with an event whose launch had returned before it began is the device's own;
where the launch came later the host was late, and what it did until then is the cause.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from profiler_core.analysis.host_activity import host_activities
from profiler_core.analysis.intervals import covered_ns, gaps, merge
from profiler_core.analysis.span import Span, spanned
from profiler_core.analysis.steps import Window
from profiler_core.analysis.threads import thread_axis
from profiler_core.model.trace import Trace

# From kernel to kernel a device needs about 1 µs, in a graph replay too (measured on an H200);
# what is beyond ten times that is no longer the device's own pace.
BETWEEN_KERNELS_NS = 10_000
# No launch is on its way for so long after its call has returned: the device was not free, as with
# the work of a step before the trace, or it was not ready. The host is not to blame for that.
MOST_WAY_NS = 1_000_000
# What a device takes from one kernel to the next that waits already, where a trace has too few
# such gaps to tell its own: measured on an H200.
_USUAL_GAP_NS = 1_200.0
_ENOUGH_GAPS = 20

# Causes in the order in which tables show them, as they follow "idle, most of it".
CAUSES: dict[str, str] = {
    "between_kernels": "between kernels, with the next kernel already queued",
    "launch_latency": "in gaps of more than 10 µs, with the next kernel already launched",
    "dependency": "waiting for another stream, with the next kernel already queued",
    "host_guards": "the start of a compiled region, guards and all else up to its first run",
    "host_between_compiled_calls": "code between two compiled calls of one step",
    "host_compiling": "compiling: tracing, generating and tuning code, recording CUDA graphs",
    "host_synchronisation": "a call that waits for the device",
    "host_data_loader": "the data loader",
    "host_setup": "calls that reserve or free the device's memory, or set the device up",
    "host_launching": "launch calls, and their way to the device",
    "host_other": "other Python or C++ on the launching thread",
    "tail": "after the step's last kernel, up to its end",
    "other": "before kernels whose launch is not in the trace",
}

# The same in a few words, for bars and tables. The start of a compiled region is more than what
# Compilation calls guards and prologue: these are single events in it.
CAUSE_NAMES: dict[str, str] = {
    "between_kernels": "between kernels",
    "launch_latency": "launch latency",
    "dependency": "waiting for another stream",
    "host_guards": "start of compiled regions",
    "host_between_compiled_calls": "between compiled calls",
    "host_compiling": "compiling",
    "host_synchronisation": "synchronising",
    "host_data_loader": "data loader",
    "host_setup": "reserving memory, setting up",
    "host_launching": "launching",
    "host_other": "other work of the host",
    "tail": "end of the step",
    "other": "cause unknown",
    "beyond_profile": "only without the profiler",  # of a timed step alone, see unprofiled_idle
}


def cause_name(cause: str, span: Span) -> str:
    """`CAUSE_NAMES` of amounts that may be of a trace without steps."""
    name = CAUSE_NAMES.get(cause, cause.replace("_", " "))
    return f"end of the {spanned(span)}" if cause == "tail" else name


@dataclass(frozen=True, slots=True)
class IdleTime:
    """Idle time of one device over the window."""

    by_cause_ns: dict[str, int]  # one value for each of CAUSES; they sum to the idle time exactly
    n_late: int  # gaps that ended with a launch that came late
    # From kernel to kernel where the next one waits already: the median. A late launch's gap costs
    # as much, too, where the host is in time: the profiler slows it.
    own_gap_ns: float


_COLUMNS = (
    "ts_ns",
    "dur_ns",
    "device",
    "stream",
    "launch_row",
    "launch_ts_ns",
    "launch_dur_ns",
    "launch_pid",
    "launch_tid",
)


def idle_time(trace: Trace, work: pl.DataFrame, window: Window, device: int | None) -> IdleTime:
    """Idle time of one device by cause.

    Args:
        trace: whose host ranges tell what the host did.
        work: counted device events, from `device_work`.
        window: the gaps are those inside it.
        device: the device's number.
    """
    # Only what is asked for: a row of device work has thirty columns.
    events = work.select(_COLUMNS).filter(pl.col("device").eq_missing(device))
    cuts = [step.ts_ns + step.dur_ns for step in window.steps[:-1]]
    pieces = _without_tails(_gaps_with_launch(events, window), cuts)
    causes = dict.fromkeys(CAUSES, 0)
    causes["tail"] = _total(pieces, "tail_ns")
    pieces = pieces.filter(pl.col("dur_ns") > 0)

    unknown = pl.col("launch_ts_ns").is_null() & ~pl.col("continues")
    causes["tail"] += _total(pieces.filter("ends_window"), "dur_ns")
    pieces = pieces.filter(~pl.col("ends_window"))
    causes["other"] = _total(pieces.filter(unknown), "dur_ns")
    pieces = pieces.filter(~unknown)

    in_time = pl.col("continues") | (pl.col("launch_end_ns") <= pl.col("ts_ns"))
    waited = ~pl.col("continues") & pl.col("other_stream")
    on_device = pieces.filter(in_time)
    causes["dependency"] = _total(on_device.filter(waited), "dur_ns")
    on_pace = on_device.filter(~waited).select(
        "dur_ns", own=pl.col("dur_ns").clip(0, BETWEEN_KERNELS_NS)
    )
    causes["between_kernels"] = _total(on_pace, "own")
    causes["launch_latency"] = _total(on_pace, "dur_ns") - causes["between_kernels"]

    late = pieces.filter(~in_time)
    for cause, ns in _host_causes(trace, late, window, cuts).items():
        causes[cause] += ns
    return IdleTime(causes, late.height, _own_gap_ns(on_pace))


def _own_gap_ns(on_pace: pl.DataFrame) -> float:
    gaps_ns = on_pace.filter(pl.col("dur_ns") <= BETWEEN_KERNELS_NS)["dur_ns"]
    median = gaps_ns.median() if len(gaps_ns) >= _ENOUGH_GAPS else None
    return float(median) if isinstance(median, (int, float)) else _USUAL_GAP_NS


def _gaps_with_launch(events: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Each gap with the launch of the event that ends it."""
    end = pl.col("ts_ns") + pl.col("dur_ns")
    ordered = events
    if not events["ts_ns"].is_sorted():
        ordered = events.sort("ts_ns", maintain_order=True)
    # The stream that ran last before each event: the one of the furthest end so far.
    runs = ordered.select("stream", end=end).with_columns(furthest=pl.col("end").cum_max())
    last_stream = runs.select(
        pl.when(pl.col("end") == pl.col("furthest")).then("stream").forward_fill().shift(1)
    ).to_series()
    details = ordered.select(
        "ts_ns",
        "dur_ns",
        "launch_ts_ns",
        "launch_pid",
        "launch_tid",
        launch_end_ns=pl.col("launch_ts_ns") + pl.col("launch_dur_ns"),
        # Not the first event of its launch: the graph runs on by itself.
        continues=pl.col("launch_row").is_not_null() & ~pl.col("launch_row").is_first_distinct(),
        other_stream=(pl.col("stream") != last_stream).fill_null(value=False),
    )
    return gaps(details, window.start_ns, window.end_ns)


def _without_tails(pieces: pl.DataFrame, cuts: list[int]) -> pl.DataFrame:
    """Cut off what lies before the last end of a step inside a gap: the tail of that step."""
    if not cuts:
        return pieces.with_columns(tail_ns=pl.lit(0, pl.Int64))
    starts, lengths = pieces["ts_ns"].to_numpy(), pieces["dur_ns"].to_numpy()
    at = np.sort(np.array(cuts, dtype=np.int64))
    last = np.searchsorted(at, starts + lengths, side="right") - 1
    tails = np.where(last >= 0, np.maximum(0, at[last] - starts), 0)
    return pieces.with_columns(
        pl.Series("tail_ns", tails),
        pl.Series("ts_ns", starts + tails),
        pl.Series("dur_ns", lengths - tails),
    )


def _host_causes(
    trace: Trace, late: pl.DataFrame, window: Window, cuts: list[int]
) -> dict[str, int]:
    """Split gaps in which the launch was late by what its thread did until it came."""
    end = pl.col("ts_ns") + pl.col("dur_ns")
    late = late.with_columns(until=pl.col("launch_ts_ns").clip(pl.col("ts_ns"), end))
    total = _total(late, "dur_ns")
    # From the start of the launch call on, the gap waits for the call and for nothing else.
    before = late.with_columns(dur_ns=pl.col("until") - pl.col("ts_ns"))
    way = end - pl.max_horizontal("launch_end_ns", "ts_ns")
    queued = int(late.select(way.filter(way > MOST_WAY_NS).sum()).item())
    causes = {
        "launch_latency": queued,
        "host_launching": total - _total(before, "dur_ns") - queued,
    }
    if before.height == 0:
        return causes
    axis = thread_axis(late, window.end_ns)
    spans = axis.place(before.select("ts_ns", "dur_ns", pid="launch_pid", tid="launch_tid")).filter(
        pl.col("end") > pl.col("start")
    )
    starts, ends = spans["start"].sort(), spans["end"].sort()
    explained = pl.DataFrame(schema={"start": pl.Int64, "end": pl.Int64})
    explained_ns = 0
    for activity, instants in host_activities(trace, axis, cuts).items():
        if instants.height == 0:
            continue
        explained = merge(pl.concat([explained, instants]))
        covered = int(covered_ns(explained, ends).sum()) - int(covered_ns(explained, starts).sum())
        cause = f"host_{activity}"
        causes[cause] = causes.get(cause, 0) + covered - explained_ns
        explained_ns = covered
    causes["host_other"] = _total(before, "dur_ns") - explained_ns
    return causes


def _total(frame: pl.DataFrame, column: str) -> int:
    return int(frame[column].sum())
