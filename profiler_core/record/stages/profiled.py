"""The stage that runs torch's profiler over the planned steps and writes their trace."""

from __future__ import annotations

from typing import ContextManager, Dict, Optional

from profiler_core.capture.child import passes
from profiler_core.record.stages.stage import Recording, Stage

_MOST_PAUSES = 5  # after which the profiled steps do not fit between two pauses


class Profiled(Stage):
    """The profiler around a few steps; with stacks it is the attribution pass."""

    def __init__(self, name: str, schedule: Dict[str, int], stacks: bool, period_s: float) -> None:
        self._name = name
        self._schedule = schedule
        self._stacks = stacks
        self._period_s = period_s
        self.doing = "the steps with stacks" if stacks else "the profiled steps"
        self.phase = "stacks" if stacks else "profiling"
        self._sampling: Optional[ContextManager[None]] = None
        self._n_pauses = 0

    def begin(self, recording: Recording) -> bool:
        super().begin(recording)
        if recording.is_profiled():  # one at a time: ours would end it
            recording.note(
                "The script's own profiler was running, so {} were left out.".format(self.doing)
            )
            return False
        recording.clock.synchronize()
        self._pass = passes.ProfiledPass(
            recording.device,
            str(recording.directory / self._name),
            self._schedule,
            self._stacks,
        )
        try:
            self._pass.start()
        except RuntimeError as error:  # whatever else holds the profiler's hardware
            recording.note("The profiler did not start, so there is no trace: {}".format(error))
            return False
        if not self._stacks:
            self._sampling = recording.sampling(self._period_s)
            self._sampling.__enter__()
        return True

    def step(self) -> bool:
        if not self._pass.stepped():
            return False
        self._end_sampling()
        self._recording.clock.synchronize()
        result = self._pass.result()
        if not self._stacks:
            self._recording.measurement["profiled"] = {
                "started_ns": result["started_ns"],
                "wall_ns": result["wall_ns"],
                "n_steps": result["n_active_steps"],
            }
            for key in ("peak_allocated_bytes", "peak_reserved_bytes"):
                self._recording.measurement["profiled_" + key] = result[key]
        return True

    def pause(self) -> None:
        """Drop the trace: what follows would lie in it, between two steps or in one."""
        self._n_pauses += 1
        self.abandon()

    def resume(self) -> bool:
        if self._n_pauses <= _MOST_PAUSES:
            return self.begin(self._recording)
        self._recording.note(
            "The loop was paused {} times within {}, so they were left out: pass fewer steps=, or "
            "pause less often.".format(self._n_pauses, self.doing)
        )
        return False

    def abandon(self) -> None:
        self._end_sampling()
        self._pass.drop()

    def _end_sampling(self) -> None:
        sampling, self._sampling = self._sampling, None
        if sampling is not None:
            sampling.__exit__(None, None, None)
