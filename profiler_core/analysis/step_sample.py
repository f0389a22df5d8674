"""A sample of a trace's steps, spread evenly, for analyses that are too slow for all of them.

Steps of a sample are spread evenly over the trace, one from each stretch of equal length, at a
place in it that moves from stretch to stretch, so that inputs which are cycled all come up.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.work import host_steps
from profiler_core.model.trace import Trace

# Calls of the driver and ranges of annotations in the steps of a sample, roughly. The shipped
# captures have up to 3 000, so their steps are all looked at.
MOST_ROWS = 20_000
FEWEST_STEPS = 8
_GOLDEN = 0.6180339887498949  # multiples of it spread evenly over [0, 1)

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class StepSample:
    """Some whole steps, in order of time."""

    numbers: Ints  # 0-based, among all steps
    starts: Ints
    ends: Ints
    untils: Ints  # where the next step of the trace begins; code between two is the first one's
    n_all: int  # steps of the trace

    @property
    def n(self) -> int:
        """How many steps these are."""
        return int(self.numbers.size)

    @property
    def is_all(self) -> bool:
        """Are these all of the trace's?"""
        return self.n == self.n_all

    def rows(self, moments: Ints) -> Ints:
        """The rows of a table, by its ts_ns in order, that `holds` would find, without a scan."""
        low = np.searchsorted(moments, self.starts, side="left")
        length = np.maximum(0, np.searchsorted(moments, self.untils, side="left") - low)
        first = np.cumsum(length) - length
        rows: Ints = np.arange(int(length.sum())) + np.repeat(low - first, length)
        return rows

    def holds(self, moments: Ints) -> npt.NDArray[np.bool_]:
        """Does a moment lie in one of the steps, or between it and the next one?"""
        position = np.searchsorted(self.starts, moments, side="right") - 1
        inside: npt.NDArray[np.bool_] = (position >= 0) & (moments < self.untils[position])
        return inside


def sample_steps(trace: Trace, most_rows: int = MOST_ROWS) -> StepSample:
    """All steps of a trace, or as many of them as hold about `most_rows` rows of the host."""
    steps = host_steps(trace)
    starts, ends = steps["ts_ns"].to_numpy(), steps["end_ns"].to_numpy()
    untils = np.append(starts[1:], ends[-1:])
    n_all = steps.height
    n_rows = trace.runtime.height + trace.annotations.height
    n_sampled = max(FEWEST_STEPS, n_all * most_rows // max(1, n_rows))
    if n_sampled >= n_all:
        numbers = np.arange(n_all)
    else:
        offset = np.arange(n_sampled) * _GOLDEN % 1.0
        sampled_at = (np.arange(n_sampled) + offset) * n_all / n_sampled
        numbers = np.unique(sampled_at.astype(np.int64))
    return StepSample(numbers, starts[numbers], ends[numbers], untils[numbers], n_all)
