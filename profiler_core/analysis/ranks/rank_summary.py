"""What is kept of one rank's trace: small enough that thousands fit into one process."""

from collections.abc import Collection
from dataclasses import dataclass
from statistics import median
from typing import Any

import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.gpu_time import gpu_time
from profiler_core.analysis.idle import IdleTime, idle_time
from profiler_core.analysis.ranks.collectives import collective_calls
from profiler_core.analysis.ranks.host_collectives import host_collectives
from profiler_core.analysis.ranks.kernel_times import kernel_times
from profiler_core.analysis.ranks.pipeline import Stage, stage_of
from profiler_core.analysis.ranks.process_groups import ProcessGroup, process_groups
from profiler_core.analysis.ranks.rank_time import StepTime, step_times
from profiler_core.analysis.steps import Window, window_of
from profiler_core.model.trace import KERNEL, Trace

# A launch takes 2 to 20 µs; one that lasts for longer waits until the device has taken others.
_LAUNCH_INTO_FULL_QUEUE_NS = 200_000
# NCCL's watchdog looks at its events from a thread of its own, while the host may sleep.
_LOOKS = ("cudaEventQuery", "cudaThreadExchangeStreamCaptureMode")
_STALL_NS = 2_000_000  # from call to call a host that works needs less, profiled too


@dataclass(frozen=True)
class RankSummary:
    """One rank. `calls` has the columns of `collectives.CALL_SCHEMA`; origin_ns is epoch ns."""

    rank: int
    world_size: int | None
    source: str
    host: str | None
    backend: str | None  # "nccl", "gloo"
    origin_ns: int
    n_events: int
    n_skipped: int
    n_kernels: int
    steps: tuple[StepTime, ...]
    calls: pl.DataFrame
    kernels: pl.DataFrame  # of `kernel_times`
    idle: IdleTime | None  # over all its steps; None: no launch is in the trace
    # Of the host's range of a step, the mean: in all, and without calls that wait for the device.
    host_ns: float = 0.0
    host_busy_ns: float = 0.0
    # Long pauses in which no thread gave the device anything to do, in the median step: one that
    # comes once, such as the profiler's own in its first step, is not one of every step.
    host_stalls_ns: float = 0.0
    problem: str | None = None  # why there is nothing but the name
    mended: tuple[str, ...] = ()  # what was wrong with a file that could be read
    groups: tuple[ProcessGroup, ...] = ()
    stage: Stage | None = None  # of a pipeline
    on_gpu: bool = True  # False: operators and the collectives of gloo's threads, on a CPU


def summarise_rank(trace: Trace, rank: int) -> RankSummary:
    """Reduce a trace to what the job needs of it.

    Args:
        trace: of one rank.
        rank: as its file or its name says.
    """
    described = distributed_info(trace)
    work = categorise(trace)
    window = window_of(trace, work)
    on_host = host_collectives(trace, window, work.schema)
    work = pl.concat([work, on_host])
    steps = step_times(work, window)
    names = [step.name for step in steps]
    # The operator that starts a collective is over long before the collective.
    joining = work if trace.has_device_events else on_host
    return RankSummary(
        rank=rank,
        world_size=whole(described.get("world_size")),
        source=trace.source,
        host=None,
        backend=str(described["backend"]) if described.get("backend") else None,
        origin_ns=trace.origin_ns,
        n_events=trace.n_events,
        n_skipped=trace.tally.n_skipped,
        n_kernels=work.filter(pl.col("cat") == KERNEL, pl.col("step").is_not_null()).height,
        steps=steps,
        calls=collective_calls(trace, joining, names, rank),
        kernels=kernel_times(trace, work, names),
        idle=_idle(trace, work, window),
        host_ns=_host_ns(window) / window.n_steps,
        host_busy_ns=_host_busy_ns(trace, window),
        host_stalls_ns=_host_stalls_ns(trace, window),
        problem=None if trace.has_device_events or on_host.height else no_gpu(trace.tally.repairs),
        mended=tuple(trace.tally.repairs),
        groups=process_groups(trace),
        stage=stage_of(trace, window, rank),
        on_gpu=trace.has_device_events,
    )


def _idle(trace: Trace, work: pl.DataFrame, window: Window) -> IdleTime | None:
    events = work.filter(pl.col("step").is_not_null())
    if not trace.has_device_events or not trace.runtime.height or not events.height:
        return None
    return idle_time(trace, events, window, gpu_time(events, window)[0].device)


def _host_busy_ns(trace: Trace, window: Window) -> float:
    """Per step: the host's range without synchronising calls and launches into a full queue."""
    calls = trace.runtime.filter(
        pl.col("name").cast(pl.String).str.contains("Synchronize")
        | (pl.col("dur_ns") > _LAUNCH_INTO_FULL_QUEUE_NS)
    )
    blocked_ns = sum(_by_step(calls, "dur_ns", window))
    return max(0.0, (_host_ns(window) - blocked_ns) / window.n_steps)


def _host_stalls_ns(trace: Trace, window: Window) -> float:
    """In the median step: pauses of _STALL_NS and more between calls, over all threads.

    0 for a trace without steps, as the host's time is, which is of steps alone.
    """
    if not window.steps:
        return 0.0
    calls = trace.runtime.filter(~pl.col("name").cast(pl.String).is_in(_LOOKS))
    end = (pl.col("ts_ns") + pl.col("dur_ns")).cum_max().shift(1)
    pauses = calls.select("ts_ns", pause=pl.col("ts_ns") - end).filter(pl.col("pause") >= _STALL_NS)
    return median(_by_step(pauses, "pause", window))


def _host_ns(window: Window) -> int:
    return sum(step.host_dur_ns for step in window.steps)


def _by_step(events: pl.DataFrame, column: str, window: Window) -> list[int]:
    """The sums of a column over the events that begin inside the host's range of each step."""
    starts, values = events["ts_ns"].to_numpy(), events[column].to_numpy()
    sums = []
    for step in window.steps:
        inside = (starts >= step.host_ts_ns) & (starts <= step.host_ts_ns + step.host_dur_ns)
        sums.append(int(values[inside].sum()))
    return sums


def no_gpu(repairs: Collection[str]) -> str:
    """Why a trace without GPU events is left out: part of a sentence.

    Args:
        repairs: what was wrong with the file.
    """
    if not repairs:
        return "no GPU events in this trace"
    return f"no GPU events in what could be read of it ({'; '.join(repairs)})"


def distributed_info(trace: Trace) -> dict[str, Any]:
    """Kineto's `distributedInfo`: rank, world_size, backend; empty where it is absent."""
    info = trace.metadata.get("distributedInfo")
    return info if isinstance(info, dict) else {}


def whole(value: object) -> int | None:
    """A number that counts or names ranks, as a file has it; None: it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
