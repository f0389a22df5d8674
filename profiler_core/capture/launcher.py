"""A capture from beginning to end: lock the device, measure all variants together, check, finish.

There is no torch in this process. Whatever happens to a variant is written into its own run; the
others go on. Whatever happens to the capture, no child is left.
"""

import contextlib
import os
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from profiler_core import home
from profiler_core import run_directory as names
from profiler_core.capture.context import Context
from profiler_core.capture.cores import SharedCores, shared_cores
from profiler_core.capture.counters.tool import counters_tool
from profiler_core.capture.device_lock import device_lock, lock_path
from profiler_core.capture.devices import check_device, device_of, devices_of
from profiler_core.capture.interpreter import Interpreter, default_python, probe
from profiler_core.capture.own_code import check_function
from profiler_core.capture.progress import ProgressLine, ProgressLog
from profiler_core.capture.references import references_of
from profiler_core.capture.rounds import CPU_CAP_SECONDS, RoundPlan, interleave
from profiler_core.capture.run_writer import Heartbeat, write_json
from profiler_core.capture.runs_of import runs_of
from profiler_core.capture.selection import Selection
from profiler_core.capture.spec import BUILT_IN_WORKLOADS, TIMING_CAP_SECONDS, CaptureSpec
from profiler_core.capture.stopping import full_disk_is_told, stop_all
from profiler_core.capture.sweep.points import Point
from profiler_core.capture.telemetry.host_load import HostLoadWatch
from profiler_core.capture.telemetry.sampler import WHILE_TIMED_PERIOD_S
from profiler_core.capture.telemetry.sampling import telemetry_of
from profiler_core.capture.variant_run import VariantRun
from profiler_core.capture.versions import Version, named_version, versions_of
from profiler_core.errors import Cancelled, CaptureFailed

PROGRESS = "progress.jsonl"
_CHANCE_BYTES = 4  # of an id: nobody records a run by it before it comes home


@dataclass(frozen=True)
class FinishedRun:
    """One variant's end. status: finished, failed or cancelled."""

    variant: str
    directory: Path
    status: str
    error: str | None
    record: dict[str, Any]


