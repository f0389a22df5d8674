"""A capture of an experiment, read as trials."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.experiment.halving import ratio_of
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.noise import repeated, rounds_of
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.summary import Summary
from profiler_core.capture.launcher import FinishedCapture, FinishedRun
from profiler_core.errors import FusionscopeError
from profiler_core.model.experiment import Gain, Moved, Ratio, Setting, Trial
from profiler_core.model.run import Compiled, Measurement, measurement_of
from profiler_core.session.comparison import Comparison
from profiler_core.session.patched import moved_groups
from profiler_core.session.run import Run


@dataclass(frozen=True)
class Held:
    """A run that trials are held against: its times, and the run itself for the ledger."""

    run: FinishedRun
    measurement: Measurement
    step_ns: float


def held(run: FinishedRun | None) -> Held | None:
    """The run as it was timed; None: it was not."""
    measurement = measurement_of(run.record["measurement"]) if run is not None else None
    step_ns = step_time_ns(measurement)
    if run is None or measurement is None or step_ns is None:
        return None
    return Held(run, measurement, step_ns)


def trial_of(
    setting: Setting,
    variant: str,
    run: FinishedRun,
    baseline: Held | None,
    against: Held | None,
    predicted: Sequence[Gain],
    *,
    on_gpu: bool,
) -> Trial:
    """One setting as it was measured.

    Args:
        setting: what it ran under.
        variant: the same as `capture` takes it.
        run: what the capture left of it.
        baseline: of the capture; None: it was not timed.
        against: what it is held against; None: it was not timed.
        predicted: what findings say of it.
        on_gpu: it computed on a GPU.
    """
    opened = Run.open(run.directory)
    timed = held(run)
    if run.status != "finished" or timed is None:
        return Trial(
            setting=setting,
            variant=variant,
            status="failed",
            error=run.error or "It was not timed.",
            folder=run.directory.name,
            predicted=tuple(predicted),
        )
    is_whole = baseline is None or len(rounds_of(timed.measurement)) >= len(
        rounds_of(baseline.measurement)
    )
    factors = repeated(timed.measurement, on_gpu=on_gpu)
    numerics = opened.record.numerics
    first_call_ns = timed.measurement.first_call_ns
    compiled = timed.measurement.compiled or Compiled()
    return Trial(
        setting=setting,
        variant=variant,
        status="measured" if is_whole else "stopped early",
        folder=run.directory.name,
        n_rounds=len(rounds_of(timed.measurement)),
        step_ns=timed.step_ns,
        step_low_ns=None if factors is None else timed.step_ns * factors[0],
        step_high_ns=None if factors is None else timed.step_ns * factors[1],
        speedup=_ratio(baseline, timed, on_gpu=on_gpu),
        against=_ratio(against, timed, on_gpu=on_gpu),
        first_call_s=None if first_call_ns is None else first_call_ns * 1e-9,
        peak_bytes=_peak_bytes(opened) if is_whole else None,
        n_breaks=_n_breaks(opened),
        numerics=numerics.verdict if numerics is not None else None,
        numerics_reason=numerics.reason if numerics is not None else "",
        predicted=tuple(predicted),
        modules=compiled.modules,
        regions=compiled.regions,
        where=compiled.where,
        calls=compiled.calls,
        is_handed=compiled.is_handed,
        trains=opened.record.spec.get("training"),
        realised_ns=None if against is None else against.step_ns - timed.step_ns,
        moved=_moved(against, timed) if is_whole else (),
    )


def seen(
    finished: FinishedCapture, number: int
) -> tuple[Summary, tuple[Finding, ...], bool | None] | None:
    """What a capture's baseline does, what stands out in one of its candidates, and if they train.

    Args:
        finished: with traces.
        number: of the candidate, from 0.

    Returns:
        None where one of the two has no trace.
    """
    with contextlib.suppress(FusionscopeError):
        runs = [finished.runs[0].directory, finished.runs[number + 1].directory]
        comparison = Comparison.open(runs)
        stands_out = comparison.pairs[0].findings
        trains = comparison.baseline.record.spec.get("training")
        return comparison.baseline.required_summary(), stands_out or (), trains
    return None


def _ratio(reference: Held | None, timed: Held, *, on_gpu: bool) -> Ratio | None:
    if reference is None:
        return None
    return ratio_of(reference.measurement, timed.measurement, on_gpu=on_gpu)


def _peak_bytes(run: Run) -> int | None:
    try:
        memory = run.point.memory
    except FusionscopeError:
        return None
    reserved = memory.peak_reserved_bytes
    return memory.peak_allocated_bytes if reserved is None else reserved


def _n_breaks(run: Run) -> int | None:
    try:
        report = run.compilation
    except FusionscopeError:
        return None
    return None if report is None else len(report.breaks)


def _moved(against: Held | None, timed: Held) -> tuple[Moved, ...]:
    if against is None:
        return ()
    try:
        pair = Comparison.open([against.run.directory, timed.run.directory]).pairs[0]
    except FusionscopeError:
        return ()
    return moved_groups(pair, against.step_ns)
