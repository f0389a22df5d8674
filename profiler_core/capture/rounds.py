"""Interleaved timing rounds: how long a round is, whose turn it is, and when it is enough.

Pure: what runs a round, and the clock, are handed in. Design 4.5: A B C, A B C, …, so that a
clock drift hits all variants alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from profiler_core.capture.spec import LEAST_ROUNDS, TIMING_CAP_SECONDS

# On a CPU, where a step takes long and a person waits beside it, less is enough.
CPU_CAP_SECONDS = 10.0


class RoundRunner(Protocol):
    """A variant that can run one round."""

    def run_round(self, index: int, order: int) -> bool:
        """Run and keep one round; False when the variant failed and is out."""
        ...


@dataclass(frozen=True)
class RoundPlan:
    """`rounds` turns, capped in time, never under `least`.

    The cap is for each variant: with n variants the whole may take n times as long.
    """

    rounds: int
    cap_seconds: float = TIMING_CAP_SECONDS
    least: int = LEAST_ROUNDS

    def is_enough(self, n_turns: int, n_variants: int, elapsed_seconds: float) -> bool:
        """Stop after so many whole turns?"""
        if n_turns >= self.rounds:
            return True
        return n_turns >= self.least and elapsed_seconds >= self.cap_seconds * n_variants


def steps_per_round(step_ns: int, least_steps: int, least_seconds: float, cycle: int) -> int:
    """At least so many steps and so many seconds, in whole cycles of input shapes."""
    for_time = -int(-least_seconds * 1e9 // max(step_ns, 1))
    steps = max(least_steps, for_time, 1)
    return steps + -steps % cycle


def interleave(
    runners: Sequence[RoundRunner],
    plan: RoundPlan,
    clock: Callable[[], float],
    turn_done: Callable[[int], None] | None = None,
) -> int:
    """Run whole turns until the plan is met or nobody is left.

    Args:
        runners: in the order in which they take turns.
        plan: when to stop.
        clock: monotonic seconds.
        turn_done: told the number of whole turns after each.

    Returns:
        The number of turns.
    """
    alive = list(runners)
    started = clock()
    n_turns = 0
    while alive and not plan.is_enough(n_turns, len(alive), clock() - started):
        alive = [r for order, r in enumerate(alive) if r.run_round(n_turns, order)]
        n_turns += 1
        if turn_done is not None:
            turn_done(n_turns)
    return n_turns
