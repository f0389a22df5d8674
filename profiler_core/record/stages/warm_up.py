"""The stage of steps before the timing: until their times are steady, or a ceiling is reached."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Deque, Optional, Tuple

from profiler_core.capture.child.compiled_parts import n_compilations
from profiler_core.capture.child.warmup import Limits, Watch
from profiler_core.record.stages.stage import Recording, Stage

_LAST_STEPS = 5  # whose median is the typical step


class WarmUp(Stage):
    """Until nothing was compiled in the last steps and their times agree (docs/measuring.md).

    On a GPU the times are between CUDA events that are read when they have come to pass: nothing
    waits for the device.
    """

    doing, phase = "the warm-up", "warm-up"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def begin(self, recording: Recording) -> bool:
        self._watch = Watch(self._limits, 1, time.perf_counter_ns(), n_compilations())
        self._n_steps = 0
        self._pending: Deque[Tuple[Any, int]] = deque()
        self._last_event = _event(recording.torch) if recording.is_cuda else None
        self.step = self._cuda_step if recording.is_cuda else self._cpu_step  # type: ignore[method-assign]
        self._last_ns = time.perf_counter_ns()
        return super().begin(recording)

    def _cpu_step(self) -> bool:
        now = time.perf_counter_ns()
        self._watch.add(now - self._last_ns, time.perf_counter_ns, n_compilations())
        is_over = self._is_over(self._watch.ended_by(time.perf_counter_ns))
        self._last_ns = time.perf_counter_ns()
        return is_over

    def _cuda_step(self) -> bool:
        self._n_steps += 1
        self._pending.append((_event(self._recording.torch), n_compilations()))
        ended_by = self._watch.ended_by(time.perf_counter_ns) if self._read() else None
        if ended_by is None and self._n_steps >= self._limits.ceiling_steps:
            ended_by = "ceiling"
        if ended_by is not None and self._pending:
            self._recording.clock.synchronize()  # the timed rounds begin with a wait anyway
            self._read()
        return self._is_over(ended_by)

    def _read(self) -> bool:
        """Take the times of the steps that the device has done; were there any?"""
        n_before = len(self._watch.step_ns)
        while self._pending and self._pending[0][0].query():
            event, compilations = self._pending.popleft()
            step_ns = round(self._last_event.elapsed_time(event) * 1e6)  # type: ignore[union-attr]
            self._watch.add(step_ns, time.perf_counter_ns, compilations)
            self._last_event = event
        return len(self._watch.step_ns) > n_before

    def _is_over(self, ended_by: Optional[str]) -> bool:
        if ended_by is None:
            return False
        self._keep(ended_by)
        return True

    def abandon(self) -> None:
        self._keep(None)

    def pause(self) -> None:
        """Take the times of the steps until here; the next one is timed from `resume` on."""
        if self._pending:
            self._recording.clock.synchronize()
            self._read()

    def resume(self) -> bool:
        self._last_ns = time.perf_counter_ns()
        if self._recording.is_cuda:
            self._last_event = _event(self._recording.torch)
        return True

    def _keep(self, ended_by: Optional[str]) -> None:
        times = self._watch.step_ns
        self._recording.measurement["warmup_step_ns"] = times
        self._recording.measurement["warmup_ended_by"] = ended_by
        last = sorted(times[-_LAST_STEPS:])
        self._recording.typical_step_ns = last[len(last) // 2] if last else 1


def _event(torch: Any) -> Any:
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event
