"""What changes save per step, together on one clock: host and device replayed under them.

A lever on the device gains nothing where the host is the limit, and the other way round; several
changes are replayed together, because what they save does not add up. docs/what_if.md has the
model, and what it said against what was measured.
"""

import math
from collections.abc import Sequence
from functools import cached_property

from profiler_core.analysis.compilation.event_cost import DEVICE_BOUND
from profiler_core.analysis.step_time import Clock
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.what_if.effects import EFFECTS, changed
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.analysis.what_if.scene import Scene, scene_of
from profiler_core.model.trace import Trace

# By what part of a step two processes of one workload differ where the host is the limit, and
# where the device is: what was measured is another process than what was predicted from.
HOST_SPREAD = 0.07
DEVICE_SPREAD = 0.01


class WhatIf:
    """One run, ready to be replayed under changes.

    Args:
        trace: of the run.
        unprofiled_step_ns: its step time without the profiler; None: the profiled clock.
    """

    def __init__(self, trace: Trace, unprofiled_step_ns: float | None) -> None:
        self._trace = trace
        self._unprofiled_step_ns = unprofiled_step_ns

    @cached_property
    def scene(self) -> Scene | None:
        """What ran; None without steps."""
        return scene_of(self._trace, self._unprofiled_step_ns)

    @property
    def clock(self) -> Clock:
        """Of every prediction."""
        return "profiled" if self._unprofiled_step_ns is None else "unprofiled"

    def saved(self, *changes: Change) -> Prediction | None:
        """What all of these changes together save; None where the trace has no steps."""
        scene = self.scene
        if scene is None:
            return None
        cases = [scene.step_ns * (1 - self._left(scene, changes, case)) for case in range(3)]
        # What is expected is the middle case, as it orders findings, even where the replay of
        # another case saves less than the "least" or more than the "most".
        least, expected, most = min(cases), cases[1], max(cases)
        if max(-least, most) < 1:  # ns: rounding
            return Prediction(0.0, 0.0, 0.0, "simulated", self.clock)
        spread = scene.step_ns * (HOST_SPREAD if self.is_host_bound else DEVICE_SPREAD)
        # What two processes differ by makes no loss of a change that has none.
        low_ns = max(expected - math.hypot(expected - least, spread), least if least < -1 else 0.0)
        high_ns = min(expected + math.hypot(most - expected, spread), scene.step_ns)
        if not scene.is_timed and any(change.kernels for change in changes):
            # Without the profiler the host may let the device's own gain through, or save no more.
            alone = [self.on_device_ns(*changes, case=case) for case in range(3)]
            low_ns, high_ns = min(low_ns, *alone), max(high_ns, *alone)
        return Prediction(
            expected_ns=expected,
            low_ns=low_ns,
            high_ns=high_ns,
            basis="simulated",
            clock=self.clock,
        )

    def expected_ns(self, *changes: Change) -> float | None:
        """What they are expected to save together; None where the trace has no steps."""
        scene = self.scene
        return None if scene is None else scene.step_ns * (1 - self._left(scene, changes, 1))

    def on_device_ns(self, *changes: Change, case: int = 1) -> float:
        """What the device does less in a step; 0 where the trace has no steps.

        Args:
            changes: made one after the other.
            case: 0 for the least that they may save, 1 for what is expected, 2 for the most.
        """
        scene = self.scene
        if scene is None:
            return 0.0
        before = load = scene.load(case)
        for change in changes:
            load = changed(load, change, scene, case)
        return float((before.device_ns - load.device_ns).sum()) / scene.two.n_steps

    def shows(self, change: Change) -> bool:
        """Does the trace show launches of the kernels that the change is about, if it is of any?"""
        if change.lever in EFFECTS and not change.kernels:
            return True
        return self.scene is not None and bool(self.scene.time_in(change.kernels).any())

    @cached_property
    def is_host_bound(self) -> bool:
        """Does the step wait for its host?

        A host that waits for the device in the middle of a step leaves it without work afterwards,
        also where the replay cannot be made as fast as the step was.
        """
        scene = self.scene
        return (
            scene is not None
            and (scene.event_ns is not None or bool(scene.two.waits.any()))
            and scene.two.device_per_step_ns < DEVICE_BOUND * scene.step_ns
        )

    def _left(self, scene: Scene, changes: Sequence[Change], case: int) -> float:
        """The part of a step that is left: the replay's own error cancels out in the ratio.

        No step is shorter than the device's own work in it, which the profiler may slow a little.
        """
        load = scene.load(case)
        before = scene.step_of(load)
        for change in changes:
            load = changed(load, change, scene, case)
        if not before or not scene.step_ns:
            return 1.0
        device_ns = DEVICE_BOUND * float(load.device_ns.sum()) / scene.two.n_steps
        # What made the measured step longer than its replay is nothing that a change takes.
        left = 1 - (before - scene.step_of(load)) / max(before, scene.step_ns)
        return max(left, min(1.0, device_ns / scene.step_ns))
