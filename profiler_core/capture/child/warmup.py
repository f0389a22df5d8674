"""When is a step warm? Pure: the clock, the step and the compile counter are handed in."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple

# Design 4.4: no new compilation in the last 5 steps, and these agree within 5 %.
LAST_STEPS = 5
AGREEMENT = 1.05


class Limits(NamedTuple):
    """Between which numbers of steps, and for how long, the warm-up looks for steadiness.

    ceiling_ns counts from the last compilation: a recompiling model is still warming up.
    """

    floor_steps: int
    ceiling_steps: int
    ceiling_ns: int


class WarmUp(NamedTuple):
    """step_ns: each step's wall time, synchronised. ended_by: "steady" or "ceiling"."""

    step_ns: List[int]
    ended_by: str


def warm_up(
    step: Callable[[int], Any],
    clock_ns: Callable[[], int],
    compilations: Callable[[], int],
    limits: Limits,
    cycle: int = 1,
    progress: Callable[[int], Any] = int,
) -> WarmUp:
    """Run whole cycles of steps until they are steady or a ceiling is met.

    Args:
        step: runs step i to its end (synchronised).
        clock_ns: a monotonic clock.
        compilations: a number that grows with each compilation.
        limits: floor and ceilings; the floor wins over the time ceiling.
        cycle: length of the cycle of input shapes; steps are compared shape by shape.
        progress: told the number of steps after each cycle.
    """
    step_ns: List[int] = []
    last_compilation = 0
    seen = compilations()
    since = clock_ns()
    while True:
        for _ in range(cycle):
            before = clock_ns()
            step(len(step_ns))
            step_ns.append(clock_ns() - before)
            if compilations() != seen:
                seen = compilations()
                last_compilation = len(step_ns)
                since = clock_ns()
        progress(len(step_ns))
        if len(step_ns) < limits.floor_steps:
            continue
        if is_steady(step_ns, len(step_ns) - last_compilation, cycle):
            return WarmUp(step_ns, "steady")
        if len(step_ns) >= limits.ceiling_steps or clock_ns() - since >= limits.ceiling_ns:
            return WarmUp(step_ns, "ceiling")


def is_steady(step_ns: List[int], n_since_compilation: int, cycle: int) -> bool:
    """Were the last 5 steps of each shape compiled before, and do they agree within 5 %?"""
    wanted = LAST_STEPS * cycle
    if len(step_ns) < wanted or n_since_compilation < wanted:
        return False
    by_shape: Dict[int, List[int]] = {}
    for place, duration in enumerate(step_ns[-wanted:]):
        by_shape.setdefault(place % cycle, []).append(duration)
    return all(max(times) <= AGREEMENT * min(times) for times in by_shape.values())
