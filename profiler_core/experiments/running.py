"""An experiment from beginning to end, or from where it was left: one capture after another.

After each capture the folder says all that is known, so that whoever starts it again goes on there:
nothing that was measured is measured twice.
"""

import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from profiler_core.analysis.experiment.choice import (
    EAGER,
    Choice,
    is_slow_to_compile,
    same,
    variant_of,
)
from profiler_core.analysis.experiment.halving import stopped
from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.experiment.search import End, Plan, next_plan
from profiler_core.capture.cores import first_threads
from profiler_core.capture.devices import device_of
from profiler_core.capture.interpreter import Interpreter, probe
from profiler_core.capture.launcher import FinishedCapture, FinishedRun, ask_first, run_capture
from profiler_core.capture.progress import ProgressLine, ProgressLog
from profiler_core.capture.round_plan import CPU_CAP_SECONDS
from profiler_core.capture.selection import Selection
from profiler_core.capture.spec import BUILT_IN_WORKLOADS, CaptureSpec
from profiler_core.capture.variant_spec import VariantSpec, parse_variant
from profiler_core.errors import BadInput, Cancelled, CaptureFailed
from profiler_core.experiments.levers import config_keys, fitting
from profiler_core.experiments.machine import Machine
from profiler_core.experiments.measured import Held, held, seen, trial_of
from profiler_core.experiments.predicted import gains
from profiler_core.experiments.request import is_left_alone
from profiler_core.model.experiment import Batch, Experiment, LeftOut, Setting, Trial
from profiler_core.model.run import measurement_of
from profiler_core.owner_file import owner_of, write_owner
from profiler_core.store.experiments import (
    caches_of,
    folder_of,
    forget_caches,
    held_by_one,
    write_experiment,
)

Capture = Callable[..., FinishedCapture]
_BEFORE_TIMING = ("starting", "compiling", "warm-up")
_MOST_OF_THE_REST = 0.5  # of the time that a capture has, kept for what follows compilation
# Of the time that is left, until a setting is compiled that may take minutes: with all of it, one
# such setting of ResNet-50 took 335 of 600 s on an H200, and was not compiled.
_MOST_FOR_SLOW = 0.5
# What follows compilation, before any capture told: of a capture, and of each of its variants. On
# H200s a variant is timed in 3.4 to 7.5 s, and second processes take 8 to 13 s beside each other.
_USUAL_REST_S = {"gpu": (12.0, 5.0), "cpu": (15.0, CPU_CAP_SECONDS)}
_change = msgspec.structs.replace


def check_measured(experiment: Experiment) -> None:
    """Refuse an experiment in which no setting ran.

    Raises:
        CaptureFailed: none did, with the first error.
    """
    if leader_of(experiment).trial is None:
        errors = [trial.error for trial in experiment.trials if trial.error]
        raise CaptureFailed(
            f"Nothing could be measured: {errors[0] if errors else 'every setting failed.'}",
            remedy="Capture the workload alone first, to see where it fails.",
        )


