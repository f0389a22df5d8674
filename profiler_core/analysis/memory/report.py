"""Everything about one run's memory, from as many of its files as there are."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.engines import memory_note
from profiler_core.analysis.memory.allocations import allocations
from profiler_core.analysis.memory.churn import Churn, churn
from profiler_core.analysis.memory.curve import MemoryCurve, memory_curves
from profiler_core.analysis.memory.live import LiveSet, live_at_peak
from profiler_core.analysis.memory.segments import Segments, segments_of
from profiler_core.analysis.memory.snapshot import SnapshotHistory, history_of
from profiler_core.analysis.recording import TORCH, recorded_by
from profiler_core.analysis.span import IN_TRACE, PER_STEP, Span
from profiler_core.analysis.steps import span_of
from profiler_core.analysis.work import host_steps
from profiler_core.model.memory_snapshot import MemorySnapshot
from profiler_core.model.run import Measurement
from profiler_core.model.trace import Trace


@dataclass(frozen=True)
class Peaks:
    """Both peaks of a run, bytes, and where they come from; None: no file says it."""

    reserved_bytes: int | None
    allocated_bytes: int | None
    source: str | None  # in words, for the page
    is_least: bool = False  # of what is left of a cut trace: the run's own peaks are at least these


@dataclass(frozen=True)
class OutsidePools:
    """What lies outside of the private pools of a run that replays CUDA graphs, bytes."""

    made_bytes: int  # by the step, at its allocated peak
    before_bytes: int  # in use since before it
    free_bytes: int  # reserved, not in use


@dataclass(frozen=True)
class MemoryReport:
    """One run. None: see `notes` for why it is not there."""

    peaks: Peaks
    device_bytes: int | None  # memory of the device
    n_steps: int
    curve: MemoryCurve | None = None
    live: LiveSet | None = None
    churn: Churn | None = None
    made: pl.DataFrame | None = None  # `allocations`, for the comparison
    segments: Segments | None = None
    history: SnapshotHistory | None = None
    replays: bool = False  # do its steps replay CUDA graphs, whose pools make no [memory] events?
    is_cut: bool = False  # an unknown part of its trace is missing
    span: Span = PER_STEP  # what `churn` is of
    no_curve: str | None = None  # why there is none along the steps; one of `notes`
    notes: tuple[str, ...] = ()

    @property
    def before_bytes(self) -> int | None:
        """Held at the peak since before the steps: no compiler changes it.

        None on the CPU: Kineto counts there from the profiler's start, so weights are not in it.
        None beside CUDA graphs too: what their pools hold since before is in no event.
        """
        if self.replays or (self.curve is not None and self.curve.is_of_cpu):
            return None
        if self.live is not None:
            return self.live.before_bytes
        return self.history.live.before_bytes if self.history else None

    @property
    def made_by_step_bytes(self) -> int | None:
        """Of the peak of the [memory] events, what the step made; None beside CUDA graphs."""
        if self.live is None or self.replays:
            return None
        return self.live.peak_bytes - self.live.before_bytes

    @property
    def outside_pools(self) -> OutsidePools | None:
        """Beside CUDA graphs what no event tells of their pools a snapshot tells of the rest.

        None: no graph is replayed, no snapshot was taken with the peak reserved, or the trace is
        cut.
        """
        segments = self.segments
        if not self.replays or segments is None or self.is_cut:
            return None
        reserved = self.peaks.reserved_bytes or 0
        free = segments.split_free_bytes + segments.whole_free_bytes
        in_use = reserved - segments.private_bytes - free
        # It was taken after the step: what this made lies in what is free there.
        if self.live is not None:
            made = self.live.peak_bytes - self.live.before_bytes
        else:
            made = max(0, (self.peaks.allocated_bytes or 0) - in_use)
        if segments.reserved_bytes != reserved or made > free:
            return None
        return OutsidePools(made, in_use, free - made)

    @property
    def is_empty(self) -> bool:
        """No file says anything about this run's memory."""
        return self.peaks.source is None and self.curve is None and self.segments is None


