"""An inference server's steps by phase and batch size: what one step costs, and on what.

A kernel is of the step in which the host launched it (or its graph). A step lasts from its begin to
the begin of the next one, the last one to its own end or its last kernel, whichever is later.

A trace may begin while the device still computes the step before, whose launches it does not have:
what is left of that step is of no step here, and the device does not wait meanwhile.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.graph_replays.join import replayed_calls
from profiler_core.analysis.graph_replays.kinds import Kind, server_kinds
from profiler_core.analysis.graph_replays.servers import Phase, ServerStep, server_steps
from profiler_core.analysis.idle import MOST_WAY_NS
from profiler_core.analysis.intervals import union_ns
from profiler_core.analysis.launches import is_graph_launch
from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.work import n_ahead_of_launches
from profiler_core.model.trace import Trace

# An idle server waits for requests: such a pause is no part of a step, beyond this many times the
# step's own range on the host.
_LONGEST_STEP = 3.0
_FIRST_EVENTS = 64  # of a trace, among which one waits for what was launched before it

# How the steps reach the device: as one graph each, as several with calls between, call by call, or
# not all alike.
StartedAs = Literal["replayed", "piecewise", "eager", "differs"]

_ORDER: dict[Phase, int] = {"prefill": 0, "mixed": 1, "decode": 2}

Bucket = tuple[Phase, int | None]  # phase and batch size of equal steps


@dataclass(frozen=True)
class ServerPhase:
    """The steps of one phase and batch size, per step, ns; None: the annotations do not say it."""

    phase: Phase
    batch: int | None  # tokens that a step computes, padded; of SGLang's decode the requests
    n_steps: int
    step_ns: float  # median
    busy_ns: float  # of the device: the union of its intervals
    kernel_ns: float  # sum of durations
    n_kernels: float
    replayed_ns: float  # of kernel_ns: kernels of graphs
    by_category_ns: Mapping[str, float]
    by_kind_ns: Mapping[Kind, float]  # of kernel_ns; the same kernels as a server's parts
    # Between the first and the last kernel of a step: none of its kernels runs.
    gaps_ns: float
    before_ns: float  # the device finishes a step that began before the trace
    started_as: StartedAs
    n_graph_launches: float  # 1: the step is one graph; more: piecewise; 0: eager
    n_launched: float  # kernels and copies that the host launches one by one
    between_ns: float | None  # median: the host, from the end of a step to the begin of the next
    n_tokens: float | None  # that requests asked for, without padding
    padding: float | None  # share of the batch that no request asked for
    tokens_per_s: float | None  # n_tokens / step_ns

    @property
    def bucket(self) -> Bucket:
        """What its steps have in common."""
        return self.phase, self.batch

    @property
    def host_ns(self) -> float:
        """Of a step: the device waits."""
        return max(0.0, self.step_ns - self.busy_ns - self.before_ns)


def server_phases(trace: Trace) -> tuple[ServerPhase, ...]:
    """A row for each phase and batch size, in that order; () for a trace of no server."""
    steps = server_steps(trace)
    if not steps:
        return ()
    work = categorise(trace).select(
        "ts_ns", "dur_ns", "launch_ts_ns", "launch_dur_ns", "category",
        is_replayed=per_name(categorise(trace)["launch_name"], is_graph_launch, pl.Boolean),
        kind=server_kinds(trace),
    )  # fmt: skip
    number, free_ns = step_of_event(steps, work), _free_ns(work)
    work = work.with_columns(step=pl.Series(number, dtype=pl.Int64)).filter(pl.col("step") >= 0)
    of_step = {int(key[0]): rows for key, rows in work.group_by("step", maintain_order=True)}
    rows = [of_step.get(index, work.clear()) for index in range(len(steps))]
    lengths = [_length(steps, index, rows[index]) for index in range(len(steps))]
    before = [
        min(length, max(0, free_ns - step.ts_ns))
        for step, length in zip(steps, lengths, strict=True)
    ]
    pauses = [
        max(0, following.ts_ns - step.end_ns) if following.ts_ns == step.ts_ns + length else None
        for step, following, length in zip(steps, steps[1:], lengths, strict=False)
    ]
    return tuple(
        _phase(
            phase,
            batch,
            [steps[index] for index in indices],
            [rows[index] for index in indices],
            [lengths[index] for index in indices],
            [before[index] for index in indices],
            [pause for index in indices for pause in pauses[index : index + 1]],
        )
        for (phase, batch), indices in steps_by_bucket(trace, steps).items()
    )


def steps_by_bucket(trace: Trace, steps: Sequence[ServerStep]) -> dict[Bucket, list[int]]:
    """Which of a trace's steps have one phase and batch size, in the order of the buckets."""
    sizes = replayed_calls(trace).buckets
    numbers: defaultdict[Bucket, list[int]] = defaultdict(list)
    for index, step in enumerate(steps):
        numbers[step.phase, _padded(step, sizes)].append(index)
    return dict(sorted(numbers.items(), key=lambda item: (_ORDER[item[0][0]], item[0][1] or 0)))


