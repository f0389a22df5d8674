"""Counters of the fusion groups: what each moved through DRAM, before and after."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.counters.join import Joined
from profiler_core.analysis.counters.measured import CounterSums, Measured
from profiler_core.analysis.ledger.result import FusionLedger

# Below this share of joined kernel time the counters are of another program than the trace.
ENOUGH = 0.9


@dataclass(frozen=True)
class MeasuredLedger:
    """Counters of both runs, by group. None: that side has none.

    A group that is not in `groups` has no kernel with a row. All values are of one step.
    """

    joined: tuple[Joined | None, Joined | None]
    totals: tuple[Measured | None, Measured | None]  # of all joined kernels of a step
    groups: Mapping[int, tuple[Measured | None, Measured | None]]  # place in ledger.groups

    def of(self, group: int, side: int) -> Measured | None:
        """Of one side (0: baseline) of a group."""
        return self.groups.get(group, (None, None))[side]

    @property
    def both_joined(self) -> bool:
        """Do the counters of both sides belong to their traces?"""
        shares = [joined.matched_time_share if joined else None for joined in self.joined]
        return all(share is not None and share >= ENOUGH for share in shares)


def measured_ledger(
    ledger: FusionLedger, baseline: Joined | None, candidate: Joined | None
) -> MeasuredLedger:
    """Deal the rows of both sides to the groups that own their kernels."""
    sides = [
        _side(joined, group_of)
        for joined, group_of in (
            (baseline, ledger.baseline_group),
            (candidate, ledger.candidate_group),
        )
    ]
    every = sorted({*sides[0][1], *sides[1][1]})
    return MeasuredLedger(
        joined=(baseline, candidate),
        totals=(sides[0][0], sides[1][0]),
        groups={group: (sides[0][1].get(group), sides[1][1].get(group)) for group in every},
    )


def _side(
    joined: Joined | None, group_of: npt.NDArray[np.int32]
) -> tuple[Measured | None, dict[int, Measured]]:
    if joined is None:
        return None, {}
    rows: dict[int, list[int]] = {}
    for event in joined.first_step_events:
        rows.setdefault(int(group_of[event]), []).append(int(joined.row_of_event[event]))
    sums = CounterSums(joined.counters)
    total = sums.of(row for every in rows.values() for row in every)
    return total, {group: sums.of(every) for group, every in rows.items()}
