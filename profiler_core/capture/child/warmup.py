"""Decides when the warm-up is over. Pure: clock, step and compile counter are arguments."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional

# No new compilation in the last 5 steps, and these agree within 5 %.
LAST_STEPS = 5
AGREEMENT = 1.05


class Limits(NamedTuple):
    """Between which numbers of steps, and for how long, the warm-up looks for steadiness.

    ceiling_ns counts from the last compilation: a recompiling model is still warming up.
    """

    floor_steps: int
    ceiling_steps: int
    ceiling_ns: int


# Floor and ceiling of steps, and time after the last compilation. A CPU's step times seldom agree
# within 5 %, so it meets the ceiling: keep that one low.
ON_GPU = Limits(10, 200, 10_000_000_000)
ON_CPU = Limits(5, 40, 2_000_000_000)
# Ranks cannot each decide when they are steady: a step that one leaves out blocks the others.
WITH_RANKS = Limits(20, 20, 0)


class WarmUp(NamedTuple):
    """step_ns: each step's wall time, synchronised. ended_by: "steady" or "ceiling"."""

    step_ns: List[int]
    ended_by: str


class Watch:
    """Collects the times of steps and decides when they are steady."""

    def __init__(self, limits: Limits, cycle: int, now_ns: int, compilations: int) -> None:
        self.step_ns: List[int] = []
        self._limits = limits
        self._cycle = cycle
        self._since = now_ns
        self._n_compilations = compilations
        self._last_compilation = 0

    def add(self, step_ns: int, now_ns: Callable[[], int], compilations: int) -> None:
        """Add the time of one step; `compilations` is the number of compilations after it."""
        self.step_ns.append(step_ns)
        if compilations != self._n_compilations:
            self._n_compilations = compilations
            self._last_compilation = len(self.step_ns)
            self._since = now_ns()

    def ended_by(self, now_ns: Callable[[], int]) -> Optional[str]:
        """Return "steady", "ceiling", or None to go on; called at the ends of whole cycles."""
        n, limits = len(self.step_ns), self._limits
        if n < limits.floor_steps:
            return None
        if is_steady(self.step_ns, n - self._last_compilation, self._cycle):
            return "steady"
        if n >= limits.ceiling_steps or now_ns() - self._since >= limits.ceiling_ns:
            return "ceiling"
        return None


def warm_up(
    step: Callable[[int], Any],
    clock_ns: Callable[[], int],
    compilations: Callable[[], int],
    limits: Limits,
    cycle: int = 1,
    progress: Callable[[int], Any] = int,
    ready: Callable[[], Any] = int,
) -> WarmUp:
    """Run whole cycles of steps until they are steady or a ceiling is met.

    Args:
        step: runs step i to its end (synchronised).
        clock_ns: a monotonic clock.
        compilations: a number that grows with each compilation.
        limits: floor and ceilings; the floor wins over the time ceiling.
        cycle: length of the cycle of input shapes; steps are compared shape by shape.
        progress: told the number of steps after each cycle.
        ready: called before each step, outside of its time.
    """
    watch = Watch(limits, cycle, clock_ns(), compilations())
    while True:
        for _ in range(cycle):
            ready()
            before = clock_ns()
            step(len(watch.step_ns))
            watch.add(clock_ns() - before, clock_ns, compilations())
        progress(len(watch.step_ns))
        ended_by = watch.ended_by(clock_ns)
        if ended_by is not None:
            return WarmUp(watch.step_ns, ended_by)


def is_steady(step_ns: List[int], n_since_compilation: int, cycle: int) -> bool:
    """Whether the last 5 steps of each shape compiled nothing and agree within 5 %."""
    n_compared = LAST_STEPS * cycle
    if len(step_ns) < n_compared or n_since_compilation < n_compared:
        return False
    by_shape: Dict[int, List[int]] = {}
    for index, duration in enumerate(step_ns[-n_compared:]):
        by_shape.setdefault(index % cycle, []).append(duration)
    return all(max(times) <= AGREEMENT * min(times) for times in by_shape.values())
