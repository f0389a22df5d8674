"""The tools that try settings of a workload; offered only where captures are allowed."""

import time
from collections.abc import Callable
from typing import Annotated

from profiler_core import home
from profiler_core.agents.capturing import (
    CAPTURING,
    LONGEST_WAIT_S,
    agent,
    capture_progress,
    check_wait,
    is_under_way,
)
from profiler_core.agents.patching import patch_progress, start_patch
from profiler_core.answers.experiment import BestAnswer, EffectAnswer, experiment_answer
from profiler_core.answers.record import Answer, means
from profiler_core.capture.spec import CaptureSpec, parse_option
from profiler_core.door import deeds
from profiler_core.door.experimenting import (
    Wish,
    cancel_experiment,
    job_of,
    start_experiment,
)
from profiler_core.experiments.pasted import pasted
from profiler_core.model.experiment import Ratio
from profiler_core.store.experiments import read_experiment

_POLL_S = 0.5
_MOST_TRIALS = 10


class TriedShort(Answer, frozen=True):
    """A setting that was timed."""

    variant: str
    outcome: Annotated[str, means("in words")]
    step_time_ns: float | None
    speedup: Annotated[Ratio | None, means("against eager: {keys}")]
    realised_ns: Annotated[float | None, means("saved per step against the best before it")]


class Trying(Answer, frozen=True):
    """How far an experiment is, and what is known."""

    experiment: str
    state: Annotated[
        str, means("`queued`, `running`, `finished`, `failed`, `cancelled`, `interrupted`")
    ]
    headline: str
    evidence: Annotated[str, means("how much was tried, and why it ended")]
    error: str | None
    best: Annotated[BestAnswer | None, means("{keys}")]
    responsible: Annotated[tuple[EffectAnswer, ...], means("what each lever of it gave: {keys}")]
    harmful: Annotated[EffectAnswer | None, means("the lever that does most harm: {keys}")]
    trials: Annotated[tuple[TriedShort, ...], means("the latest: {keys}")]
    n_trials: int


def start_try(
    workload: str,
    budget: str = "20m",
    levers: list[str] = [],  # noqa: B006 - never changed; the schema shows it
    start: str = "default",
    options: list[str] = [],  # noqa: B006
    training: bool = False,
    device: str = "auto",
) -> Trying:
    """Try settings of torch.compile on a workload, measured. Poll by try_progress.

    workload: as for start_capture. levers: names, LEVER=VALUE or KEY=VALUE of Inductor's; empty:
    all that fit. start: the variant to begin with. options: KEY=VALUE of the workload's function.
    """
    spec = CaptureSpec(
        workload=workload,
        options=tuple(map(parse_option, options)),
        training=training,
        device=device,
    )
    return _trying(start_experiment(agent(), spec, Wish(budget, tuple(levers), start)))


def try_progress(experiment: str, wait_seconds: float = 0) -> Trying:
    """How far an experiment is: the best setting by now as code, what each lever gave.

    wait_seconds: answer once it has ended, or after so many seconds (at most 300).
    """
    check_wait(wait_seconds)
    deadline = time.monotonic() + min(wait_seconds, LONGEST_WAIT_S)
    while is_tried(experiment) and time.monotonic() < deadline:
        time.sleep(min(_POLL_S, max(0.0, deadline - time.monotonic())))
    return _trying(experiment)


def is_tried(experiment: str) -> bool:
    """Does its job wait or run?"""
    job = job_of(experiment)
    return job is not None and job.is_live


def cancel_try(experiment: str) -> Trying:
    """Stop an experiment that an agent started; what was measured until then is kept."""
    cancel_experiment(agent(), experiment)
    return _trying(experiment)


def _trying(experiment_id: str) -> Trying:
    experiment = read_experiment(home.runs_directory(), experiment_id)
    answer = experiment_answer(experiment, pasted(experiment))
    job = job_of(experiment_id)
    return Trying.of(
        answer,
        state=experiment.state if job is None else job.state,
        error=job.error if job is not None and deeds.may_see(agent(), job) else None,
        trials=tuple(map(TriedShort.of, answer.trials[-_MOST_TRIALS:])),
        n_trials=len(answer.trials),
    )


MEASURING = (*CAPTURING, start_try, try_progress, cancel_try, start_patch, patch_progress)
# Of these, what starts and ends nothing, and may wait: is what it asks for under way still?
READING: dict[Callable[..., Answer], Callable[[str], bool]] = {
    capture_progress: is_under_way,
    try_progress: is_tried,
    patch_progress: is_under_way,
}
