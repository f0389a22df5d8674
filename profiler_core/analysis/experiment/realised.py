"""What findings predicted for a lever beside what it gave, over many experiments."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from profiler_core.analysis.experiment.choice import difference
from profiler_core.model.experiment import Batch, Experiment, Gain, Trial


@dataclass(frozen=True)
class Realised:
    """One prediction that was tried alone. Times are ns per step saved, below 0 lost.

    low_ns, high_ns: 95 % interval of `realised_ns` by the rounds; None: not kept.
    """

    experiment_id: str
    capture_id: str
    variant: str
    finding: str
    word: str
    workload: str
    device: str
    predicted: Gain
    realised_ns: float
    low_ns: float | None = None
    high_ns: float | None = None

    @property
    def error(self) -> float | None:
        """How far it lies off, as a fraction of what was predicted; None: that was a bound."""
        predicted_ns = self.predicted.gain_ns
        if self.predicted.at_most:
            return None
        return abs(self.realised_ns - predicted_ns) / abs(predicted_ns)

    @property
    def is_within(self) -> bool:
        """Does its interval meet that of what was measured? Of a bound, its end."""
        low_ns = -math.inf if self.predicted.at_most else self.predicted.low_ns
        high_ns = self.predicted.high_ns
        if low_ns is None or high_ns is None:
            return False
        least_ns = self.realised_ns if self.low_ns is None else self.low_ns
        most_ns = self.realised_ns if self.high_ns is None else self.high_ns
        return low_ns <= most_ns and least_ns <= high_ns


@dataclass(frozen=True)
class KindOfFinding:
    """All that was tried for one kind of finding.

    title: its words in the latest experiment. median_error: of what was no bound; None: all were.
    n_within: whose interval or bound held.
    """

    finding: str
    title: str
    n: int
    median_error: float | None
    n_within: int


def realised(experiments: Iterable[Experiment]) -> tuple[Realised, ...]:
    """Every prediction whose lever was the only difference from what it was held against.

    Without those that the measurement cannot judge: it tells neither from the other, and its noise
    is larger than what was predicted.
    """
    rows = []
    for experiment in experiments:
        for batch in experiment.batches:
            for trial in batch.trials:
                predicted = predictions_of(trial, batch, experiment)
                if len({gain.lever for gain in predicted}) != 1 or trial.realised_ns is None:
                    continue
                rows += [
                    Realised(
                        experiment.experiment_id,
                        batch.capture_id,
                        trial.variant,
                        gain.finding,
                        gain.word,
                        experiment.workload,
                        experiment.device,
                        gain,
                        trial.realised_ns,
                        *_interval(trial),
                    )
                    for gain in predicted
                    if gain.gain_ns and _is_judged(trial, gain)
                ]
    return tuple(rows)


def predictions_of(trial: Trial, batch: Batch, experiment: Experiment) -> tuple[Gain, ...]:
    """What findings say of all that it has and the setting that it was held against has not.

    () where it differs in a lever, too, of which no finding says anything: what it saves is then
    not what was predicted.
    """
    reference = experiment.start if batch.reference is None else batch.reference
    levers = difference(reference, trial.setting)
    gains = tuple(gain for gain in trial.predicted if gain.lever in levers)
    return gains if {gain.lever for gain in gains} == set(levers) else ()


def _interval(trial: Trial) -> tuple[float | None, float | None]:
    """From where to where it saves by its rounds, ns per step; None: too few of them."""
    against, step_ns = trial.against, trial.step_ns
    if against is None or step_ns is None:
        return None, None
    return step_ns * (against.low - 1), step_ns * (against.high - 1)


def _is_judged(trial: Trial, gain: Gain) -> bool:
    """Whether it is faster or slower, or half of its 95 % interval less than what was predicted."""
    against = trial.against
    if against is None or trial.step_ns is None:  # too few rounds: the noise is not known
        return False
    if against.is_faster or against.is_slower:
        return True
    half_ns = trial.step_ns * (against.high - against.low) / 2
    return half_ns < abs(gain.gain_ns)


def by_finding(rows: Iterable[Realised]) -> tuple[KindOfFinding, ...]:
    """The median error of each kind of finding, the one that was tried most first."""
    kinds: defaultdict[str, list[Realised]] = defaultdict(list)
    for row in rows:
        kinds[row.finding].append(row)
    summed = []
    for finding, of_kind in kinds.items():
        errors = [row.error for row in of_kind if row.error is not None]
        summed.append(
            KindOfFinding(
                finding, of_kind[-1].predicted.title, len(of_kind),
                median(errors) if errors else None, sum(row.is_within for row in of_kind),
            )
        )  # fmt: skip
    return tuple(sorted(summed, key=lambda kind: -kind.n))
