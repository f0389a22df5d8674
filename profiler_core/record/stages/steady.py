"""Stages of steady steps that are not timed: peak memory, telemetry, memory snapshot."""

from __future__ import annotations

import time
from typing import Any, Dict

from profiler_core.capture.child import passes
from profiler_core.record.stages.stage import Recording, Stage

_MEMORY_STEPS = 3


class Memory(Stage):
    """Peak memory of a few steps, after what compiling left in the allocator's cache is gone."""

    doing, phase = "the memory stage", "memory"

    def begin(self, recording: Recording) -> bool:
        if not recording.is_cuda:
            recording.measurement.update(passes.peaks_since(recording.device))
            return False
        recording.clock.synchronize()
        recording.torch.cuda.empty_cache()
        passes.reset_peaks(recording.device)
        self._n_steps_left = _MEMORY_STEPS
        self._peaks: Dict[str, Any] = {}
        return super().begin(recording)

    def step(self) -> bool:
        self._n_steps_left -= 1
        if self._n_steps_left:
            return False
        self._keep_peaks()
        return True

    def pause(self) -> None:
        self._keep_peaks()

    def resume(self) -> bool:
        passes.reset_peaks(self._recording.device)
        return True

    def _keep_peaks(self) -> None:
        """Note down the peaks since the last reset, or those before a pause that are higher."""
        self._recording.clock.synchronize()
        before = self._peaks
        peaks = passes.peaks_since(self._recording.device)
        self._peaks = {key: max(peaks[key] or 0, before.get(key) or 0) or None for key in peaks}
        self._recording.measurement.update(self._peaks)


class Telemetry(Stage):
    """Steady state, not timed, while device and process are sampled (docs/measuring.md)."""

    doing, phase = "the telemetry stage", "telemetry"

    def __init__(self, seconds: float, period_s: float) -> None:
        self._seconds = seconds
        self._period_s = period_s

    def begin(self, recording: Recording) -> bool:
        if self._seconds <= 0:
            return False
        super().begin(recording)
        self._sampling = recording.sampling(self._period_s)
        self._sampling.__enter__()
        recording.clock.synchronize()
        self._n_steps = 0
        self._started_ns, self._before = time.time_ns(), time.perf_counter_ns()
        return True

    def step(self) -> bool:
        self._n_steps += 1
        if time.perf_counter_ns() - self._before < self._seconds * 1e9:
            return False
        self._end()
        return True

    def pause(self) -> None:
        """End it with the steps that it has; without any it begins anew."""
        if self._n_steps:
            self._end()
        else:
            self.abandon()

    def resume(self) -> bool:
        return not self._n_steps and self.begin(self._recording)

    def _end(self) -> None:
        self._recording.clock.synchronize()
        self._recording.measurement["telemetry"] = {
            "started_ns": self._started_ns,
            "wall_ns": time.perf_counter_ns() - self._before,
            "n_steps": self._n_steps,
        }
        self.abandon()

    def abandon(self) -> None:
        self._sampling.__exit__(None, None, None)


class Snapshot(Stage):
    """torch's memory snapshot of one step."""

    doing, phase = "the memory snapshot", "snapshot"

    def __init__(self, name: str) -> None:
        self._name = name

    def begin(self, recording: Recording) -> bool:
        if not recording.is_cuda:
            recording.note("There is no memory snapshot: the steps ran on the CPU.")
            return False
        recording.clock.synchronize()
        self._history = passes.AllocationHistory(str(recording.directory / self._name))
        return super().begin(recording)

    def step(self) -> bool:
        self._recording.clock.synchronize()
        self._history.write()
        self._history.stop()
        return True

    def abandon(self) -> None:
        self._history.stop()

    def pause(self) -> None:
        self.abandon()

    def resume(self) -> bool:
        return self.begin(self._recording)
