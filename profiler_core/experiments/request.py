"""What an experiment is asked for, and the spec of its captures."""

import argparse
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from profiler_core.analysis.experiment.choice import variant_of
from profiler_core.capture.against import against_of
from profiler_core.capture.option import declared
from profiler_core.capture.round_plan import DEFAULT_ROUNDS
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
from profiler_core.capture.variant_spec import parse_variant
from profiler_core.errors import BadInput
from profiler_core.experiments.levers import check_names, setting_of
from profiler_core.model.experiment import Experiment, Setting
from profiler_core.model.run import RunRecord
from profiler_core.store.experiments import new_experiment_id

DEFAULT_BUDGET = "20m"
# Decided by an experiment itself, and not by whoever asks for it.
OWN_OPTIONS = ("variants", "against", "sweep")
_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0}
_LEAST_S = 10.0
_AS_IS = ("as-is", "target=as-is")
_MOST_S = 30 * 24 * 3600.0


def budget_seconds(text: str) -> float:
    """Read `20m`, `90s` or `1h30m`.

    Raises:
        BadInput: it cannot be read, is under 10 s, or over 30 days.
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([hms])", text.strip().lower())
    is_whole = "".join(n + unit for n, unit in parts) == re.sub(r"\s", "", text.lower())
    seconds = sum(float(n) * _UNITS_S[unit] for n, unit in parts)
    if not parts or not is_whole or not _LEAST_S <= seconds <= _MOST_S:
        raise BadInput(
            f"The budget '{text[:40]}' is no time from {_LEAST_S:.0f} s to 30 days.",
            remedy="Write it like 20m, 90s or 1h30m.",
        )
    return seconds


def new_experiment(
    spec: CaptureSpec,
    *,
    budget_s: float,
    levers: tuple[str, ...] = (),
    start: str = "default",
    finding: str = "",
    source: tuple[str, ...] = (),
    experiment_id: str | None = None,
) -> Experiment:
    """Of a workload, before anything is captured.

    Args:
        spec: of the workload.
        budget_s: seconds.
        levers: names of those that are tried; empty: all that are offered.
        start: the variant that it starts from.
        finding: key of the finding that it is about.
        source: keys of the runs of that finding.
        experiment_id: None: a fresh one.

    Raises:
        BadInput: a lever is unknown, or the variant is none that Inductor compiles.
    """
    check_names(levers)
    spec, setting = _left_alone(replace(spec, sweep=None, against=None), setting_of(start))
    return Experiment(
        experiment_id=experiment_id or new_experiment_id(spec.title),
        title=spec.title,
        workload=spec.workload,
        words=tuple(words_of(spec)),
        start=setting,
        levers=levers,
        budget_s=budget_s,
        created_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        finding=finding,
        source=source,
    )


def _left_alone(spec: CaptureSpec, start: Setting) -> tuple[CaptureSpec, Setting]:
    """What the script compiles itself as the target of all that is tried, where the start is that.

    Beside such a setting all others leave the script's own calls out, eager with them: a capture
    without one would have another baseline.
    """
    kept = tuple(pair for pair in start if pair[1] not in _AS_IS)
    return (spec, start) if kept == start else (replace(spec, compile_target=("as-is",)), kept)


def is_left_alone(spec: CaptureSpec, experiment: Experiment) -> bool:
    """Whether the script alone compiles, by calls that get no arguments of ours.

    A function that takes `compile` gets them; whether it does is known once it was captured.

    Args:
        spec: of its captures.
        experiment: as far as it is.
    """
    is_handed = any(trial.is_handed for trial in experiment.trials)
    return "as-is" in spec.compile_target and not is_handed


def with_budget(experiment: Experiment, budget_s: float) -> Experiment:
    """The same with another budget; a larger one takes up what the old one cut off or left out."""
    change = msgspec.structs.replace
    batches = experiment.batches
    if budget_s > experiment.budget_s:
        batches = tuple(change(batch, is_cut_off=False, left_out=()) for batch in batches)
    return change(experiment, budget_s=budget_s, batches=batches)


def with_enough_rounds(experiment: Experiment) -> Experiment:
    """A new one that asks for the same, with as many rounds as a capture makes by itself.

    Raises:
        BadInput: its words cannot be read.
    """
    return new_experiment(
        replace(spec_of(experiment), rounds=DEFAULT_ROUNDS),
        budget_s=experiment.budget_s,
        levers=experiment.levers,
        start=variant_of(experiment.start),
        finding=experiment.finding,
        source=experiment.source,
    )


def words_to_try(experiment: Experiment) -> tuple[str, ...]:
    """What `try` takes to do as this experiment does."""
    return (
        *experiment.words,
        f"--budget={experiment.budget_s:.0f}s",
        f"--from={variant_of(experiment.start)}",
        *([f"--levers={','.join(experiment.levers)}"] if experiment.levers else []),
    )


def words_of(spec: CaptureSpec) -> list[str]:
    """The words of a capture of this workload, without its variants."""
    return [
        word
        for name, entry in declared(CaptureSpec).items()
        if name not in OWN_OPTIONS
        for word in entry.words(getattr(spec, name))
    ]


def spec_of(experiment: Experiment) -> CaptureSpec:
    """The spec of its captures, but for their variants.

    Raises:
        BadInput: its words cannot be read.
    """
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_spec_arguments(parser)
    try:
        return spec_from_namespace(parser.parse_args(list(experiment.words)))
    except (argparse.ArgumentError, SystemExit) as error:
        raise BadInput(
            f"The words of {experiment.experiment_id} cannot be read: {error}.",
            remedy="Start the experiment anew.",
        ) from None


def for_trials(spec: CaptureSpec) -> CaptureSpec:
    """What trials leave out: a second compilation, the telemetry phase and further passes."""
    return replace(spec, warm_compile=False, telemetry_seconds=0.0, stacks=False, counters=False)


def patch_spec(spec: CaptureSpec, patch: str, variant: str) -> CaptureSpec:
    """A capture of the file as it is and of a patched copy, both under one setting.

    Args:
        spec: of the workload.
        patch: the path of a unified diff.
        variant: of `capture`.

    Raises:
        BadInput: it is no variant, or the workload is no file of the user's.
    """
    variants = (parse_variant(variant),)
    asked = replace(for_trials(spec), variants=variants, against=f"patch:{patch}", sweep=None)
    against_of(asked)
    return asked


def spec_of_run(record: RunRecord) -> CaptureSpec | None:
    """The capture that a run is of, to try settings of its workload.

    Args:
        record: of the run.

    Returns:
        None where the run is of no capture: a bare trace, or a script that recorded itself.
    """
    recorded = record.spec
    if not recorded.get("workload"):
        return None
    values = {
        name: _as_tuples(recorded[name])
        for name in declared(CaptureSpec)
        if name in recorded and name not in (*OWN_OPTIONS, "name", "compile_target")
    }
    # What is only said of the machine that made the run: here it may be another one.
    if values.get("device") != "cpu":
        values["device"] = "auto"
    for name in ("python", "directory"):
        if values.get(name) and not Path(values[name]).exists():
            values[name] = None
    try:
        return CaptureSpec(**values)
    except (TypeError, BadInput):  # an older capture's
        return None


def start_of_run(record: RunRecord) -> str:
    """The variant of a run, where an experiment can start from it; else `default`."""
    try:
        setting_of(record.variant)
    except BadInput:
        return "default"
    return record.variant


def _as_tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_as_tuples, value))
    return value
