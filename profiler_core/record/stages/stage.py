"""The interface of a stage, what all stages share, and the stage that skips steps.

`begin` is called at the boundary between two steps, `step` at the end of each step from then on
until it says True; `abandon` undoes what is begun where the loop ends before. `pause` and `resume`
lie around what the loop does between two steps and is none (an evaluation, a checkpoint). A stage
that cannot work here says so in the notes and is over at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, ContextManager, Dict

from profiler_core.capture.child.timing import Clock


class Recording:
    """What the stages share: the device and its clock, and where results go."""

    def __init__(
        self,
        device: Any,
        directory: Path,
        measurement: Dict[str, Any],
        sampling: Callable[[float], ContextManager[None]],
        save: Callable[[], None],
    ) -> None:
        import torch

        self.torch = torch
        self.device = device
        self.is_cuda = device.type == "cuda"
        self.clock = Clock(device)
        self.directory = directory
        self.measurement = measurement
        self.sampling = sampling  # for so long a period, s
        self.save = save  # run.json, as far as it goes
        self.typical_step_ns = 1

    def is_profiled(self) -> bool:
        """Whether the script's own profiler is running."""
        is_enabled = getattr(self.torch.autograd, "_profiler_enabled", None)
        return is_enabled is not None and bool(is_enabled())

    def note(self, sentence: str) -> None:
        """Something that a reader of the run has to know."""
        self.measurement.setdefault("notes", []).append(sentence)


class Stage:
    """One stage of a recording. `doing` is its name in sentences."""

    doing = ""
    phase = ""  # its key in phase_seconds

    def begin(self, recording: Recording) -> bool:
        """Prepare; False when this stage has nothing to measure."""
        self._recording = recording
        return True

    def step(self) -> bool:
        """Handle the end of one step; True when the stage is over."""
        raise NotImplementedError

    def abandon(self) -> None:
        """The loop ended: leave nothing running."""

    def pause(self) -> None:
        """Right after a step: what follows, until `resume`, is no step."""

    def resume(self) -> bool:
        """The next step begins here; False when this stage is over."""
        return True


class Skip(Stage):
    """Skips the first steps."""

    doing, phase = "the skipped steps", "skipped"

    def __init__(self, n_steps: int) -> None:
        self._n_steps_left = n_steps

    def begin(self, recording: Recording) -> bool:
        return super().begin(recording) and self._n_steps_left > 0

    def step(self) -> bool:
        self._n_steps_left -= 1
        return self._n_steps_left <= 0
