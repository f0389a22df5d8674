"""One rank of a job in numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from profiler_core.analysis.ranks.rank_time import StepTime


@dataclass(frozen=True)
class RankRow:
    """One rank, ns per step, means over the steps."""

    rank: int
    step_ns: float
    compute_ns: float
    communication_ns: float
    exposed_communication_ns: float
    exposed_copy_ns: float
    idle_ns: float
    waited_ns: float  # in collectives, for the rank that came last
    made_wait_ns: float  # of all other ranks together, when this one came last
    n_last: float  # collectives per step in which it came last
    steps: tuple[StepTime, ...]  # the single steps behind the means
    waited_in_steps_ns: tuple[int, ...] = ()  # in each of them

    @property
    def overlap_share(self) -> float | None:
        """Share of the communication that ran beside compute."""
        if not self.communication_ns:
            return None
        return 1 - self.exposed_communication_ns / self.communication_ns


def step_of_job(rows: Sequence[RankRow]) -> float:
    """The job's step, ns: of each step the slowest rank's, then the mean over the steps.

    Args:
        rows: at least one; without a step that all have, it is the slowest rank's own mean.
    """
    of_ranks = [{step.name: step.dur_ns for step in row.steps} for row in rows]
    shared = set.intersection(*(set(of_rank) for of_rank in of_ranks))
    if not shared:
        return max(row.step_ns for row in rows)
    return fmean(max(of_rank[name] for of_rank in of_ranks) for name in shared)