def step_of_launch(steps: Sequence[ServerStep], ts_ns: pl.Series) -> npt.NDArray[np.int64]:
    """The number of the step that lasts at each instant, until the next begins; -1: before all."""
    starts = np.array([step.ts_ns for step in steps], dtype=np.int64)
    return np.searchsorted(starts, ts_ns.to_numpy(), side="right") - 1


def step_of_event(steps: Sequence[ServerStep], work: pl.DataFrame) -> npt.NDArray[np.int64]:
    """The number of the step that launched each device event; -1: one that began before them all.

    Args:
        steps: of a trace.
        work: its `device_work`.
    """
    number = step_of_launch(steps, work["launch_ts_ns"].fill_null(work["ts_ns"]))
    number[: n_ahead_of_launches(work)] = -1
    return number


def _free_ns(work: pl.DataFrame) -> int:
    """When the device has finished what was launched before the trace; 0: there was nothing.

    That work need not be in the trace: no launch is on its way for longer than MOST_WAY_NS. One
    of the first events tells it, where nothing else runs from its launch until it begins: SGLang
    starts a small kernel on another stream before it.
    """
    if work.height == 0:
        return 0
    n_left_over = n_ahead_of_launches(work)
    left_over = work.head(n_left_over)
    last_end_ns = left_over.select((pl.col("ts_ns") + pl.col("dur_ns")).max()).item() or 0
    first_rows = work.slice(n_left_over, _FIRST_EVENTS).select(
        "ts_ns", "dur_ns", launched_ns=pl.col("launch_ts_ns") + pl.col("launch_dur_ns")
    )
    busy_ns = busy_until_ns = 0
    for begin_ns, duration_ns, launched_ns in first_rows.iter_rows():
        is_told = launched_ns is not None and busy_until_ns <= launched_ns
        if is_told and begin_ns - launched_ns > MOST_WAY_NS:
            return int(begin_ns)
        busy_ns += duration_ns
        if busy_ns > MOST_WAY_NS:
            break
        busy_until_ns = max(busy_until_ns, begin_ns + duration_ns)
    return int(last_end_ns)


def _padded(step: ServerStep, sizes: Sequence[int]) -> int | None:
    """The size that a step computes: what it says, of a replayed graph the next one captured."""
    if step.is_padded or step.batch is None or step.phase != "decode":
        return step.batch
    return next((size for size in sizes if size >= step.batch), step.batch)


