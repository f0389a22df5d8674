"""`capture … --sweep NAME=V1,V2`: the points one after another, then what they say together."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from profiler_core import home
from profiler_core.answers.encoding import write_json
from profiler_core.answers.record import Answer, means
from profiler_core.capture.launcher import FinishedCapture, ask_first
from profiler_core.capture.signals import cancel_flag
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.sweep.launcher import FinishedSweep, run_sweep
from profiler_core.capture.sweep.points import Point
from profiler_core.cli.capture_answer import (
    CaptureAnswer,
    capture_answer,
    capture_text,
    exit_status,
)
from profiler_core.cli.capture_progress import Printer
from profiler_core.errors import Cancelled, FusionscopeError

_OF_SWEEP = means("its name in the captures, and how long all of it took", "s")


class SweptPoint(CaptureAnswer, frozen=True, kw_only=True):
    """The capture at one point."""

    index: int
    value: Any


class SweptAnswer(Answer, frozen=True):
    """`capture … --sweep …`."""

    sweep_id: Annotated[str, _OF_SWEEP]
    seconds: Annotated[float, _OF_SWEEP]
    captures: Annotated[
        tuple[SweptPoint, ...],
        means("one a point: `index`, `value`, and the keys of [capture](#capture)"),
    ]
    result: Annotated[
        Answer | None,
        means("the keys of [sweep](#sweep), or null where the analyses are not installed"),
    ]


def capture_sweep(spec: CaptureSpec, arguments: argparse.Namespace) -> int:
    """Capture all points; what was measured is kept whatever happens to the rest.

    Raises:
        BadInput: a point makes no sense; then none was started.
        Cancelled: after all children are gone.
        CaptureFailed: nothing could be measured at any point.
    """

    def point_done(point: Point, finished: FinishedCapture) -> None:
        if not arguments.json:
            print(f"{point.text}\n{capture_text(finished)}\n", flush=True)

    show, is_cancelled = Printer(sys.stderr, is_quiet=arguments.quiet).show, cancel_flag()
    preparation = ask_first(spec, show, is_cancelled)
    swept = run_sweep(
        spec,
        arguments.out or home.runs_directory(),
        progress_file=arguments.progress,
        listener=show,
        is_cancelled=is_cancelled,
        interpreters=preparation,
        point_done=point_done,
    )
    return show_swept(swept, as_json=arguments.json)


def show_swept(swept: FinishedSweep, *, as_json: bool) -> int:
    """Print what the points say together; returns the exit status.

    Raises:
        Cancelled: it was.
        CaptureFailed: nothing could be measured at any point.
    """
    _show(swept, as_json=as_json)
    if swept.is_cancelled:
        raise Cancelled(
            f"Cancelled after {len(swept.points)} of {swept.n_asked} points; what was measured "
            f"lies in {swept.out}.",
            remedy="Start the sweep again.",
        )
    runs = [run for _, finished in swept.points for run in finished.runs]
    return exit_status(runs, f"No variant could be measured at any point ({swept.out}).")


def _show(swept: FinishedSweep, *, as_json: bool) -> None:
    folders = [finished.directory for _, finished in swept.points]
    text, answer = _analysed(folders)
    if as_json:
        write_json(_answer(swept, answer))
    elif text:
        print(text)


def _answer(swept: FinishedSweep, result: Answer | None) -> SweptAnswer:
    return SweptAnswer.of(
        swept,
        captures=tuple(
            SweptPoint.of(point, capture_answer(finished)) for point, finished in swept.points
        ),
        result=result,
    )


def _analysed(folders: Sequence[Path]) -> tuple[str, Answer | None]:
    """The sweep as the verb `sweep` shows it; nothing where only the capture is installed."""
    if not folders:
        return "", None
    try:
        from profiler_core.answers.sweep import sweep_answer
        from profiler_core.cli.sweep import sweep_text
        from profiler_core.cli.sweep_runs import sweep_of
    except ModuleNotFoundError as missing:
        return f"{missing.name} is not installed here: see `sweep {folders[0]}` elsewhere.", None
    try:
        sweep = sweep_of(folders)
    except FusionscopeError as error:  # the captures stand without it
        return f"{error.problem} {error.remedy}", None
    return sweep_text(sweep), sweep_answer(sweep)
