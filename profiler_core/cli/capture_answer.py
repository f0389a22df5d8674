"""What a capture left, as JSON and as text for the terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from profiler_core.analysis.compilation.by_script import ScriptCompilation, of_record
from profiler_core.analysis.memory.peak import PeakMemory
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.wording.script_compilation import name_with
from profiler_core.answers.encoding import write_json
from profiler_core.answers.record import COMPILE_FAILURE, COMPILED_BY_SCRIPT, Answer, means
from profiler_core.capture.launcher import FinishedCapture, FinishedRun
from profiler_core.cli.table import table
from profiler_core.errors import Cancelled, CaptureFailed, FusionscopeError
from profiler_core.model.run import CompileDiagnosis, measurement_of
from profiler_core.session.run import Run
from profiler_core.units import format_duration, format_peak

_PARTLY = 3  # the exit status where something failed and something did not
_FOLDER = means("the folder of the capture, and how long all of it took", "s")


class CapturedRun(Answer, frozen=True):
    """One variant of a capture."""

    variant: str
    directory: Path
    status: str
    error: str | None
    first_call_ns: int | None
    warm_first_call_ns: int | None
    step_time_ns: Annotated[float | None, means("median over the rounds")]
    n_rounds: int
    peak_reserved_bytes: int | None
    peak_allocated_bytes: Annotated[
        int | None,
        means(
            "both peaks as in [compare](#compare): from the trace where the capture could not "
            "measure them"
        ),
    ]
    numerics: Annotated[str | None, means("`right`, `wrong`, `not comparable`")]
    counters: Annotated[
        Mapping[str, Any] | None,
        means(
            "null where not asked for; else `tool`, `n_kernels`, `n_steps`, `seconds`, and "
            "`problem`: a sentence where there are none"
        ),
    ]
    phase_seconds: Mapping[str, float]
    compiled_by_script: Annotated[ScriptCompilation | None, COMPILED_BY_SCRIPT]
    compile_failure: Annotated[CompileDiagnosis | None, COMPILE_FAILURE]


class CaptureAnswer(Answer, frozen=True):
    """`capture`."""

    capture_id: Annotated[str, _FOLDER]
    directory: Annotated[Path, _FOLDER]
    seconds: Annotated[float, _FOLDER]
    runs: Annotated[tuple[CapturedRun, ...], means("in the order asked for: {keys}")]


def capture_answer(finished: FinishedCapture) -> CaptureAnswer:
    """Of a capture that ended."""
    return CaptureAnswer.of(finished, runs=tuple(map(_captured, finished.runs)))


def _captured(run: FinishedRun) -> CapturedRun:
    measurement: dict[str, Any] = run.record["measurement"]
    return CapturedRun.of(
        run,
        _peak(run),
        first_call_ns=measurement.get("first_call_ns"),
        warm_first_call_ns=measurement.get("warm_first_call_ns"),
        step_time_ns=step_time_ns(measurement_of(measurement)),
        n_rounds=len(measurement.get("rounds", ())),
        numerics=(run.record["numerics"] or {}).get("verdict"),
        counters=measurement.get("counters"),
        phase_seconds=measurement.get("phase_seconds", {}),
        compiled_by_script=of_record(_opened(run).record),
        compile_failure=_opened(run).record.compile_failure,
    )


def capture_text(finished: FinishedCapture) -> str:
    """A table of the variants, their errors, and where the time went."""
    peaks = [_peak(run) for run in finished.runs]
    # On a CPU nothing is reserved; one column says one thing, so that its numbers compare.
    is_reserved = any(peak.peak_reserved_bytes is not None for peak in peaks)
    rows = [
        [
            name_with(run.variant, of_record(_opened(run).record)),
            run.status,
            (run.record["numerics"] or {}).get("verdict", "–"),
            format_duration(step_time_ns(measurement_of(run.record["measurement"]))),
            format_duration(run.record["measurement"].get("first_call_ns")),
            format_duration(run.record["measurement"].get("warm_first_call_ns")),
            format_peak(
                peak.peak_reserved_bytes if is_reserved else peak.peak_allocated_bytes,
                is_least=peak.is_least,
            ),
        ]
        for run, peak in zip(finished.runs, peaks, strict=True)
    ]
    head = ["variant", "status", "answer", "step time", "first call", "warm"]
    head.append("peak memory" if is_reserved else "peak allocated")
    lines = [table(head, rows, n_text=3), *_problems(finished)]
    spent = _seconds_by_phase(finished)
    if spent:
        phases = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in spent.items())
        # Without a total: the page of a job shows this below the time of the whole job, which is
        # more than that of the capture, and both more than the phases.
        lines.append(f"Time of all variants: {phases}")
    return "\n".join([*lines, str(finished.directory)])


def exit_status(runs: Sequence[FinishedRun], all_failed: str) -> int:
    """0, or 3 where something failed and something did not.

    Raises:
        CaptureFailed: everything did, as `all_failed` says.
    """
    failed = [run for run in runs if run.status == "failed"]
    if len(failed) == len(runs):
        raise CaptureFailed(all_failed, remedy="See the errors above.")
    return _PARTLY if failed else 0


def _problems(finished: FinishedCapture) -> list[str]:
    """Errors first, then answers that are not right, then counters that are missing."""
    errors = [f"{run.variant}: {run.error}" for run in finished.runs if run.error]
    wrong = [
        f"{run.variant}: {numerics['reason']}"
        for run in finished.runs
        if (numerics := run.record["numerics"]) and numerics.get("verdict") != "right"
    ]
    uncounted = [
        f"{run.variant}: no hardware counters. {counted['problem']}"
        for run in finished.runs
        if (counted := run.record["measurement"].get("counters")) and counted["problem"]
    ]
    return errors + wrong + uncounted


def _seconds_by_phase(finished: FinishedCapture) -> dict[str, float]:
    """Seconds of all variants together, by phase."""
    spent: dict[str, float] = {}
    for run in finished.runs:
        for phase, seconds in run.record["measurement"].get("phase_seconds", {}).items():
            spent[phase] = spent.get(phase, 0.0) + seconds
    return spent


def _opened(run: FinishedRun) -> Run:
    return Run.open(run.directory)


def _peak(run: FinishedRun) -> PeakMemory:
    """As `compare` says it: measured, else from the trace, which is read only then."""
    try:
        return _opened(run).point.memory
    except FusionscopeError:  # no number is not worth losing what was captured
        return PeakMemory()


def show_captured(finished: FinishedCapture, *, as_json: bool) -> int:
    """Print the result; returns the exit status.

    Raises:
        Cancelled: it was, after what is there has been printed.
        CaptureFailed: no variant could be measured.
    """
    if as_json:
        write_json(capture_answer(finished))
    else:
        print(capture_text(finished))
    if finished.is_cancelled:
        raise Cancelled(
            f"Cancelled; what was measured lies in {finished.directory}.",
            remedy="Start the capture again.",
        )
    return exit_status(finished.runs, f"No variant could be measured ({finished.directory}).")