def _length(steps: Sequence[ServerStep], index: int, rows: pl.DataFrame) -> int:
    """How long a step takes: until the next begins, or the device is done."""
    step = steps[index]
    own = step.end_ns - step.ts_ns
    until = step.end_ns
    if rows.height:
        until = max(until, int((rows["ts_ns"] + rows["dur_ns"]).max()))  # type: ignore[arg-type]
    if index + 1 < len(steps):
        following = steps[index + 1].ts_ns
        if following - step.ts_ns <= _LONGEST_STEP * max(own, until - step.ts_ns):
            return following - step.ts_ns
    return until - step.ts_ns


def _phase(
    phase: Phase,
    batch: int | None,
    steps: Sequence[ServerStep],
    rows: Sequence[pl.DataFrame],
    lengths: Sequence[int],
    before: Sequence[int],
    pauses: Sequence[int | None],
) -> ServerPhase:
    n = len(steps)
    graphs = [frame.filter("is_replayed") for frame in rows]
    between = [pause for pause in pauses if pause is not None]
    step_ns = float(np.median(lengths))
    asked = [step.n_tokens for step in steps if step.n_tokens is not None]
    tokens = sum(asked) / len(asked) if len(asked) == n else None
    return ServerPhase(
        phase=phase,
        batch=batch,
        n_steps=n,
        step_ns=step_ns,
        busy_ns=sum(union_ns(frame) for frame in rows) / n,
        kernel_ns=sum(int(frame["dur_ns"].sum()) for frame in rows) / n,
        n_kernels=sum(frame.height for frame in rows) / n,
        replayed_ns=sum(int(frame["dur_ns"].sum()) for frame in graphs) / n,
        by_category_ns=_sums(rows, "category"),
        by_kind_ns={cast(Kind, name): ns for name, ns in _sums(rows, "kind").items()},
        gaps_ns=sum(_gaps_ns(frame) for frame in rows) / n,
        before_ns=sum(before) / n,
        started_as=_started_as(graphs),
        n_graph_launches=sum(frame["launch_ts_ns"].n_unique() for frame in graphs) / n,
        n_launched=sum(frame.height for frame in rows) / n - sum(f.height for f in graphs) / n,
        between_ns=float(np.median(between)) if between else None,
        n_tokens=tokens,
        padding=_padding(steps, batch),
        tokens_per_s=tokens / step_ns * 1e9 if tokens is not None and step_ns else None,
    )


def _gaps_ns(rows: pl.DataFrame) -> int:
    """How long none of a step's kernels runs, from its first one's begin to its last one's end."""
    if rows.height == 0:
        return 0
    begin, end = rows.select(
        begin=pl.col("ts_ns").min(), end=(pl.col("ts_ns") + pl.col("dur_ns")).max()
    ).row(0)
    return int(end) - int(begin) - union_ns(rows)


def _started_as(graphs: Sequence[pl.DataFrame]) -> StartedAs:
    """By the graph launches of each step."""
    ways: set[StartedAs] = set()
    for frame in graphs:
        n = frame["launch_ts_ns"].n_unique()
        ways.add("eager" if n == 0 else "replayed" if n == 1 else "piecewise")
    return ways.pop() if len(ways) == 1 else "differs"


def _sums(rows: Sequence[pl.DataFrame], column: str) -> dict[str, float]:
    """Device time per step by the values of a column, largest first."""
    sums: Counter[str] = Counter()
    for frame in rows:
        totals = frame.group_by(pl.col(column).cast(pl.String)).agg(pl.col("dur_ns").sum())
        sums.update(dict(totals.iter_rows()))
    return {name: ns / len(rows) for name, ns in sums.most_common()}


def _padding(steps: Sequence[ServerStep], batch: int | None) -> float | None:
    """Share of what is computed that nobody asked for; of tokens or requests, as `batch` counts."""
    counts_tokens = steps[0].server == "vLLM" or steps[0].phase != "decode"
    asked = [step.n_tokens if counts_tokens else step.n_requests for step in steps]
    counts = [count for count in asked if count is not None]
    return 1 - sum(counts) / len(counts) / batch if batch and len(counts) == len(steps) else None