@dataclass(frozen=True)
class FinishedCapture:
    """What a capture left. directory: `<out>/<capture_id>`; runs in the order asked for."""

    capture_id: str
    directory: Path
    runs: tuple[FinishedRun, ...]
    seconds: float

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled."""
        return any(run.status == "cancelled" for run in self.runs)


def ask_first(
    spec: CaptureSpec,
    listener: Callable[[ProgressLine], None],
    is_cancelled: Callable[[], bool],
    interpreters: dict[str | None, Interpreter] | None = None,
) -> dict[str | None, Interpreter]:
    """Check that the interpreter can run the workload, before anything is written.

    Args:
        spec: what is asked for.
        listener: gets a line of progress.
        is_cancelled: asked several times a second.
        interpreters: those that were asked already, by `spec.python`.

    Returns:
        `interpreters` for `run_capture`: the interpreter is not asked again.

    Raises:
        BadInput: the file has no such function.
        CaptureFailed: no such file, interpreter, workload or device, or no torch there.
        Cancelled: `is_cancelled` said so meanwhile.
    """
    if spec.sweep is not None and spec.sweep.parameter == "python":
        return {}  # each point has its own, and one that fails is a point that failed
    named_version(spec)
    python = spec.python or default_python()
    ProgressLog((), listener).say("starting", f"Checks whether {python} can run {spec.title}")
    interpreters = {} if interpreters is None else interpreters
    file, colon, function = spec.workload.rpartition(":")
    if spec.is_user_code and colon:
        check_function(Path(file).expanduser(), function)
    check_device(spec, _usable_interpreter(spec, _looking(is_cancelled), interpreters))
    return interpreters


def run_capture(
    spec: CaptureSpec,
    out: Path,
    *,
    progress_file: Path | None = None,
    listener: Callable[[ProgressLine], None] | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
    point: tuple[str, Point] | None = None,
    interpreters: dict[str | None, Interpreter] | None = None,
    selection: Selection | None = None,
) -> FinishedCapture:
    """Capture all variants of a workload into `<out>/<capture_id>/<variant>/`.

    Args:
        spec: what is asked for.
        out: made if absent.
        progress_file: gets the lines of progress.jsonl too.
        listener: gets each of them as it comes.
        is_cancelled: asked several times a second; True ends everything.
        point: the sweep that it belongs to, by its id, and the place in it.
        interpreters: those that were asked already, by `spec.python`; the answer is added.
        selection: which variants stop early, and where compiled code is kept; None: none, nowhere.

    Returns:
        What became of each variant; a failed or cancelled one has its sentence.
    """
    look = _looking(is_cancelled)
    with (
        full_disk_is_told(out),
        tempfile.TemporaryDirectory(prefix="fusionscope-against-") as checkouts,
    ):
        versions = versions_of(spec, Path(checkouts))
        return _run_versions(
            spec, versions, out, progress_file, listener, point, interpreters, look, selection
        )


def _run_versions(
    spec: CaptureSpec,
    versions: Sequence[Version],
    out: Path,
    progress_file: Path | None,
    listener: Callable[[ProgressLine], None] | None,
    point: tuple[str, Point] | None,
    interpreters: dict[str | None, Interpreter] | None,
    look: Callable[[], None],
    selection: Selection | None,
) -> FinishedCapture:
    started = time.monotonic()
    capture_id = new_capture_id(spec)
    directory = out.expanduser().resolve() / capture_id
    directory.mkdir(parents=True)
    write_asked_for(directory, spec)
    extra = () if progress_file is None else (progress_file,)
    progress = ProgressLog((directory / PROGRESS, *extra), listener)
    if point is not None:  # the first line, by which a job finds its captures
        sweep_point = point[1]
        n = len(sweep_point.values)
        text = f"Point {sweep_point.index + 1} of {n}: {sweep_point.text}"
        progress.say("point", text, None, sweep_point.index + 1, n)
    experiment = "" if selection is None else selection.experiment
    runs = runs_of(versions, capture_id, directory, point, experiment)
    with Heartbeat([run.writer for run in runs]), contextlib.ExitStack() as stack:
        try:
            progress.say("starting", f"Checks the torch of {spec.python or default_python()}")
            known_interpreters = {} if interpreters is None else interpreters
            of_version = [
                _usable_interpreter(version.spec, look, known_interpreters) for version in versions
            ]
            interpreter = of_version[-1]
            device = device_of(spec, interpreter)
            of_ranks = devices_of(spec, device, interpreter)
            for locked in of_ranks:
                stack.enter_context(
                    device_lock(
                        lock_path(home.jobs_directory(), locked),
                        spec.title,
                        lambda text: progress.say("queued", text),
                        look,
                    )
                )
            counters = counters_tool(device) if spec.counters else None
            telemetry = telemetry_of(of_ranks, [gpu.get("gpu_uuid") for gpu in interpreter.gpus])
            work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fusionscope-")))
            context = Context(
                spec, interpreter, device, telemetry, progress, work, look, counters, selection
            )
            for version, its_interpreter in zip(versions, of_version, strict=True):
                own = replace(context, spec=version.spec, interpreter=its_interpreter)
                for run in runs:
                    if run.version == version.label:
                        run.attach(own)
            _measure(runs, context)
        except Cancelled as cancelled:
            for run in runs:
                run.stop("cancelled", cancelled.problem)
            progress.say("cancelled", cancelled.problem)
        except CaptureFailed as failed:
            for run in runs:
                run.writer.end("failed", f"{failed.problem} {failed.remedy}")
                progress.say("failed", failed.problem, run.label)
        except BaseException as error:
            stop_all(runs, error, progress, directory)
    finished = FinishedCapture(
        capture_id, directory, tuple(_ended(run) for run in runs), time.monotonic() - started
    )
    _say_the_end(finished, progress)
    return finished


def _looking(is_cancelled: Callable[[], bool]) -> Callable[[], None]:
    def look() -> None:
        if is_cancelled():
            raise Cancelled("The capture was cancelled.", remedy="Start it again when you like.")

    return look


def _measure(runs: list[VariantRun], context: Context) -> None:
    made_by, references = references_of(runs, context)
    fit_together = _together(runs, context)
    if not fit_together:
        context.progress.say(
            "starting",
            "The variants do not fit on the device together: measures them one after another",
        )
        for run in runs:
            if run.failure is None or run.failure.kind == "memory":
                run.start_over()
        for run in runs:
            if run.is_alive:
                _alone(run, context, made_by.get(run))
    else:
        for run in runs:
            run.telemetry()
        for run in runs:
            run.passes()
            if run in made_by:
                run.make_reference(made_by[run])
            run.close()
    # In a search nothing is timed any more: the second processes work beside each other.
    is_side_by_side = (
        fit_together
        and context.selection is not None
        and not context.spec.warm_compile
        and all(path.exists() for path in made_by.values())
    )
    for group in [runs] if is_side_by_side else [[run] for run in runs]:
        _check(group, references)


def _check(runs: list[VariantRun], references: dict[VariantRun, Path]) -> None:
    """The second processes of these runs, beside each other, and their ends."""
    for run in runs:
        run.begin_check(references.get(run))
    for run in runs:
        run.end_check()
        run.counters()
        run.finish()


def _together(runs: list[VariantRun], context: Context) -> bool:
    """Prepare all variants, then interleave their rounds; False when memory runs out."""
    for run in runs:
        run.start()
    for run in runs:
        run.loaded()  # all have imported torch before anything is timed
    for run in runs:
        run.prepare()
        if _is_crowded(runs):
            return False
    _rounds([run for run in runs if run.is_alive], context)
    if _is_crowded(runs):
        return False
    if len(runs) > 1:
        for run in runs:
            run.writer.measurement["interleaved"] = True
    return True


def _is_crowded(runs: list[VariantRun]) -> bool:
    return len(runs) > 1 and any(run.failure and run.failure.kind == "memory" for run in runs)


def _alone(run: VariantRun, context: Context, reference: Path | None) -> None:
    run.start()
    run.loaded()
    run.prepare()
    _rounds([run] if run.is_alive else [], context)
    run.writer.measurement["interleaved"] = False
    run.telemetry()
    run.passes()
    if reference is not None:
        run.make_reference(reference)
    run.close()


def _rounds(runs: list[VariantRun], context: Context) -> None:
    plan = RoundPlan(context.spec.rounds, TIMING_CAP_SECONDS if context.is_gpu else CPU_CAP_SECONDS)

    stop_early = None if context.selection is None else context.selection.leave_out

    def turn_done(n_turns: int) -> None:
        context.progress.say(
            "timing", f"Timing round {n_turns} of {plan.rounds}", None, n_turns, plan.rounds
        )

    if runs:
        # The warm-up ends here, not after the first round.
        context.progress.say("timing", "Starts the timed rounds", None, 0, plan.rounds)
        sampled = [run.sampled() for run in runs]
        watches = [HostLoadWatch(os.getpid(), target.pid) for target in sampled]
        cores = _cores_of(runs, context)
        for run in runs:
            run.cores = cores
        is_to_and_fro = bool(cores.cpus)
        with context.telemetry.sampling(sampled, WHILE_TIMED_PERIOD_S):
            interleave(runs, plan, time.monotonic, turn_done, stop_early, to_and_fro=is_to_and_fro)
        for run, watch in zip(runs, watches, strict=True):
            run.writer.measurement["host_load"] = watch.seen()
    for run in runs:
        run.writer.write()


def _cores_of(runs: Sequence[VariantRun], context: Context) -> SharedCores:
    """Of a GPU's turns; a step on the CPU has threads of its own, which need all cores."""
    if not context.is_gpu:
        return SharedCores()
    return shared_cores(
        [run.variant.settings for run in runs],
        n_ranks=context.spec.n_ranks,
        can_be_held=all(run.can_be_held for run in runs),
    )