@dataclass
class Runner:
    """Runs one experiment. `capture` and `clock` are the launcher's and the machine's own.

    Args:
        spec: of the workload; its variants are the experiment's.
        experiment: as far as it is.
        out: the folder of all captures.
        progress_file: gets every line of progress.
        listener: gets each line too.
        is_cancelled: asked several times a second.
        changed: told of the experiment after each capture.
    """

    spec: CaptureSpec
    experiment: Experiment
    out: Path
    progress_file: Path | None = None
    listener: Callable[[ProgressLine], None] | None = None
    is_cancelled: Callable[[], bool] = lambda: False
    changed: Callable[[Experiment], None] = lambda _: None
    capture: Capture = run_capture
    clock: Callable[[], float] = time.monotonic
    _machine: Machine | None = field(default=None, init=False)
    _interpreters: dict[str | None, Interpreter] = field(default_factory=dict, init=False)
    _device: str = field(default="cpu", init=False)
    # What the last capture took once all was compiled, seconds, and how many variants it had.
    _rest: tuple[float, int] | None = field(default=None, init=False)

    def run(self) -> Experiment:
        """Go on until nothing is left to try, the budget is spent, or it is cancelled.

        Raises:
            BadInput: the workload has no such function, words of the spec make no sense, or another
                process runs this experiment.
            CaptureFailed: the interpreter cannot capture, or nothing ran at all.
            Cancelled: before the first capture.
        """
        with held_by_one(self.out, self.experiment.experiment_id):
            return self._run()

    def _run(self) -> Experiment:
        self._ask()
        self._save(_change(self.experiment, state="running", ended_by=""))
        self._look_again()
        while True:
            choices = self._choices()
            plan = next_plan(self.experiment, choices, _is_possible)
            if isinstance(plan, End):
                return self._ended("finished", plan)
            if self.is_cancelled() or not self._one_capture(plan, choices):
                return self._ended("cancelled", End("cancelled"))

    # -- before anything is captured ---------------------------------------------------------------

    def _ask(self) -> None:
        spec = self.spec
        is_ours = spec.is_user_code or spec.workload in BUILT_IN_WORKLOADS
        self._interpreters[spec.python] = probe(
            spec.python,
            workload=None if is_ours else spec.workload,
            settings=config_keys(),
            look=self._look,
        )
        ask_first(spec, self._listen, self.is_cancelled, self._interpreters)
        interpreter = self._interpreters[spec.python]
        self._device = device_of(spec, interpreter)
        self._machine = _machine_of(spec, interpreter, self._device)
        name = str(interpreter.facts.get("cpu") or "CPU")
        if self._machine.on_gpu:
            name = str(interpreter.gpus[0].get("gpu") or interpreter.gpus[0].get("name") or "GPU")
        self.experiment = _change(
            self.experiment, device=name, on_gpu=self._machine.on_gpu, torch=interpreter.torch
        )

    def _look(self) -> None:
        if self.is_cancelled():
            raise Cancelled("The experiment was cancelled.", remedy="Start it again.")

    def _listen(self, line: ProgressLine) -> None:
        if self.listener is not None:
            self.listener(line)

    def _choices(self) -> tuple[Choice, ...]:
        choices, unfit = fitting(self._known_machine, self.experiment.levers)
        self.experiment = _change(self.experiment, unfit=unfit)
        return choices

    @property
    def _known_machine(self) -> Machine:
        assert self._machine is not None  # noqa: S101 - `_ask` comes first
        return replace(self._machine, is_left_alone=is_left_alone(self.spec, self.experiment))

    def _look_again(self) -> None:
        """What the traces of an experiment that is taken up say of its workload."""
        leader = leader_of(self.experiment)
        if leader.batch is None or leader.trial is None:
            return
        folder = self.out / leader.batch.capture_id
        baseline = folder / EAGER
        candidate = folder / leader.trial.folder
        if baseline.is_dir() and candidate.is_dir():
            runs = tuple(
                FinishedRun("", path, "finished", None, {}) for path in (baseline, candidate)
            )
            self._see(FinishedCapture(leader.batch.capture_id, folder, runs, 0.0), 0, None)

    def _see(
        self, finished: FinishedCapture, number: int, choices: Sequence[Choice] | None
    ) -> None:
        """Let what stands out in the leading setting say what is tried next."""
        read = seen(finished, number)
        if read is None:
            return
        summary, stands_out, trains = read
        self._machine = self._known_machine.seen(summary, stands_out, trains=trains)
        if choices is not None:
            fitting_now = fitting(self._machine, self.experiment.levers)[0]
            self.experiment = _change(self.experiment, gains=gains(stands_out, fitting_now))

    # -- one capture -------------------------------------------------------------------------------

    def _one_capture(self, plan: Plan, choices: Sequence[Choice]) -> bool:
        """Capture, and keep what came of it; False where it was cancelled."""
        began = self.clock()
        deadline = began + self.experiment.budget_s - self.experiment.seconds
        is_first = not self.experiment.batches
        settings = plan.settings if plan.reference is None else (plan.reference, *plan.settings)
        timed = [parse_variant(variant_of(setting)) for setting in settings]
        title = f"{self.spec.title}, experiment {len(self.experiment.batches) + 1}"
        spec = replace(self.spec, variants=(VariantSpec(), *timed), name=title)
        self._forget(spec.variants[1:] if is_first else spec.variants[-len(plan.settings) :])
        labels = [variant.label for variant in spec.variants]
        # What nothing leads yet is measured whole: its trace says what is worth trying.
        kept = frozenset(labels if plan.reference is None else labels[:2])
        bounded = _bounded(dict(zip(labels[1:], settings, strict=True)), kept)
        compiled_by = self._compiled_by(labels, bounded, began, deadline)
        finished = self.capture(
            spec,
            self.out,
            progress_file=self.progress_file,
            listener=self._listen,
            is_cancelled=lambda: self.is_cancelled() or (not is_first and self.clock() > deadline),
            interpreters=self._interpreters,
            selection=Selection(
                caches_of(self.out, self.experiment.experiment_id),
                self._judge(kept),
                self.experiment.experiment_id,
                lambda label: label not in kept and self.clock() > compiled_by[label],
            ),
        )
        self._own(finished)
        if finished.is_cancelled and self.is_cancelled():
            return False
        seconds = self.clock() - began
        n_timed = sum(run.status != "cancelled" for run in finished.runs)
        self._rest = (seconds - sum(map(_compiling_s, finished.runs)), max(1, n_timed))
        if is_first and finished.runs[1].status == "finished":
            self._see(finished, 0, choices)  # what its findings predict for those beside it
        batch = self._batch(plan, finished, seconds, bounded)
        led = same(leader_of(self.experiment).setting)
        experiment = _change(self.experiment, batches=(*self.experiment.batches, batch))
        self.experiment = experiment
        leader = leader_of(experiment)
        if leader.batch is batch and same(leader.setting) != led:
            number = [run.variant for run in finished.runs].index(leader.trial.variant)  # type: ignore[union-attr]
            self._see(finished, number - 1, choices)
        self._save(self.experiment)
        return True

    def _compiled_by(
        self, labels: Sequence[str], bounded: str | None, began: float, deadline: float
    ) -> dict[str, float]:
        """Until when each may compile, on the runner's clock, so that the others can be timed."""
        left_s = deadline - began
        compiled_by = {
            label: deadline - min(self._rest_s(n), _MOST_OF_THE_REST * left_s)
            for n, label in enumerate(labels, 1)
        }
        if bounded is not None:
            by = began + _MOST_FOR_SLOW * left_s
            compiled_by[bounded] = min(compiled_by[bounded], by)
        return compiled_by

    def _rest_s(self, n_variants: int) -> float:
        """What a capture of so many variants takes once all are compiled, as far as is known."""
        if self._rest is not None:
            seconds, n = self._rest
            return seconds * max(1.0, n_variants / n)
        whole_s, each_s = _USUAL_REST_S["gpu" if self._known_machine.on_gpu else "cpu"]
        return whole_s + n_variants * each_s

    def _judge(
        self, kept: frozenset[str]
    ) -> Callable[[Mapping[str, Mapping[str, Any]], int], Collection[str]]:
        on_gpu = self._known_machine.on_gpu

        def judge(recorded: Mapping[str, Mapping[str, Any]], n_turns: int) -> Collection[str]:
            timed = {label: m for label, r in recorded.items() if (m := measurement_of(r))}
            return stopped(timed, n_turns, kept, EAGER, on_gpu=on_gpu)

        return judge

    def _batch(
        self, plan: Plan, finished: FinishedCapture, seconds: float, bounded: str | None
    ) -> Batch:
        """What a capture says. bounded: label of a setting that had a part of the time only."""
        runs = list(finished.runs)
        baseline = held(runs[0])
        trials: list[Trial] = []
        left_out: list[LeftOut] = []
        reference = reference_trial = None
        if plan.reference is not None:
            reference = held(runs[1])
            if not self.experiment.batches:
                trials.append(self._trial(plan.reference, runs[1], baseline, baseline))
            elif runs[1].status == "finished":
                reference_trial = self._trial(plan.reference, runs[1], baseline, baseline)
        against = baseline if plan.reference is None else reference
        for setting, run in zip(plan.settings, runs[-len(plan.settings) :], strict=True):
            if run.status == "cancelled":  # not measured: its time was over
                compiling_s = _compiling_s(run, ("compiling",))
                if compiling_s > 0 and run.variant == bounded:
                    left_out.append(
                        LeftOut(setting=setting, variant=run.variant, seconds=compiling_s)
                    )
                continue
            trials.append(self._trial(setting, run, baseline, against))
        return Batch(
            phase=plan.phase,
            capture_id=finished.capture_id,
            seconds=seconds,
            trials=tuple(trials),
            reference=plan.reference,
            reference_trial=reference_trial,
            baseline_ns=None if baseline is None else baseline.step_ns,
            is_cut_off=sum(run.status == "cancelled" for run in runs) > len(left_out),
            left_out=tuple(left_out),
        )

    def _trial(
        self, setting: Setting, run: FinishedRun, baseline: Held | None, against: Held | None
    ) -> Trial:
        chosen = set(setting)
        predicted = [gain for gain in self.experiment.gains if (gain.lever, gain.word) in chosen]
        return trial_of(
            setting, run.variant, run, baseline, against, predicted,
            on_gpu=self._known_machine.on_gpu,
        )  # fmt: skip

    def _forget(self, variants: Sequence[VariantSpec]) -> None:
        """What a killed capture compiled: its first call would not be a cold one."""
        for variant in variants:
            if variant.label not in {trial.variant for trial in self.experiment.trials}:
                caches = caches_of(self.out, self.experiment.experiment_id)
                shutil.rmtree(caches / variant.slug, ignore_errors=True)

    def _own(self, finished: FinishedCapture) -> None:
        """The captures of an experiment are whose the experiment is."""
        owner = owner_of(folder_of(self.out, self.experiment.experiment_id))
        if owner is not None and finished.directory.is_dir():
            write_owner(finished.directory, owner)

    # -- ends --------------------------------------------------------------------------------------

    def _ended(self, state: str, end: End) -> Experiment:
        self._save(_change(self.experiment, state=state, ended_by=end.by))
        if state == "finished":
            forget_caches(self.out, self.experiment.experiment_id)
        paths = () if self.progress_file is None else (self.progress_file,)
        text = "The experiment was cancelled" if state == "cancelled" else "The experiment ended"
        ProgressLog(paths, self.listener).say(state, text)
        return self.experiment

    def _save(self, experiment: Experiment) -> None:
        self.experiment = experiment
        write_experiment(self.out, experiment)
        self.changed(experiment)


