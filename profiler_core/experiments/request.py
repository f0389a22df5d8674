"""What an experiment is asked for, and the spec of its captures."""

import argparse
import re
import time
from dataclasses import replace

from profiler_core.capture.option import declared
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
from profiler_core.errors import BadInput
from profiler_core.experiments.folder import new_experiment_id
from profiler_core.experiments.levers import check_names, setting_of
from profiler_core.model.experiment import Experiment

DEFAULT_BUDGET = "20m"
# Decided by an experiment itself, and not by whoever asks for it.
OWN_OPTIONS = ("variants", "against", "sweep")
_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0}
_LEAST_S = 10.0


def budget_seconds(text: str) -> float:
    """Read `20m`, `90s` or `1h30m`.

    Raises:
        BadInput: it cannot be read, or is under 10 s.
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([hms])", text.strip().lower())
    is_whole = "".join(n + unit for n, unit in parts) == re.sub(r"\s", "", text.lower())
    seconds = sum(float(n) * _UNITS_S[unit] for n, unit in parts)
    if not parts or not is_whole or seconds < _LEAST_S:
        raise BadInput(
            f"The budget '{text}' is no time of {_LEAST_S:.0f} s or more.",
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
    spec = replace(spec, sweep=None, against=None)
    return Experiment(
        experiment_id=experiment_id or new_experiment_id(spec.title),
        title=spec.title,
        workload=spec.workload,
        words=tuple(words_of(spec)),
        start=setting_of(start),
        levers=levers,
        budget_s=budget_s,
        created_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        finding=finding,
        source=source,
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
