"""Is a rank late because its GPU's clock is lower than those of its siblings?

A lower clock makes the same kernels longer, at most by the ratio of the clocks: a kernel that
waits for memory or for launches loses less. More kernels, other grids and a late host are no
matter of clocks, and a GPU that has little to do may have a lower clock without being late for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from profiler_core.analysis.telemetry.clock_events import ClockEvent
from profiler_core.analysis.telemetry.fairness import MOST_APART
from profiler_core.analysis.telemetry.rank_clocks import RankClock


@dataclass(frozen=True)
class SlowClock:
    """Of the late rank's GPU. cost_ns: of what it works more, per step, by the lower clock."""

    mhz: float
    others_mhz: float  # median of the other ranks
    cost_ns: float
    held_by: tuple[ClockEvent, ...]
    is_profiled: bool  # the clocks are of the profiled steps; else of all steps of the run

    def is_cause_of(self, late_ns: float) -> bool:
        """Is it at least half of why the rank is late?

        Args:
            late_ns: all that the others wait for it, per step.
        """
        return 2 * self.cost_ns >= late_ns

    @property
    def lower(self) -> float:
        """By which share its clock is below the others', 0 to 1."""
        return 1 - self.mhz / self.others_mhz


def slow_clock(
    rank: int, shared_ns: float, longer_ns: float, clocks: Sequence[RankClock]
) -> SlowClock | None:
    """None: its clock is not known, or as high as the others', or its kernels are no longer.

    Args:
        rank: the late one.
        shared_ns: of its kernels that the rank it is held against runs as often, ns per step.
        longer_ns: what they last longer than there.
        clocks: of all ranks that were sampled.
    """
    own = next((clock for clock in clocks if clock.rank == rank), None)
    others = [clock.sm_clock_mhz for clock in clocks if clock.rank != rank]
    if own is None or not others or longer_ns <= 0:
        return None
    others_mhz = median(others)
    if own.sm_clock_mhz >= (1 - MOST_APART) * others_mhz:
        return None
    cost_ns = min(longer_ns, shared_ns * (1 - own.sm_clock_mhz / others_mhz))
    return SlowClock(own.sm_clock_mhz, others_mhz, cost_ns, own.held_by, own.is_profiled)
