"""Which frames a trace's compiled regions are of, and which compilations of each it enters.

Where no log tells, the names do: `Torch-Compiled Region: 0/3` is the compilation 3 of frame 0,
counted from 0 (torch >= 2.6).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from profiler_core.analysis.compilation.compiled_calls import entered_regions
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.analysis.step_sample import StepSample, sample_steps
from profiler_core.analysis.steps import span_of
from profiler_core.model.trace import Trace


@dataclass(frozen=True, slots=True)
class TracedFrame:
    """A frame of Dynamo's, by the compilations that are entered."""

    frame: str  # "0"; with compiled autograd "!0/1"
    entries: tuple[tuple[str, float], ...]  # (compile id, entries as `span` says), in their order

    @property
    def was_compiled_anew(self) -> bool:
        """Was another compilation of it made before the last one that is entered?"""
        return _place(self.entries[-1][0]) > 0

    @property
    def n_not_entered(self) -> int:
        """Compilations made before the last one that is entered, and not entered themselves."""
        return _place(self.entries[-1][0]) + 1 - len(self.entries)


@dataclass(frozen=True, slots=True)
class TracedFrames:
    """Of one trace; no frames where its regions have no names that tell."""

    frames: tuple[TracedFrame, ...] = ()
    meet: bool = False  # one step at least enters regions of several frames
    span: Span = PER_STEP

    @property
    def n_compilations(self) -> int:
        """That are entered."""
        return sum(len(frame.entries) for frame in self.frames)


def traced_frames(trace: Trace, sample: StepSample | None = None) -> TracedFrames:
    """What the names of a trace's regions say.

    Args:
        trace: of a compiled run.
        sample: the steps to average over; without any, entries of the whole trace are counted.
    """
    sample = sample or sample_steps(trace)
    entered = entered_regions(trace, sample)
    counts = Counter(compile_id for compile_id, _ in entered)
    by_frame: dict[str, list[str]] = {}
    for compile_id in sorted(counts, key=lambda key: (_frame(key), _place(key))):
        by_frame.setdefault(_frame(compile_id), []).append(compile_id)
    n_steps = max(1, sample.n)
    frames = tuple(
        TracedFrame(frame, tuple((key, counts[key] / n_steps) for key in ids))
        for frame, ids in by_frame.items()
    )
    return TracedFrames(frames, _meet(entered, sample), span_of(trace))


def _meet(entered: Iterable[tuple[str, int]], sample: StepSample) -> bool:
    """Do regions of two frames begin in one step?"""
    frame_of_step: dict[int, str] = {}
    for compile_id, start_ns in entered:
        step = int(np.searchsorted(sample.starts, start_ns, side="right")) - 1
        if step < 0 or start_ns >= sample.ends[step]:
            continue
        if frame_of_step.setdefault(step, _frame(compile_id)) != _frame(compile_id):
            return True
    return False


def _frame(compile_id: str) -> str:
    return compile_id.rpartition("/")[0]


def _place(compile_id: str) -> int:
    return int(compile_id.rpartition("/")[2])
