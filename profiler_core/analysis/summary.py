"""One trace in numbers: the keys of `summary` in docs/json.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.device import Device, device_of
from profiler_core.analysis.gpu_time import GpuTime, gpu_time
from profiler_core.analysis.graph_replays.join import ReplayJoin, replayed_calls
from profiler_core.analysis.idle import idle_time
from profiler_core.analysis.kernels import (
    CategoryTotal,
    KernelTotal,
    by_category,
    copies_of,
    kernels_of,
)
from profiler_core.analysis.launches import Launches, launches
from profiler_core.analysis.memory.peak import PeakMemory, peak_memory
from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.recording import TORCH, recorded_by
from profiler_core.analysis.span import IN_TRACE, PER_STEP, Span
from profiler_core.analysis.steps import Step, Window, window_of
from profiler_core.analysis.trace_notes import trace_notes
from profiler_core.analysis.unnamed_code import has_unnamed_code
from profiler_core.model.run import Measurement
from profiler_core.model.trace import KERNEL, MEMCPY, MEMSET, Trace


@dataclass(frozen=True)
class Summary:
    """Totals over the window, ns and bytes; None: cannot be told from this trace (see notes).

    busy_ns + idle_ns == window_ns; the steps' dur_ns sum to window_ns; the categories' n and
    time_ns sum to all device events and device_time_ns. On a CPU run (device_kind "cpu")
    kernels are the outermost operators below the wrappers of compiled regions.
    """

    source: str
    device_kind: Literal["gpu", "cpu"]
    n_events: int
    n_skipped: int
    window: Window
    steps: tuple[Step, ...]
    window_ns: int
    busy_ns: int  # of the busiest device, where there are several
    idle_ns: int
    compute_ns: int
    exposed_communication_ns: int
    exposed_copy_ns: int
    n_kernels: int
    n_memcpy: int | None
    n_memset: int | None
    n_launches: int | None
    n_graph_launches: int | None
    kernel_time_ns: int  # kernels alone; streams may overlap
    device_time_ns: int  # kernels, copies and memsets
    by_category: Mapping[str, CategoryTotal]  # only those that occur, in the order of CATEGORIES
    kernels: tuple[KernelTotal, ...]  # longest first; no copies or memsets
    idle_by_cause_ns: Mapping[str, int] | None
    launch: Launches | None
    memory: PeakMemory
    device: Device
    devices: tuple[GpuTime, ...]  # the busiest first
    notes: tuple[str, ...]  # one sentence for each thing that limits the numbers
    recorded_by: str = TORCH  # or "Nsight Systems"
    n_late_gaps: int = 0  # in which the device waited for a launch
    own_gap_ns: float = 0.0  # from one kernel to the next that waits already
    is_cut: bool = False  # an unknown part of the file is missing: no number is one of a whole run
    critical: CriticalPath | None = None  # of a job of ranks: whose times these are then
    replays: ReplayJoin | None = None  # of graphs, over the whole trace; None: it replays none
    has_unnamed_code: bool = False  # its compiled code's kernels are in no number of it
    copies: tuple[KernelTotal, ...] = ()  # and memsets, by name as `kernels`
    is_graph_capture: bool = False  # what it recorded is the making of graphs, which others replay

    @property
    def n_steps(self) -> int:
        """What "per step" divides by; 1 for a trace without steps."""
        return self.window.n_steps

    def per_step(self, total: float) -> float:
        """A total over the window, divided by its steps."""
        return total / self.n_steps

    @property
    def span(self) -> Span:
        """What `per_step` of it is of: one step, or all of a trace that holds no whole ones."""
        return PER_STEP if self.window.annotated and not self.is_cut else IN_TRACE

    @property
    def profiled_step_ns(self) -> float:
        """The window over its steps, ns: with what the profiler adds."""
        return self.per_step(self.window_ns)

    @property
    def late_work_ns(self) -> float:
        """Of busy_ns, what the late rank of a job works more: the other devices wait meanwhile.

        0 where none is late.
        """
        return self.critical.late_work_ns * self.n_steps if self.critical is not None else 0.0

    @property
    def working_ns(self) -> float:
        """busy_ns without late_work_ns, ns: what pages and the terminal call busy.

        A device that waits in a collective is occupied by it, and does nothing.
        """
        return self.busy_ns - self.late_work_ns

    def unprofiled_scale(self, step_ns: float) -> float:
        """What a duration of this trace is multiplied by to be one of an unprofiled step.

        1 for the work of a GPU, which the profiler does not slow. A CPU's operators it slows as
        much as all of the step: there it is `step_ns` over the profiled step.

        Args:
            step_ns: of an unprofiled step, ns.
        """
        if self.device_kind == "gpu" or not self.window_ns:
            return 1.0
        return step_ns * self.n_steps / self.window_ns

    @property
    def busy_fraction(self) -> float | None:
        """working_ns / window_ns."""
        return self.working_ns / self.window_ns if self.window_ns else None


def summarise(trace: Trace, measurement: Measurement | None = None) -> Summary:
    """Every number of one trace.

    Args:
        trace: a trace of a GPU or of a CPU run; may be empty.
        measurement: of the run that the trace belongs to; its peaks of memory are preferred.
    """
    work = categorise(trace)
    window = window_of(trace, work)
    events_in_steps = work.filter(pl.col("step").is_not_null())
    times = gpu_time(events_in_steps, window)
    busiest = times[0] if times else GpuTime(0, 0, window.dur_ns, 0, 0, 0)
    counts = {cat: events_in_steps.filter(pl.col("cat") == cat) for cat in (KERNEL, MEMCPY, MEMSET)}
    on_gpu = trace.has_device_events
    launch = launches(events_in_steps) if on_gpu and trace.runtime.height else None
    unnamed = has_unnamed_code(trace)
    join = replayed_calls(trace).join
    idle = idle_time(trace, events_in_steps, window, busiest.device) if launch and times else None
    return Summary(
        source=trace.source,
        device_kind="gpu" if on_gpu else "cpu",
        n_events=trace.tally.n_events or trace.n_events,
        n_skipped=trace.tally.n_skipped,
        window=window,
        steps=window.steps,
        window_ns=window.dur_ns,
        busy_ns=busiest.busy_ns,
        idle_ns=busiest.idle_ns,
        compute_ns=busiest.compute_ns,
        exposed_communication_ns=busiest.exposed_communication_ns,
        exposed_copy_ns=busiest.exposed_copy_ns,
        n_kernels=counts[KERNEL].height,
        n_memcpy=counts[MEMCPY].height if on_gpu else None,
        n_memset=counts[MEMSET].height if on_gpu else None,
        n_launches=launch.n_calls if launch else None,
        n_graph_launches=launch.n_graph_calls if launch else None,
        kernel_time_ns=int(counts[KERNEL]["dur_ns"].sum()),
        device_time_ns=int(events_in_steps["dur_ns"].sum()),
        by_category=by_category(events_in_steps),
        kernels=tuple(
            KernelTotal(**row) for row in kernels_of(events_in_steps).iter_rows(named=True)
        ),
        copies=tuple(
            KernelTotal(**row) for row in copies_of(events_in_steps).iter_rows(named=True)
        ),
        idle_by_cause_ns=idle.by_cause_ns if idle else None,
        launch=launch,
        memory=peak_memory(trace, measurement),
        device=device_of(trace, busiest.device if on_gpu else None),
        devices=times,
        notes=trace_notes(trace, window, events_in_steps, times, launch, unnamed=unnamed),
        recorded_by=recorded_by(trace),
        n_late_gaps=idle.n_late if idle else 0,
        own_gap_ns=idle.own_gap_ns if idle else 0.0,
        is_cut=trace.tally.is_cut,
        replays=join if join.n_replays else None,
        has_unnamed_code=unnamed,
        is_graph_capture=join.n_captured_here > trace.device.height,
    )
