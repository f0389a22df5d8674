"""The details of one event: its operator, its launch, its step and its launch arrows."""

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from profiler_core.analysis.graph_replays.launched import captured_call
from profiler_core.analysis.source_lines import source_lines
from profiler_core.analysis.work import device_work, host_steps, launched_after
from profiler_core.model.trace import Trace
from profiler_core.timeline.index import Index
from profiler_core.timeline.layout import StepRange, Track

# Arrows drawn from one call; a graph launch has hundreds of kernels, and more than this many
# lines are a smear.
MAX_LINKS = 200
_SHAPES = ("name", "input_dims", "input_types")

# Why a device event counts in no step: its launch is not in the trace, or outside of all steps.
Uncounted = Literal["launched before the trace", "launched before the steps", "launched after"]


@dataclass(frozen=True)
class Link:
    """An arrow from the end of a launch call to the start of what it launched."""

    from_lane: int
    from_ns: int
    to_lane: int
    to_ns: int


@dataclass(frozen=True)
class Event:
    """One event with its joined rows. None: not in the trace, or not defined for this kind."""

    table: str  # one of layout.TABLES
    row: int  # of that table
    lane: int
    name: str
    category: str
    ts_ns: int
    dur_ns: int
    track: Track
    step: StepRange | None  # of a device event the one it is counted in; else the one around it
    uncounted: Uncounted | None  # of a device event that is in no total
    launch_name: str | None
    launch_delay_ns: int | None  # start - end of the launch call; negative: it overlapped
    operators: tuple[str, ...]  # around the launch (or the event itself), outermost first
    shapes_of: str | None  # the innermost operator that has shapes
    input_dims: str | None  # its own, as in the trace
    input_types: str | None
    annotation: str | None  # of a graph's node, as the program marked it
    source_lines: tuple[str, ...]  # that Inductor compiled it from, innermost of each stack
    grid: str | None
    block: str | None
    registers_per_thread: int | None
    shared_memory_bytes: int | None
    occupancy_pct: float | None
    bytes: int | None  # memcpy and memset
    n_launched: int | None  # device events that this call of the host started
    launched_ns: int | None  # their durations added up
    links: tuple[Link, ...]

    @property
    def start_in_step_ns(self) -> int | None:
        """From the start of its step on the host."""
        return None if self.step is None else self.ts_ns - self.step.ts_ns


def event(trace: Trace, index: Index, table: str, row: int) -> Event | None:
    """The event in this row of this table; None where there is none. Some ms at 5 M events."""
    position = index.position(table, row)
    if position is None:
        return None
    facts = getattr(trace, table).row(row, named=True)
    lane = index.lane_of(position)
    track = index.layout.tracks[index.layout.lanes[lane].track]
    ts_ns, dur_ns = int(index.ts[position]), int(index.dur[position])
    launch, launched = None, None
    if table == "device":
        launch = _launch_of(trace, facts["correlation"])
    elif track.kind == "thread":
        launched = _launched_in(trace, track, ts_ns, ts_ns + dur_ns, facts.get("correlation"))
    moment = launch if launch is not None else {**facts, "ts_ns": ts_ns}
    step, uncounted = _counted(trace, index, row) if table == "device" else (None, None)
    captured = captured_call(trace, row) if table == "device" else None
    host, around = (trace, moment) if captured is None else (captured.host, captured.call)
    operators = _operators_at(host, around) if table in ("device", "runtime", "ops") else None
    described = _innermost_with_shapes(host, {**facts, **around}, operators, table)
    return Event(
        table=table,
        row=row,
        lane=lane,
        name=index.name_text(int(index.name[position])),
        category=index.layout.categories[int(index.category[position])],
        ts_ns=ts_ns,
        dur_ns=dur_ns,
        track=track,
        step=step if table == "device" else _step_around(index, table, ts_ns),
        uncounted=uncounted,
        launch_name=None if launch is None else str(launch["name"]),
        launch_delay_ns=(None if launch is None else ts_ns - launch["ts_ns"] - launch["dur_ns"]),
        operators=() if operators is None else tuple(operators["name"].cast(pl.String)),
        shapes_of=described.get("name"),
        input_dims=described.get("input_dims"),
        input_types=described.get("input_types"),
        annotation=facts.get("annotation"),
        source_lines=source_lines(facts.get("stacks")),
        grid=facts.get("grid"),
        block=facts.get("block"),
        registers_per_thread=facts.get("registers_per_thread"),
        shared_memory_bytes=facts.get("shared_memory_bytes"),
        occupancy_pct=facts.get("occupancy_pct"),
        bytes=facts.get("bytes"),
        n_launched=None if launched is None else launched.height,
        launched_ns=None if launched is None else int(launched["dur_ns"].sum()),
        links=_links(index, position, lane, launch, launched),
    )


