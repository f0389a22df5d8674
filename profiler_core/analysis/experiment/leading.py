"""The setting that leads: it follows from the trials alone, so that a search can be taken up."""

from collections.abc import Iterable
from dataclasses import dataclass

from profiler_core.analysis.experiment.choice import same
from profiler_core.model.experiment import Batch, Experiment, Ratio, Setting, Trial

_AS_FAST = 0.995  # of the speed of a setting with one lever more
_UNKNOWN = Ratio(ratio=1.0, low=0.0, high=float("inf"))


@dataclass(frozen=True)
class Leader:
    """The fastest setting so far. trial: the last time it was timed; None: nothing compiled ran.

    is_baseline: it is not faster than the baseline beyond the noise.
    """

    setting: Setting
    trial: Trial | None
    batch: Batch | None
    is_baseline: bool = False


def leader_after(start: Setting, batches: Iterable[Batch]) -> Leader:
    """Which setting leads after these batches.

    A setting takes the lead where it was timed in turns with the one that leads, is faster beyond
    the noise, and its answers are not wrong; of several the fastest. A lever that was left out to
    see what it does, and does nothing, stays out.

    Args:
        start: leads until something is measured.
        batches: in their order; the first holds the start itself.
    """
    leader = Leader(start, None, None)
    for batch in batches:
        fit = [trial for trial in batch.trials if trial.may_win]
        if leader.trial is None:
            # Nothing leads yet: whatever runs at all does.
            first = max(fit, key=_speedup, default=None)
            if first is not None:
                leader = Leader(first.setting, first, batch)
            continue
        if batch.reference_trial is not None and batch.reference_trial.may_win:
            leader = Leader(leader.setting, batch.reference_trial, batch)
        faster = [trial for trial in fit if (trial.against or _UNKNOWN).is_faster]
        if not faster and batch.phase == "without one lever":
            faster = [trial for trial in fit if _is_as_fast(trial.against or _UNKNOWN)]
        best = max(faster, key=lambda trial: (trial.against or _UNKNOWN).ratio, default=None)
        if best is not None:
            leader = Leader(best.setting, best, batch)
    return leader


def leader_of(experiment: Experiment) -> Leader:
    """Which setting leads now, and whether the baseline is as fast without torch.compile.

    Where the one that leads is not faster than the baseline beyond the noise, the fastest of those
    that are does: it was not told from the leader, but it was from the baseline.
    """
    leader = leader_after(experiment.start, experiment.batches)
    speedup = leader.trial.speedup if leader.trial is not None else None
    if leader.trial is not None and (speedup is None or speedup.is_faster):
        return leader
    faster = [
        Leader(trial.setting, trial, batch)
        for batch in experiment.batches
        for trial in batch.trials
        if trial.may_win
        and trial.speedup is not None
        and trial.speedup.is_faster
        and same(trial.setting) != same(leader.setting)
    ]
    if faster:
        return max(faster, key=lambda each: _speedup(each.trial))
    return Leader(leader.setting, leader.trial, leader.batch, is_baseline=True)


def _is_as_fast(ratio: Ratio) -> bool:
    return ratio.ratio >= _AS_FAST and ratio.low <= 1 <= ratio.high


def _speedup(trial: Trial | None) -> float:
    return trial.speedup.ratio if trial is not None and trial.speedup is not None else 0.0
