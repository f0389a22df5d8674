"""`capture … --sweep NAME=V1,V2`: the points one after another, then what they say together."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from profiler_core import home
from profiler_core.capture.launcher import FinishedCapture, ask_first
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.sweep.launcher import FinishedSweep, run_sweep
from profiler_core.capture.sweep.points import Point
from profiler_core.cli.capture_answer import capture_answer, capture_text
from profiler_core.cli.capture_progress import Printer, cancel_flag
from profiler_core.cli.json_output import write_json
from profiler_core.errors import Cancelled, CaptureFailed, FusionscopeError

_PARTLY = 3  # as `capture`: something failed and something did not


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

    show, is_cancelled = Printer(sys.stderr).show, cancel_flag()
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
    _show(swept, as_json=arguments.json)
    if swept.is_cancelled:
        raise Cancelled(
            f"Cancelled after {len(swept.points)} of {swept.n_asked} points; what was measured "
            f"lies in {swept.out}.",
            remedy="Start the sweep again.",
        )
    runs = [run for _, finished in swept.points for run in finished.runs]
    failed = [run for run in runs if run.status == "failed"]
    if len(failed) == len(runs):
        raise CaptureFailed(
            f"No variant could be measured at any point ({swept.out}).",
            remedy="See the errors above.",
        )
    return _PARTLY if failed else 0


def _show(swept: FinishedSweep, *, as_json: bool) -> None:
    folders = [finished.directory for _, finished in swept.points]
    text, answer = _analysed(folders)
    if as_json:
        write_json(_answer(swept, answer))
    elif text:
        print(text)


def _answer(swept: FinishedSweep, answer: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "sweep_id": swept.sweep_id,
        "seconds": swept.seconds,
        "captures": [
            {"index": point.index, "value": point.value, **capture_answer(finished)}
            for point, finished in swept.points
        ],
        "result": answer,
    }


def _analysed(folders: Sequence[Path]) -> tuple[str, dict[str, Any] | None]:
    """The sweep as the verb `sweep` shows it; nothing where only the capture is installed."""
    if not folders:
        return "", None
    try:
        from profiler_core.cli.sweep import sweep_answer, sweep_text
        from profiler_core.cli.sweep_runs import sweep_of
    except ModuleNotFoundError as missing:
        return f"{missing.name} is not installed here: see `sweep {folders[0]}` elsewhere.", None
    try:
        sweep = sweep_of(folders)
    except FusionscopeError as error:  # the captures stand without it
        return f"{error.problem} {error.remedy}", None
    return sweep_text(sweep), sweep_answer(sweep)
