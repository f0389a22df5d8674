"""The setting that leads: it follows from the trials alone, so that a search can be taken up."""

from collections.abc import Iterable
from dataclasses import dataclass

from profiler_core.analysis.experiment.choice import same
from profiler_core.model.experiment import Batch, Experiment, Ratio, Setting, Trial

_AS_FAST = 0.995  # of the speed of a setting with one lever more


@dataclass(frozen=True)
class Leader:
    """The fastest setting so far. trial: the last time it was timed; None: nothing compiled ran.

    is_baseline: it is not faster than the baseline beyond the noise.
    is_slower: the baseline is faster than it, and than all else that ran, beyond the noise.
    is_untold: too few rounds were timed to tell it from the baseline.
    """

    setting: Setting
    trial: Trial | None
    batch: Batch | None
    is_baseline: bool = False
    is_slower: bool = False
    is_untold: bool = False


def leader_after(start: Setting, batches: Iterable[Batch]) -> Leader:
    """Which setting leads after these batches.

    A setting takes the lead where it was timed in turns with the one that leads, is faster beyond
    the noise, and its answers are not wrong; of several the fastest. A lever that was left out to
    see what it does, and does nothing, stays out.

    Args:
        start: leads until something is measured.
        batches: in their order; the first holds the start itself, and maybe others beside it.
    """
    leader = Leader(start, None, None)
    for batch in batches:
        fit = [trial for trial in batch.trials if trial.may_win]
        if leader.trial is None:
            # Nothing leads yet: the start does, or whatever runs at all.
            first = max(
                fit, key=lambda t: (same(t.setting) == same(start), _speedup(t)), default=None
            )
            if first is None:
                continue
            leader = Leader(first.setting, first, batch)
            fit = [trial for trial in fit if batch.held_against(trial) == first.setting]
        if batch.reference_trial is not None and batch.reference_trial.may_win:
            leader = Leader(leader.setting, batch.reference_trial, batch)
        compared = [(trial, trial.against) for trial in fit if trial.against is not None]
        faster = [(trial, ratio) for trial, ratio in compared if ratio.is_faster]
        if not faster and batch.phase == "without one lever":
            faster = [(trial, ratio) for trial, ratio in compared if _is_as_fast(ratio)]
        if faster:
            best, _ = max(faster, key=lambda entry: entry[1].ratio)
            leader = Leader(best.setting, best, batch)
    return leader


def leader_of(experiment: Experiment) -> Leader:
    """Which setting leads now, and whether the baseline is as fast without torch.compile.

    Where the one that leads is not faster than the baseline beyond the noise, the fastest of those
    that are does: it was not told from the leader, but it was from the baseline.
    """
    leader = leader_after(experiment.start, experiment.batches)
    speedup = leader.trial.speedup if leader.trial is not None else None
    is_untold = (
        speedup is None and leader.batch is not None and leader.batch.baseline_ns is not None
    )
    # Where the baseline was not timed, it leads among those that are compiled.
    leads = not is_untold if speedup is None else speedup.is_faster
    if leader.trial is not None and leads:
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
    ran = [leader.trial, *(trial for trial in experiment.trials if trial.may_win)]
    is_slower = all(t is not None and t.speedup is not None and t.speedup.is_slower for t in ran)
    return Leader(
        leader.setting, leader.trial, leader.batch,
        is_baseline=True, is_slower=is_slower, is_untold=is_untold,
    )  # fmt: skip


def _is_as_fast(ratio: Ratio) -> bool:
    return ratio.ratio >= _AS_FAST and ratio.low <= 1 <= ratio.high


def _speedup(trial: Trial | None) -> float:
    return trial.speedup.ratio if trial is not None and trial.speedup is not None else 0.0