def span_beside(reports: Iterable[MemoryReport]) -> Span:
    """What amounts of these runs beside each other are of: one step, where any has whole ones.

    A run whose own span is another one has no such amount there.
    """
    spans = {report.span for report in reports if report.curve or report.live or report.history}
    return PER_STEP if PER_STEP in spans or not spans else IN_TRACE


def memory_report(
    trace: Trace | None,
    stacks: Trace | None = None,
    snapshot: MemorySnapshot | None = None,
    measurement: Measurement | None = None,
) -> MemoryReport:
    """What the files of one run say.

    Args:
        trace: of the timing pass.
        stacks: of the pass with Python stacks; names modules and lines where it has [memory]
            events too. Its sizes are those of the same steps.
        snapshot: of the allocator.
        measurement: its peaks are preferred: they know a CUDA graph's pool.
    """
    # What PyTorch's allocator holds beside an engine says nothing of what the run needs.
    is_measured = trace is not None and memory_note(trace) is None
    curves = memory_curves(trace) if trace is not None and is_measured else ()
    curve = curves[0] if curves else None
    span = PER_STEP if trace is None else span_of(trace)
    n_steps = max(1, host_steps(trace).height) if trace is not None else 1
    made = allocations(trace, curve.device_type, curve.device_id) if trace and curve else None
    is_cut = trace is not None and trace.tally.is_cut
    segments = segments_of(snapshot) if snapshot is not None else ()
    history = history_of(snapshot) if snapshot is not None else None
    return MemoryReport(
        peaks=_peaks(measurement, curve, segments[0] if segments else None, history, is_cut=is_cut),
        device_bytes=_device_bytes(trace),
        n_steps=n_steps,
        curve=curve,
        live=_live(trace, stacks, curve, made),
        # A part of a step is none.
        churn=None if made is None or is_cut else churn(made, n_steps),
        made=made,
        segments=segments[0] if segments else None,
        history=history,
        replays=trace is not None and replays_graphs(trace),
        is_cut=is_cut,
        span=span,
        no_curve=_no_curve(trace, curves),
        notes=tuple(_notes(trace, curves, snapshot, segments, history)),
    )


def _peaks(
    measurement: Measurement | None,
    curve: MemoryCurve | None,
    segments: Segments | None,
    history: SnapshotHistory | None,
    *,
    is_cut: bool,
) -> Peaks:
    if measurement is not None and measurement.peak_reserved_bytes is not None:
        return Peaks(
            measurement.peak_reserved_bytes,
            measurement.peak_allocated_bytes,
            "measured by the allocator over steady steps",
        )
    if curve is not None:
        of = "of the profiled steps" if curve.step_ts_ns else "of the whole trace"
        source = f"the [memory] events {'of what is left of the trace' if is_cut else of}"
        reserved, allocated = curve.peak_reserved_bytes, curve.peak_allocated_bytes
        return Peaks(reserved, allocated, source, is_least=is_cut)
    if measurement is not None and measurement.peak_allocated_bytes is not None:
        return Peaks(None, measurement.peak_allocated_bytes, "measured while the steps ran")
    if measurement is not None and measurement.profiled_peak_reserved_bytes is not None:
        return Peaks(
            measurement.profiled_peak_reserved_bytes,
            measurement.profiled_peak_allocated_bytes,
            "measured by the allocator over the profiled steps",
        )
    if segments is not None:
        return Peaks(
            segments.reserved_bytes,
            history.live.peak_bytes if history else None,
            "the snapshot: reserved when it was taken"
            + (", allocated at the peak of its history" if history else ""),
        )
    return Peaks(None, None, None)


