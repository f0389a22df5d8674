"""One trace of a baseline and its candidates for Perfetto: aligned, with groups and counters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.work import host_steps
from profiler_core.errors import BadInput, FusionscopeError, NothingToAnalyse
from profiler_core.export.chrome import Event, write_events
from profiler_core.export.counters import (
    earliest_ns,
    memory_counters,
    samples_during,
    telemetry_counters,
)
from profiler_core.export.groups import GroupArguments, Membership, group_flows
from profiler_core.export.run_events import RunEvents, run_events
from profiler_core.model.telemetry import GpuSamples
from profiler_core.model.trace import TABLE_SCHEMAS, Trace
from profiler_core.session.comparison import Comparison

_FLOW_IDS = 2**48  # of fusion groups: above those of launches
_FLOWS_A_LEDGER = 2**32


@dataclass(frozen=True)
class ExportedRun:
    """One run as it was exported. aligned_at_ns: on its trace's own axis."""

    label: str
    pid: int
    aligned_at_ns: int
    n_kernels: int
    kernel_time_ns: int


@dataclass(frozen=True)
class Exported:
    """The written file. `notes`: sentences about what could not be exported."""

    path: Path
    n_events: int
    runs: tuple[ExportedRun, ...]
    notes: tuple[str, ...]


def export_merged(
    comparison: Comparison,
    path: Path,
    *,
    step: int = 0,
    all_samples: bool = False,
) -> Exported:
    """Write all runs beside each other into one file.

    Args:
        comparison: the runs; a baseline alone is allowed.
        path: of the file; one that ends in .gz is compressed.
        step: whole profiled step (0 is the first) at whose start the runs are aligned.
        all_samples: of the GPU, each at its own time; else only those taken around the trace. A
            capture samples seconds before it profiles, which stretches the axis a hundredfold.

    Raises:
        NothingToAnalyse: a run has no trace.
        BadInput: a run has fewer steps, or the file cannot be written.
    """
    labels = comparison.labels
    notes: list[str] = []
    traces = []
    for label, run in zip(labels, comparison.runs, strict=True):
        trace = run.worked_trace
        if trace is None:
            for problem in run.problems("trace"):
                raise problem.error()
            raise NothingToAnalyse(
                f"{label} has no trace to export.",
                remedy="Leave it out, or capture it with the profiled pass.",
            )
        traces.append(trace)
    aligned = [
        _aligned_at(trace, label, step, notes) for trace, label in zip(traces, labels, strict=True)
    ]
    samples = [run.samples.gpus for run in comparison.runs]
    near = [
        sampled
        if all_samples or sampled is None
        else samples_during(sampled, trace, *_extent(trace))
        for sampled, trace in zip(samples, traces, strict=True)
    ]
    notes.extend(
        f"{label}: its GPU was not sampled within a second of its profiled steps."
        for label, gpu_samples in zip(labels, near, strict=True)
        if gpu_samples is not None and not gpu_samples.samples
    )
    ledgers = _ledgers(comparison, notes)
    # The earliest moment of any run becomes 0: before the aligned step lie up to seconds.
    lead_ns = max(
        at - _first_ns(trace, gpu_samples)
        for at, trace, gpu_samples in zip(aligned, traces, near, strict=True)
    )
    runs = [
        RunEvents(
            trace=trace,
            pid=number + 1,
            name=f"{'candidate' if number else 'baseline'} · {label}",
            zero_ns=at - lead_ns,
            groups=GroupArguments(trace, _memberships(ledgers, number), step),
        )
        for number, (trace, label, at) in enumerate(zip(traces, labels, aligned, strict=True))
    ]
    metadata = {
        "made_by": "fusionscope",
        "runs": [run.name for run in runs],
        "aligned_at_us": lead_ns / 1_000,
        "notes": notes,
    }
    n_events = write_events(path, _events(runs, near, ledgers), metadata)
    return Exported(
        path,
        n_events,
        tuple(
            ExportedRun(label, run.pid, at, *_kernels(run.trace))
            for run, label, at in zip(runs, labels, aligned, strict=True)
        ),
        tuple(notes),
    )


def _events(
    runs: Sequence[RunEvents],
    near: Sequence[GpuSamples | None],
    ledgers: Sequence[FusionLedger | None],
) -> Iterator[Event]:
    for run, samples in zip(runs, near, strict=True):
        yield from run_events(run)
        yield from memory_counters(run.trace, run.pid, run.zero_ns)
        if samples is not None:
            zero_ns = run.trace.origin_ns + run.zero_ns
            yield from telemetry_counters(samples, run.pid, zero_ns)
    for number, ledger in enumerate(ledgers):
        if ledger is not None:
            first_id = _FLOW_IDS + number * _FLOWS_A_LEDGER
            yield from group_flows(
                runs[0].groups, runs[number + 1].groups, _suffix(number), first_id
            )


def _ledgers(comparison: Comparison, notes: list[str]) -> list[FusionLedger | None]:
    """One for each candidate; where it fails its kernels carry no group."""
    ledgers: list[FusionLedger | None] = []
    for pair in comparison.pairs:
        ledger = None
        try:
            ledger = pair.ledger
        except FusionscopeError as error:
            notes.append(f"{pair.labels[1]} carries no fusion groups: {error.problem}")
        ledgers.append(ledger)
    return ledgers


def _memberships(ledgers: Sequence[FusionLedger | None], run: int) -> tuple[Membership, ...]:
    """The baseline is in every ledger, a candidate in its own."""
    if run == 0:
        return tuple(
            Membership(ledger, ledger.baseline_group, _suffix(number))
            for number, ledger in enumerate(ledgers)
            if ledger is not None
        )
    ledger = ledgers[run - 1]
    return () if ledger is None else (Membership(ledger, ledger.candidate_group, ""),)


def _suffix(candidate: int) -> str:
    return f"_{candidate + 1}" if candidate else ""


def _aligned_at(trace: Trace, label: str, step: int, notes: list[str]) -> int:
    steps = host_steps(trace)
    if steps.height == 0:
        notes.append(f"{label} has no profiled steps: it is aligned at its first event.")
        return _extent(trace)[0]
    if not 0 <= step < steps.height:
        raise BadInput(
            f"{label} has {steps.height} whole steps, so there is no step {step}.",
            remedy=f"Align at a step from 0 to {steps.height - 1}.",
        )
    return int(steps["ts_ns"][step])


def _extent(trace: Trace) -> tuple[int, int]:
    """First start and last end of what is exported; (0, 0) for an empty trace."""
    starts, ends = [], []
    for table in TABLE_SCHEMAS:
        frame = getattr(trace, table)
        if table in ("other", "collectives", "counters") or frame.height == 0:
            continue
        lasts = (
            frame["ts_ns"] + frame["dur_ns"].fill_null(0) if table != "memory" else frame["ts_ns"]
        )
        starts.append(int(frame["ts_ns"].min()))
        ends.append(int(lasts.max()))
    return (min(starts), max(ends)) if starts else (0, 0)


def _first_ns(trace: Trace, samples: GpuSamples | None) -> int:
    start = _extent(trace)[0]
    if samples is None:
        return start
    return min(start, earliest_ns(samples, trace.origin_ns + start) - trace.origin_ns)


def _kernels(trace: Trace) -> tuple[int, int]:
    kernels = trace.device.filter(trace.device["cat"].cast(str) == "kernel")
    return kernels.height, int(kernels["dur_ns"].sum())
