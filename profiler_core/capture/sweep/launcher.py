"""A sweep from beginning to end: one capture after another, each in a folder of its own.

A point that fails is kept as one that failed, and the next one is tried all the same: memory does
not grow evenly with a size (autotuning and CUDA graphs need their own), and a point that cannot be
built costs seconds. Cancelling ends the running point and keeps those before it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.launcher import FinishedCapture, new_capture_id, run_capture
from profiler_core.capture.progress import ProgressLine, ProgressLog
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.sweep.points import Point, points_of


@dataclass(frozen=True)
class FinishedSweep:
    """The result of a sweep: a capture for each point that was begun, in their order."""

    sweep_id: str
    out: Path
    points: tuple[tuple[Point, FinishedCapture], ...]
    n_asked: int
    is_cancelled: bool
    seconds: float


def run_sweep(
    spec: CaptureSpec,
    out: Path,
    *,
    progress_file: Path | None = None,
    listener: Callable[[ProgressLine], None] | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
    point_done: Callable[[Point, FinishedCapture], None] | None = None,
    interpreters: dict[str | None, Interpreter] | None = None,
) -> FinishedSweep:
    """Capture every point into a folder of its own below `out`.

    Args:
        spec: with a sweep.
        out: made if absent.
        progress_file: gets the lines of all points; a line of phase "point" begins each.
        listener: gets each line as it comes, with the number of the point in its text.
        is_cancelled: asked several times a second; True ends the point and leaves the rest out.
        point_done: told of each point when it has ended.
        interpreters: those that were asked already, as for `run_capture`.

    Raises:
        BadInput: a point makes no sense; then none was started.
    """
    started = time.monotonic()
    points = points_of(spec)
    sweep_id = new_capture_id(spec)
    out = out.expanduser().resolve()
    captured: list[tuple[Point, FinishedCapture]] = []
    progress = ProgressLog(() if progress_file is None else (progress_file,), listener)
    interpreters = (
        {} if interpreters is None else interpreters
    )  # asking one takes as long as it imports torch
    stopped = False
    for point in points:
        if is_cancelled():
            stopped = True
            progress.say("cancelled", "The sweep was cancelled.")
            break
        finished = run_capture(
            point.spec,
            out,
            progress_file=progress_file,
            listener=None if listener is None else _numbered(listener, point),
            is_cancelled=is_cancelled,
            point=(sweep_id, point),
            interpreters=interpreters,
        )
        captured.append((point, finished))
        if point_done is not None:
            point_done(point, finished)
        if finished.is_cancelled:
            stopped = True
            break
    swept = FinishedSweep(
        sweep_id, out, tuple(captured), len(points), stopped, time.monotonic() - started
    )
    if not stopped:
        _say_the_end(swept, progress)
    return swept


def _numbered(
    listener: Callable[[ProgressLine], None], point: Point
) -> Callable[[ProgressLine], None]:
    prefix = f"[{point.index + 1}/{len(point.values)}] "

    def listen(line: ProgressLine) -> None:
        listener(line if line.phase == "point" else replace(line, text=prefix + line.text))

    return listen


def _say_the_end(swept: FinishedSweep, progress: ProgressLog) -> None:
    """Write the final progress line of the sweep, after that of its last point."""
    runs = [run for _, finished in swept.points for run in finished.runs]
    failed = [run for run in runs if run.status == "failed"]
    points_text = f"{len(swept.points)} points"
    if len(failed) == len(runs):
        progress.say("failed", f"Every variant of all {points_text} failed: {failed[0].error}")
    elif failed:
        progress.say(
            "finished", f"Finished {points_text}; {len(failed)} of {len(runs)} runs failed"
        )
    else:
        progress.say("finished", f"Finished {points_text} after {swept.seconds:.0f} s")