def write_asked_for(directory: Path, spec: CaptureSpec) -> None:
    """Write what was asked for into a capture's folder, whose name is its id."""
    asked_for = {"schema": 1, "capture_id": directory.name, **spec.to_dict()}
    write_json(directory / names.CAPTURE_JSON, asked_for)


def new_capture_id(spec: CaptureSpec) -> str:
    """A fresh id: sorts by time, cannot be guessed, safe as a folder's name."""
    name = re.sub(r"[^a-z0-9]+", "-", spec.title.lower()).strip("-")[:40] or "capture"
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{stamp}-{name}-{secrets.token_hex(_CHANCE_BYTES)}"


def _usable_interpreter(
    spec: CaptureSpec, look: Callable[[], None], interpreters: dict[str | None, Interpreter]
) -> Interpreter:
    if spec.is_user_code:
        path = Path(spec.workload.rpartition(":")[0] or spec.workload).expanduser()
        if not path.is_file():
            raise CaptureFailed(f"{path} does not exist.", remedy="Pass an existing Python file.")
    look()
    interpreter = interpreters.get(spec.python) or _probed(spec, look)
    interpreters[spec.python] = interpreter
    if interpreter.error is not None:
        raise CaptureFailed(
            f"{interpreter.executable} cannot capture: {interpreter.error}.",
            remedy=interpreter.remedy,
        )
    if interpreter.refusal is not None:
        problem, remedy = interpreter.refusal
        raise CaptureFailed(problem, remedy=remedy)
    return interpreter


def _probed(spec: CaptureSpec, look: Callable[[], None]) -> Interpreter:
    if spec.is_user_code or spec.workload in BUILT_IN_WORKLOADS:
        return probe(spec.python, look=look)
    return probe(spec.python, look=look, workload=spec.workload)


def _ended(run: VariantRun) -> FinishedRun:
    record = run.writer.record
    return FinishedRun(run.label, run.writer.directory, record["status"], record["error"], record)


def _say_the_end(finished: FinishedCapture, progress: ProgressLog) -> None:
    if finished.is_cancelled:
        return
    n_failed = sum(run.status == "failed" for run in finished.runs)
    in_folder = f"in {finished.directory}"
    if n_failed == len(finished.runs):
        progress.say("failed", f"Every variant failed: {finished.runs[0].error}")
    elif n_failed:
        progress.say("finished", f"Finished {in_folder}; {n_failed} of {len(finished.runs)} failed")
    else:
        progress.say("finished", f"Finished {in_folder} after {finished.seconds:.0f} s")
