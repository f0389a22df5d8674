"""The timed rounds: what the step time is made of."""

from __future__ import annotations

import os
import time
from typing import Any, ContextManager, List, Optional

from profiler_core.capture.child.compiled_parts import n_compilations
from profiler_core.capture.round_plan import RoundPlan, steps_per_round
from profiler_core.capture.telemetry.host_load import HostLoadWatch
from profiler_core.record.stages.stage import Recording, Stage


class Timing(Stage):
    """Rounds of steps, each between two waits for the device; nothing is profiled.

    Args:
        plan: how many rounds.
        round_steps: at least so many steps a round.
        round_seconds: and so long; 0 makes every round `round_steps` long.
        period_s: of the telemetry meanwhile; None: not sampled.
    """

    doing, phase = "the timed rounds", "timing"

    def __init__(
        self, plan: RoundPlan, round_steps: int, round_seconds: float, period_s: Optional[float]
    ) -> None:
        self._plan = plan
        self._round = (round_steps, round_seconds)
        self._period_s = period_s
        self._sampling: Optional[ContextManager[None]] = None

    def begin(self, recording: Recording) -> bool:
        if not self._plan.rounds:
            return False
        super().begin(recording)
        self._n_steps = steps_per_round(recording.typical_step_ns, *self._round, 1)
        recording.measurement.update(rounds=[], step_event_ns=[], interleaved=False)
        self._compilations = n_compilations()
        if recording.is_profiled():
            recording.note("The script's own profiler ran while steps were timed, and slowed them.")
        self._events: List[Any] = []
        if recording.is_cuda:
            self._events = [
                recording.torch.cuda.Event(enable_timing=True) for _ in range(self._n_steps + 1)
            ]
        if self._period_s is not None:
            self._sampling = recording.sampling(self._period_s)
            self._sampling.__enter__()
        self._is_over = False
        self._started = time.monotonic()
        self._load = HostLoadWatch(os.getpid(), os.getpid())
        self._begin_round()
        return True

    def step(self) -> bool:
        if self._events:
            self._n_steps_done += 1
            self._events[self._n_steps_done].record()
            if self._n_steps_done < self._n_steps:
                return False
        else:
            self._stamps.append(time.perf_counter_ns())
            if len(self._stamps) <= self._n_steps:
                return False
        return self._end_round()

    def pause(self) -> None:
        """End the round with the steps that it has; one without any is begun anew."""
        n_steps = self._n_steps_done if self._events else len(self._stamps) - 1
        if n_steps:
            self._is_over = self._keep_round(n_steps)

    def resume(self) -> bool:
        if not self._is_over:
            self._begin_round()
        return not self._is_over

    def _begin_round(self) -> None:
        self._n_steps_done = 0
        self._recording.clock.synchronize()
        self._started_ns = time.time_ns()
        self._stamps = [time.perf_counter_ns()]
        if self._events:
            self._events[0].record()

    def _end_round(self) -> bool:
        self._is_over = self._keep_round(self._n_steps)
        if not self._is_over:
            self._begin_round()
        return self._is_over

    def _keep_round(self, n_steps: int) -> bool:
        """Note down a round that ends here, after so many steps; True when it was the last one."""
        self._recording.clock.synchronize()
        wall_ns = (time.perf_counter_ns() if self._events else self._stamps[-1]) - self._stamps[0]
        pairs = zip(self._events[:n_steps], self._events[1:])
        step_ns = [round(start.elapsed_time(end) * 1e6) for start, end in pairs] or [
            after - before for before, after in zip(self._stamps, self._stamps[1:])
        ]
        measurement = self._recording.measurement
        rounds = measurement["rounds"]
        rounds.append(
            {
                "index": len(rounds),
                "order": 0,
                "n_steps": n_steps,
                "started_ns": self._started_ns,
                "wall_ns": wall_ns,
            }
        )
        measurement["step_event_ns"] += step_ns
        measurement["n_compilations_while_timed"] = n_compilations() - self._compilations
        if self._plan.is_enough(len(rounds), 1, time.monotonic() - self._started):
            measurement["host_load"] = self._load.seen()
            self.abandon()
            return True
        self._recording.save()
        return False

    def abandon(self) -> None:
        sampling, self._sampling = self._sampling, None
        if sampling is not None:
            sampling.__exit__(None, None, None)
