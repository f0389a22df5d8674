"""How much of the device's work is replayed from CUDA graphs, and what the rest could gain."""

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.compilation.causes import Cause, cudagraph_cause
from profiler_core.analysis.launches import is_graph_launch, launches
from profiler_core.analysis.step_time import Clock
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.what_if.engine import WhatIf
from profiler_core.analysis.work import device_work, host_steps
from profiler_core.model.compilation import CudaGraphEvent
from profiler_core.model.trace import KERNEL, Trace


@dataclass(frozen=True)
class Stake:
    """One reason why graphs are not captured, and what a step could gain."""

    event: CudaGraphEvent
    cause: Cause
    at_stake_ns: float | None  # per step; None: the reason's graph is not in the trace


@dataclass(frozen=True)
class CudaGraphCoverage:
    """Over the window, per step. launches_saved: events replayed without a launch of their own.

    n_launches are all calls that start device work, those beside the graphs (copies of inputs)
    included; n_graph_launches are those of them that launch a graph.
    """

    n_kernels: float
    n_replayed: float
    kernel_time_ns: float
    replayed_time_ns: float
    n_launches: float
    n_graph_launches: float
    launches_saved: float
    stakes: tuple[Stake, ...]
    clock: Clock

    @property
    def n_launches_without(self) -> float:
        """Launches if each replayed event had one of its own."""
        return self.n_launches + self.launches_saved

    @property
    def kernel_share(self) -> float | None:
        """Share of kernels that are replayed."""
        return self.n_replayed / self.n_kernels if self.n_kernels else None

    @property
    def time_share(self) -> float | None:
        """Share of kernel time that is replayed."""
        return self.replayed_time_ns / self.kernel_time_ns if self.kernel_time_ns else None


def cudagraph_coverage(
    trace: Trace, events: tuple[CudaGraphEvent, ...], unprofiled_step_ns: float | None
) -> CudaGraphCoverage | None:
    """Coverage and stakes; None for a run without a GPU or without steps.

    Args:
        trace: of a compiled run.
        events: what the log says about CUDA graphs; skips and partitions become stakes.
        unprofiled_step_ns: None: the profiled clock.
    """
    n_steps = host_steps(trace).height
    if not trace.has_device_events or n_steps == 0:
        return None
    work = device_work(trace).filter(pl.col("step").is_not_null())
    names = work.select(pl.col("launch_name").drop_nulls().unique())
    graph = names.filter(
        pl.Series(
            [is_graph_launch(n) for n in names["launch_name"].cast(pl.String)], dtype=pl.Boolean
        )
    )
    replayed = work.join(graph, on="launch_name", how="semi")
    kernels, replayed_kernels = (
        work.filter(pl.col("cat") == KERNEL),
        replayed.filter(pl.col("cat") == KERNEL),
    )
    calls = launches(work)
    engine = WhatIf(trace, unprofiled_step_ns)
    called = {call.compile_id for call in engine.scene.calls} if engine.scene else set()
    reasons = [event for event in events if event.kind != "record"]
    return CudaGraphCoverage(
        n_kernels=kernels.height / n_steps,
        n_replayed=replayed_kernels.height / n_steps,
        kernel_time_ns=int(kernels["dur_ns"].sum()) / n_steps,
        replayed_time_ns=int(replayed_kernels["dur_ns"].sum()) / n_steps,
        n_launches=calls.n_calls / n_steps,
        n_graph_launches=calls.n_graph_calls / n_steps,
        launches_saved=(replayed.height - calls.n_graph_calls) / n_steps,
        stakes=tuple(
            Stake(
                event,
                cudagraph_cause(event),
                _at_stake(engine, event, called),
            )
            for event in reasons
        ),
        clock="unprofiled" if unprofiled_step_ns else "profiled",
    )


def _at_stake(engine: WhatIf, event: CudaGraphEvent, calls: Collection[str | None]) -> float | None:
    """A replay is one launch: the host's work inside these calls goes, the device's stays."""
    ids = event.compile_ids
    if not calls or (ids and not set(ids) & set(calls)):
        return None
    saved = engine.saved(Change("graph_replay", compile_ids=ids))
    return None if saved is None else max(0.0, saved.expected_ns)
