"""Interleaved timing rounds: their length, their order and their number.

Pure: what runs a round, and the clock, are handed in. A B C, A B C, …, so that a
clock drift hits all variants alike.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from profiler_core.capture.round_plan import CPU_CAP_SECONDS, RoundPlan, steps_per_round

__all__ = ["CPU_CAP_SECONDS", "RoundPlan", "RoundRunner", "interleave", "steps_per_round"]


class RoundRunner(Protocol):
    """A variant that can run one round."""

    def run_round(self, index: int, order: int) -> bool:
        """Run and record one round; False when the variant has failed."""
        ...


Runner = TypeVar("Runner", bound=RoundRunner)


def interleave(
    runners: Sequence[Runner],
    plan: RoundPlan,
    clock: Callable[[], float],
    turn_done: Callable[[int], None] | None = None,
    leave_out: Callable[[Sequence[Runner], int], Collection[Runner]] | None = None,
    *,
    to_and_fro: bool = False,
) -> int:
    """Run whole turns until the plan is met or every variant has failed.

    Args:
        runners: in the order in which they take turns.
        plan: when to stop.
        clock: monotonic seconds.
        turn_done: told the number of whole turns after each.
        leave_out: says after each turn, of those that take part and the number of turns, which of
            them take no further part.
        to_and_fro: every second turn runs backwards (A B, B A), so that nobody is always the first
            on a core.

    Returns:
        The number of turns.
    """
    alive = list(runners)
    started = clock()
    n_turns = 0
    while alive and not plan.is_enough(n_turns, len(alive), clock() - started):
        turn = alive[::-1] if to_and_fro and n_turns % 2 else alive
        ended = [r for order, r in enumerate(turn) if not r.run_round(n_turns, order)]
        alive = [r for r in alive if r not in ended]
        n_turns += 1
        if turn_done is not None:
            turn_done(n_turns)
        if leave_out is not None and alive:
            left_out = leave_out(alive, n_turns)
            alive = [runner for runner in alive if runner not in left_out]
    return n_turns