def _compiling_s(run: FinishedRun, phases: Sequence[str] = _BEFORE_TIMING) -> float:
    """What a run took in these phases; until it could be timed, those of a capture follow on."""
    spent = run.record.get("measurement", {}).get("phase_seconds", {})
    return float(sum(spent.get(phase, 0.0) for phase in phases))


def _bounded(settings: Mapping[str, Setting], kept: Collection[str]) -> str | None:
    """The label of the only setting that compiles for minutes, but for one that is kept.

    Where several of a capture do, none is ended for what might come after it.
    """
    slow = [label for label, setting in settings.items() if is_slow_to_compile(setting)]
    return slow[0] if len(slow) == 1 and slow[0] not in kept else None


def _machine_of(spec: CaptureSpec, interpreter: Interpreter, device: str) -> Machine:
    """Before anything was captured.

    Args:
        spec: of the workload.
        interpreter: that was asked for the configuration (`probe(settings=…)`).
        device: "cpu" or "cuda:0".
    """
    cpus = first_threads()
    return Machine(
        on_gpu=device != "cpu",
        trains=spec.trains,
        torch=str(interpreter.torch),
        config=interpreter.settings,
        n_cores=len(cpus),
        first_threads=cpus,
        n_ranks=spec.n_ranks,
        parallel=spec.parallel,
    )


def _is_possible(setting: Setting) -> bool:
    """Whether the words of a setting make a variant."""
    try:
        parse_variant(variant_of(setting))
    except BadInput:
        return False
    return True