def _live(
    trace: Trace | None, stacks: Trace | None, curve: MemoryCurve | None, made: pl.DataFrame | None
) -> LiveSet | None:
    if stacks is not None:
        with_stacks = memory_curves(stacks)
        alike = curve is None or (with_stacks and with_stacks[0].is_of_cpu == curve.is_of_cpu)
        if with_stacks and alike:
            stack_curve = with_stacks[0]
            return live_at_peak(
                stacks,
                stack_curve,
                allocations(stacks, stack_curve.device_type, stack_curve.device_id),
            )
    if trace is None or curve is None or made is None:
        return None
    return live_at_peak(trace, curve, made)


def _device_bytes(trace: Trace | None) -> int | None:
    devices = trace.metadata.get("deviceProperties") if trace is not None else None
    if not isinstance(devices, list) or not devices or not isinstance(devices[0], dict):
        return None
    size = devices[0].get("totalGlobalMem")
    return size if isinstance(size, int) and size > 0 else None


def _no_curve(trace: Trace | None, curves: tuple[MemoryCurve, ...]) -> str | None:
    """Why there is no curve along the steps, a sentence; None: there is one."""
    if curves:
        return None
    if trace is None:
        return "There is no trace, so no curve along the steps."
    if hidden := memory_note(trace):
        return hidden
    if replays_graphs(trace):
        return (
            "Its steps replay a CUDA graph, and a replay allocates nothing: there are no [memory] "
            "events. What it holds lies in the graph's private pool."
        )
    if recorded_by(trace) != TORCH:
        return (
            f"{recorded_by(trace)} does not record what torch allocates: add a memory snapshot, "
            "or a trace of torch.profiler with profile_memory=True."
        )
    if trace.tally.is_cut:
        return "What is left of the trace has no [memory] events; a whole one may have had some."
    if trace.memory.height:
        return (
            "Its [memory] events say what was allocated and not what was held in all, as torch "
            "wrote them before 1.10: record it with a newer torch to see the curve and the peak."
        )
    return "The trace has no [memory] events: record it with profile_memory=True to see the curve."


def _notes(
    trace: Trace | None,
    curves: tuple[MemoryCurve, ...],
    snapshot: MemorySnapshot | None,
    segments: tuple[Segments, ...],
    history: SnapshotHistory | None,
) -> list[str]:
    """One sentence for each thing that the files do not allow."""
    no_curve = _no_curve(trace, curves)
    notes = [] if no_curve is None else [no_curve]
    on_device = [curve for curve in curves if not curve.is_of_cpu]
    if curves and trace is not None and replays_graphs(trace):
        notes.append(
            "Part of its steps replays a CUDA graph, whose memory lies in a private pool and makes "
            "no [memory] events: the curve shows what is allocated beside it."
        )
    if curves and not on_device:
        notes.append(
            "Measured on the CPU: its allocator has no pool, and only what was allocated while the "
            "profiler ran counts."
        )
    if len(on_device) > 1:
        notes.append(
            f"{len(on_device)} devices have [memory] events; shown is number "
            f"{on_device[0].device_id}, with the highest peak."
        )
    if curves and trace is not None and trace.tally.is_cut:
        notes.append(
            "The trace is cut: the curve covers what is left of it, and what a step allocates is "
            "not known."
        )
    if snapshot is None:
        notes.append(
            "There is no memory snapshot, so no segments, pools or fragmentation: capture without "
            "--no-memory on a GPU, or call torch.cuda.memory._dump_snapshot."
        )
    elif history is None:
        notes.append(
            "The snapshot recorded no allocation: either no history was kept, or the step only "
            "replays a CUDA graph."
        )
    if len(segments) > 1:
        notes.append(
            f"The snapshot has {len(segments)} devices; shown is number {segments[0].device}."
        )
    return notes


def replays_graphs(trace: Trace) -> bool:
    """Do its steps replay CUDA graphs, so that [memory] events are not all that they allocate?"""
    return (
        trace.runtime.filter(pl.col("name").cast(pl.String).str.contains("GraphLaunch")).height > 0
    )
