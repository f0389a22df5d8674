"""An experiment: which setting is the fastest, every trial, and which lever is responsible."""

from typing import Annotated

from profiler_core.analysis.experiment.effects import Effect, effects, effects_on, worst
from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.wording.experiment import (
    effect_sentence,
    evidence,
    headline,
    outcome,
    setting_name,
)
from profiler_core.analysis.wording.sentence import plain
from profiler_core.answers.record import Answer, means
from profiler_core.model.experiment import Experiment, Gain, Moved, Ratio, Setting, Trial, Unfit


class BestAnswer(Answer, frozen=True):
    """What to take."""

    variant: Annotated[str, means("as `capture --variants` takes it; `eager` where nothing wins")]
    code: Annotated[str, means("lines to paste into a script")]
    step_time_ns: float | None
    step_time_low_ns: Annotated[
        float | None,
        means("with `step_time_high_ns`: where it would lie if it were started and timed anew"),
    ]
    step_time_high_ns: float | None
    speedup: Annotated[Ratio | None, means("eager's step time over its own: {keys}")]
    first_call_seconds: Annotated[float | None, means("compilation included, caches empty", "s")]


class EffectAnswer(Answer, frozen=True):
    """What one lever does, measured by leaving it out."""

    lever: str
    word: Annotated[str, means("its value in the setting")]
    instead: Annotated[str | None, means("in the other one; null where it was left out")]
    ratio: Annotated[Ratio, means("step time without it over with it, above 1 it helps: {keys}")]
    gain_ns: Annotated[float, means("per step")]
    sentence: str


class TrialAnswer(Answer, frozen=True):
    """One setting that was timed."""

    variant: str
    capture_id: Annotated[str, means("its runs lie in the folder of that name")]
    phase: Annotated[str, means("why it was tried")]
    status: Annotated[str, means("`measured`, `stopped early`, `failed`")]
    outcome: Annotated[str, means("the same in words")]
    error: str | None
    n_rounds: int
    step_time_ns: float | None
    step_time_low_ns: float | None
    step_time_high_ns: float | None
    speedup: Annotated[Ratio | None, means("eager's step time over its own: {keys}")]
    held_against: Annotated[str | None, means("the best so far; null: eager")]
    against: Annotated[Ratio | None, means("that one's step time over its own: {keys}")]
    first_call_seconds: Annotated[float | None, means("compilation included", "s")]
    peak_memory_bytes: int | None
    n_graph_breaks: Annotated[int | None, means("in its logs; null: it has none")]
    numerics: Annotated[str | None, means("`right`, `wrong`, `not comparable`")]
    predicted: Annotated[tuple[Gain, ...], means("what findings said of its levers: {keys}")]
    realised_ns: Annotated[float | None, means("per step, against `held_against`")]
    moved: Annotated[
        tuple[Moved, ...], means("groups of the ledger that changed most since then: {keys}")
    ]


class LeftOutAnswer(Answer, frozen=True):
    """One setting that was not compiled in the time that the search gives one."""

    variant: str
    seconds: Annotated[float, means("spent on compiling it", "s")]


class ExperimentAnswer(Answer, frozen=True):
    """`try`."""

    experiment: Annotated[str, means("its id; `try --resume ID` goes on with it")]
    title: str
    device: str
    torch: str
    state: Annotated[str, means("`running`, `finished`, `cancelled`, `interrupted`")]
    ended_by: Annotated[
        str, means("`nothing left`, `budget`, `cancelled`, `nothing to compare`, or empty")
    ]
    headline: Annotated[str, means("the result in words, as `evidence`")]
    evidence: str
    budget_seconds: Annotated[float, means("what was allowed, and what was spent", "s")]
    seconds: Annotated[float, means("what was allowed, and what was spent", "s")]
    n_captures: int
    baseline_step_time_ns: Annotated[float | None, means("eager, in the last capture")]
    best: Annotated[BestAnswer | None, means("null where nothing ran: {keys}")]
    responsible: Annotated[
        tuple[EffectAnswer, ...], means("each lever of the best, the largest gain first: {keys}")
    ]
    harmful: Annotated[
        EffectAnswer | None, means("the lever that slows a setting most; null: none does: {keys}")
    ]
    trials: Annotated[
        tuple[TrialAnswer, ...], means("in the order in which they were made: {keys}")
    ]
    left_out: Annotated[
        tuple[LeftOutAnswer, ...],
        means("settings whose compilation was ended; a larger budget tries them again: {keys}"),
    ]
    not_tried: Annotated[tuple[Unfit, ...], means("levers that do not fit, and why: {keys}")]


def experiment_answer(experiment: Experiment, code: str) -> ExperimentAnswer:
    """Of an experiment as it is.

    Args:
        experiment: which.
        code: the leading setting, to paste.
    """
    measured = effects(experiment)
    leader = leader_of(experiment)
    harmful = worst(measured)
    own = () if leader.is_baseline else effects_on(leader.setting, measured)
    batches = experiment.batches
    return ExperimentAnswer.of(
        experiment,
        experiment=experiment.experiment_id,
        headline=plain(headline(experiment)),
        evidence=evidence(experiment),
        budget_seconds=experiment.budget_s,
        n_captures=len(batches),
        baseline_step_time_ns=batches[-1].baseline_ns if batches else None,
        best=_best(experiment, code),
        responsible=tuple(_effect(experiment, effect) for effect in own),
        harmful=None if harmful is None else _effect(experiment, harmful),
        trials=tuple(
            _trial(experiment, trial, batch.phase, batch.capture_id, batch.held_against(trial))
            for batch in batches
            for trial in batch.trials
        ),
        left_out=tuple(
            LeftOutAnswer(left.variant, left.seconds)
            for batch in batches
            for left in batch.left_out
        ),
        not_tried=experiment.unfit,
    )


def _best(experiment: Experiment, code: str) -> BestAnswer | None:
    leader = leader_of(experiment)
    trial = leader.trial
    if leader.is_baseline:
        times = [batch.baseline_ns for batch in experiment.batches if batch.baseline_ns]
        if not times:
            return None
        return BestAnswer("eager", code, times[-1], None, None, None, None)
    if trial is None:
        return None
    return BestAnswer(
        trial.variant,
        code,
        trial.step_ns,
        trial.step_low_ns,
        trial.step_high_ns,
        trial.speedup,
        cold_first_call_s(experiment, trial),
    )


def cold_first_call_s(experiment: Experiment, trial: Trial) -> float | None:
    """The first call of a setting when it was captured first: later ones find it compiled."""
    first = next((t for t in experiment.trials if t.variant == trial.variant), None)
    return first.first_call_s if first is not None else None


def _effect(experiment: Experiment, effect: Effect) -> EffectAnswer:
    return EffectAnswer.of(effect, sentence=effect_sentence(effect, experiment))


def _trial(
    experiment: Experiment, trial: Trial, phase: str, capture_id: str, reference: Setting | None
) -> TrialAnswer:
    other = setting_name(reference, experiment)
    return TrialAnswer.of(
        trial,
        phase=phase,
        capture_id=capture_id,
        outcome=outcome(trial, leader_of(experiment), other),
        step_time_ns=trial.step_ns,
        step_time_low_ns=trial.step_low_ns,
        step_time_high_ns=trial.step_high_ns,
        held_against=None if reference is None else other,
        first_call_seconds=trial.first_call_s,
        peak_memory_bytes=trial.peak_bytes,
        n_graph_breaks=trial.n_breaks,
    )