def _launch_of(trace: Trace, correlation: int | None) -> dict[str, Any] | None:
    """The outermost call with this correlation: a driver call may lie inside a runtime call."""
    if correlation is None:
        return None
    calls = trace.runtime.with_row_index("row").filter(pl.col("correlation") == correlation)
    return calls.row(0, named=True) if calls.height else None


def _launched_in(
    trace: Trace, track: Track, start_ns: int, end_ns: int, correlation: int | None
) -> pl.DataFrame:
    """Device events started by the calls of this thread in this span, with their launches."""
    calls = trace.runtime.with_row_index("launch_row").filter(
        pl.col("correlation") == correlation
        if correlation is not None
        else (
            pl.col("ts_ns").is_between(start_ns, end_ns)
            & (pl.col("tid") == track.tid)
            & pl.col("correlation").is_not_null()
        )
    )
    calls = calls.select(
        "correlation", "launch_row", launch_ts_ns="ts_ns", launch_dur_ns="dur_ns"
    ).unique("correlation", keep="first", maintain_order=True)
    return (
        trace.device.select("correlation", "ts_ns", "dur_ns")
        .with_row_index("row")
        .join(calls, on="correlation", how="inner", maintain_order="left")
    )


def _operators_at(trace: Trace, moment: dict[str, Any]) -> pl.DataFrame:
    """Operators of the thread that were open at this moment, outermost first."""
    at = pl.lit(moment["ts_ns"])
    return (
        trace.ops.filter(
            (pl.col("tid") == pl.lit(moment.get("tid")))
            & (pl.col("ts_ns") <= at)
            & (pl.col("ts_ns") + pl.col("dur_ns") > at)
        )
        .sort("ts_ns", "dur_ns", descending=[False, True], maintain_order=True)
        .select(_SHAPES)
    )


def _innermost_with_shapes(
    trace: Trace, facts: dict[str, Any], operators: pl.DataFrame | None, table: str
) -> dict[str, str]:
    """Name, shapes and types of the operator that the event belongs to."""
    if table == "ops":
        return {key: str(facts[key]) for key in _SHAPES if facts[key] is not None}
    if operators is None:
        return {}
    with_shapes = operators.filter(pl.col("input_dims").is_not_null())
    if not with_shapes.height and facts.get("external_id") is not None:
        with_shapes = trace.ops.filter(pl.col("external_id") == facts["external_id"])
    if not with_shapes.height:
        return {}
    row = with_shapes.row(-1, named=True)
    return {key: str(row[key]) for key in _SHAPES if row[key] is not None}


def _counted(
    trace: Trace, index: Index, row: int
) -> tuple[StepRange, None] | tuple[None, Uncounted | None]:
    """The step that all totals count a device event in, or why they count it in none.

    (None, None): it counts, in a trace without steps.
    """
    work = device_work(trace)
    number, launch_ns = work["step"][row], work["launch_ts_ns"][row]
    if number is not None:
        return (index.layout.steps[number], None) if index.layout.steps else (None, None)
    if launched_after(work, host_steps(trace))[row]:
        return None, "launched after"
    return None, "launched before the trace" if launch_ns is None else "launched before the steps"


def _step_around(index: Index, table: str, moment_ns: int) -> StepRange | None:
    """Of an event of the host; a range of the device may lie in a step that did not launch it."""
    if table == "gpu_annotations":
        return None
    for step in index.layout.steps:
        if step.ts_ns <= moment_ns < step.end_ns:
            return step
    return None


def _links(
    index: Index,
    position: int,
    lane: int,
    launch: dict[str, Any] | None,
    launched: pl.DataFrame | None,
) -> tuple[Link, ...]:
    if launch is not None:
        call = index.position("runtime", launch["row"])
        if call is None:
            return ()
        end = int(index.ts[call]) + int(index.dur[call])
        return (Link(index.lane_of(call), end, lane, int(index.ts[position])),)
    if launched is None:
        return ()
    links: list[Link] = []
    columns = ("row", "ts_ns", "launch_row", "launch_ts_ns", "launch_dur_ns")
    for row, ts_ns, call_row, call_ts, call_dur in launched.select(columns).head(MAX_LINKS).rows():
        target, call = index.position("device", row), index.position("runtime", call_row)
        if target is not None and call is not None:
            links.append(
                Link(index.lane_of(call), call_ts + call_dur, index.lane_of(target), ts_ns)
            )
    return tuple(links)
