"""What a change is predicted to save per step, how sure that is, and what it rests on."""

from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.step_time import Clock

Basis = Literal[
    "simulated",  # host and device replayed as two queues under the change
    "measured_by_sibling",  # another run of the same comparison has the change already
    "measured",  # what the trace itself shows to be lost, such as waiting for another rank
    "bound",  # only an upper bound can be known; `reason` says why
]


@dataclass(frozen=True)
class Prediction:
    """Time saved, ns per step; below 0 where the step gets slower.

    low_ns ≤ expected_ns ≤ high_ns. For a bound `high_ns` is that bound, `low_ns` 0, and
    `expected_ns` the middle of what it leaves open, which ranks it and is not shown.
    """

    expected_ns: float
    low_ns: float
    high_ns: float
    basis: Basis
    clock: Clock
    reason: str = ""  # one sentence: why it is only a bound, or which run measured it
    late_work_ns: float = 0.0  # of expected_ns, by what the late rank of a job works more

    @classmethod
    def at_most(cls, most_ns: float, clock: Clock, reason: str) -> "Prediction":
        """An upper bound, with the reason in one sentence why nothing better can be known."""
        return cls(0.5 * most_ns, 0.0, most_ns, "bound", clock, reason)

    @property
    def is_bound(self) -> bool:
        """Is only an upper bound known?"""
        return self.basis == "bound"

    @property
    def is_loss(self) -> bool:
        """Is the step expected to get slower?"""
        return not self.is_bound and self.expected_ns < 0
