"""What each lever of a setting gives: both timed in turns, with the lever and without it."""

from collections.abc import Iterable
from dataclasses import dataclass

from profiler_core.analysis.experiment.choice import difference, same
from profiler_core.model.experiment import Batch, Experiment, Ratio, Setting, Trial


@dataclass(frozen=True)
class Effect:
    """What one lever does to one setting.

    setting: that has it. word: its value there. instead: its value in the other setting; None: the
    lever is left alone there. ratio: step time of the other over that of `setting`, so above 1 the
    lever makes it faster. gain_ns: per step, below 0 it costs time.
    """

    lever: str
    word: str
    instead: str | None
    setting: Setting
    ratio: Ratio
    gain_ns: float


def effects(experiment: Experiment) -> tuple[Effect, ...]:
    """Each pair of settings that were timed in turns and differ in one lever, the newest last."""
    return tuple(
        effect
        for batch in experiment.batches
        for trial in batch.trials
        if (effect := _effect(batch, trial)) is not None
    )


def effects_on(setting: Setting, measured: Iterable[Effect]) -> tuple[Effect, ...]:
    """What each lever of a setting does to it, the largest gain first; the newest measurement."""
    newest = {e.lever: e for e in measured if same(e.setting) == same(setting)}
    return tuple(sorted(newest.values(), key=lambda effect: -effect.ratio.ratio))


def worst(measured: Iterable[Effect]) -> Effect | None:
    """The lever that makes a setting slower by most, beyond the noise; None: none does."""
    slower = [effect for effect in measured if effect.ratio.is_slower]
    return min(slower, key=lambda effect: effect.ratio.ratio, default=None)


def _effect(batch: Batch, trial: Trial) -> Effect | None:
    reference, ratio = batch.held_against(trial), trial.against
    if reference is None or ratio is None or trial.realised_ns is None:
        return None
    levers = difference(reference, trial.setting)
    if len(levers) != 1:
        return None
    lever = levers[0]
    before, after = dict(reference).get(lever), dict(trial.setting).get(lever)
    if after is not None:
        return Effect(lever, after, before, trial.setting, ratio, trial.realised_ns)
    if before is None:
        return None
    return Effect(lever, before, None, reference, ratio.inverse, -trial.realised_ns)
