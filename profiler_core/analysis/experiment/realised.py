"""What findings predicted for a lever beside what it gave, over many experiments."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from profiler_core.analysis.experiment.choice import difference
from profiler_core.model.experiment import Experiment, Gain, Trial


@dataclass(frozen=True)
class Realised:
    """One prediction that was tried alone. Times are ns per step saved, below 0 lost."""

    experiment_id: str
    capture_id: str
    variant: str
    finding: str
    word: str
    workload: str
    device: str
    predicted: Gain
    realised_ns: float

    @property
    def error(self) -> float:
        """How far the prediction lies off, as a fraction of what was predicted."""
        predicted_ns = self.predicted.gain_ns
        return abs(self.realised_ns - predicted_ns) / abs(predicted_ns)

    @property
    def is_within(self) -> bool:
        """Does its interval hold what was measured?"""
        low_ns, high_ns = self.predicted.low_ns, self.predicted.high_ns
        return low_ns is not None and high_ns is not None and low_ns <= self.realised_ns <= high_ns


@dataclass(frozen=True)
class KindOfFinding:
    """All that was tried for one kind of finding. n_within: whose interval held."""

    finding: str
    n: int
    median_error: float
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
                reference = experiment.start if batch.reference is None else batch.reference
                levers = difference(reference, trial.setting)
                if len(levers) != 1 or trial.realised_ns is None:
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
                    )
                    for gain in trial.predicted
                    if gain.lever == levers[0] and gain.gain_ns and _is_judged(trial, gain)
                ]
    return tuple(rows)


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
    summed = [
        KindOfFinding(
            finding, len(of_kind), median(row.error for row in of_kind),
            sum(row.is_within for row in of_kind),
        )
        for finding, of_kind in kinds.items()
    ]  # fmt: skip
    return tuple(sorted(summed, key=lambda kind: -kind.n))
