"""Times a running step: first call, rounds, steady state. Never under the profiler."""

from __future__ import annotations

import gc
import time
from typing import Any, Callable, Dict, List, Tuple

from .accelerator import Accelerator
from .step import Step


class Clock:
    """Times steps on one device, with one synchronisation at the end of what is timed."""

    def __init__(self, device: Any) -> None:
        self._accelerator = Accelerator(device)
        self._events: List[Any] = []

    def synchronize(self) -> None:
        """Wait for the device; on the CPU nothing is pending."""
        self._accelerator.synchronize()

    def once(self, work: Callable[[], Any]) -> Tuple[Any, int]:
        """Run `work` to its end: its result and the wall time, ns."""
        self.synchronize()
        before = time.perf_counter_ns()
        result = work()
        self.synchronize()
        return result, time.perf_counter_ns() - before

    def round(self, step: Step, first: int, n_steps: int) -> Dict[str, Any]:
        """One round: wall time of all its steps, and each step's own time.

        A step's `reset` is called between parts of the round, outside of what is timed.

        Returns:
            started_ns (epoch), wall_ns, and step_ns: between events of the device on a GPU, by
            the host's clock on a CPU.
        """
        gc.collect()
        was_enabled = gc.isenabled()
        gc.disable()  # as timeit does: a collection would hit one variant and not the other
        try:
            most = step.reset_every or n_steps
            parts = []
            for start in range(first, first + n_steps, most):
                step.refresh()
                n = min(most, first + n_steps - start)
                timed = self._device_round if self._accelerator.has_events else _cpu_round
                parts.append(timed(step, start, n))
            return {
                "started_ns": parts[0]["started_ns"],
                "wall_ns": sum(part["wall_ns"] for part in parts),
                "step_ns": [step_ns for part in parts for step_ns in part["step_ns"]],
            }
        finally:
            if was_enabled:
                gc.enable()

    def _device_round(self, step: Step, first: int, n_steps: int) -> Dict[str, Any]:
        while len(self._events) <= n_steps:
            self._events.append(self._accelerator.event())
        events = self._events
        self.synchronize()
        started_ns, before = time.time_ns(), time.perf_counter_ns()
        events[0].record()
        for index in range(n_steps):
            step(first + index)
            events[index + 1].record()
        self.synchronize()
        wall_ns = time.perf_counter_ns() - before
        times = [round(events[i].elapsed_time(events[i + 1]) * 1e6) for i in range(n_steps)]
        return {"started_ns": started_ns, "wall_ns": wall_ns, "step_ns": times}

    def steady(
        self, step: Step, seconds: float, step_ns: int, by_the_clock: bool = True
    ) -> Dict[str, Any]:
        """Keep the device busy for at least so long; batches of about 0.1 s between two waits.

        Args:
            step: what runs.
            seconds: how long.
            step_ns: that a step takes, about.
            by_the_clock: False: as many steps as take so long at step_ns. Ranks that each look at
                a clock would part.
        """
        batch = max(step.n_shapes, round(1e8 / max(step_ns, 1)))
        batch += -batch % step.n_shapes
        n_steps = 0
        self.synchronize()
        started_ns, before = time.time_ns(), time.perf_counter_ns()
        planned = seconds * 1e9 / max(step_ns, 1)
        while (
            time.perf_counter_ns() - before < seconds * 1e9 if by_the_clock else n_steps < planned
        ):
            for index in range(batch):
                step.ready()
                step(index)
            n_steps += batch
            self.synchronize()
        wall_ns = time.perf_counter_ns() - before
        return {"started_ns": started_ns, "wall_ns": wall_ns, "n_steps": n_steps}


def _cpu_round(step: Step, first: int, n_steps: int) -> Dict[str, Any]:
    started_ns, stamps = time.time_ns(), [time.perf_counter_ns()]
    for index in range(n_steps):
        step(first + index)
        stamps.append(time.perf_counter_ns())
    step_ns = [after - before for before, after in zip(stamps, stamps[1:])]  # noqa: RUF007
    return {"started_ns": started_ns, "wall_ns": stamps[-1] - stamps[0], "step_ns": step_ns}
