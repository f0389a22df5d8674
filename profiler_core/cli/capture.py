"""`capture WORKLOAD`: run variants of a model and record what they do."""

import argparse
import signal
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from profiler_core import home
from profiler_core.capture.launcher import FinishedCapture, FinishedRun, run_capture
from profiler_core.capture.progress import ProgressLine
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
from profiler_core.cli.json_output import write_json
from profiler_core.cli.table import table
from profiler_core.errors import Cancelled, CaptureFailed
from profiler_core.units import format_bytes, format_duration

# Some variant failed and another did not: what is there can be read, but not judged.
_PARTLY = 3
# Without a terminal a line that only counts on is printed this rarely.
_QUIET_S = 5.0


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "capture", help="run variants of a model and record what they do"
    )
    add_spec_arguments(parser)
    parser.add_argument(
        "--out", type=Path, help="where the capture's folder is made (default: your library)"
    )
    parser.add_argument("--progress", type=Path, metavar="FILE", help="append JSON lines to FILE")
    parser.add_argument("--json", action="store_true", help="the result as JSON, see docs/json.md")


def run(arguments: argparse.Namespace) -> int:
    """Capture; SIGINT and SIGTERM cancel it and leave readable runs.

    Raises:
        Cancelled: after all children are gone.
        CaptureFailed: no variant could be measured.
    """
    finished = run_capture(
        spec_from_namespace(arguments),
        arguments.out or home.runs_directory(),
        progress_file=arguments.progress,
        listener=Printer(sys.stderr).show,
        is_cancelled=_cancel_flag(),
    )
    if arguments.json:
        write_json(_answer(finished))
    else:
        print(_text(finished))
    if finished.is_cancelled:
        raise Cancelled(
            f"Cancelled; what was measured lies in {finished.directory}.",
            remedy="Start the capture again.",
        )
    failed = [run for run in finished.runs if run.status == "failed"]
    if len(failed) == len(finished.runs):
        raise CaptureFailed(
            f"No variant could be measured ({finished.directory}).",
            remedy="See the errors above.",
        )
    return _PARTLY if failed else 0


class Printer:
    """Shows progress lines: on a terminal in one line that is rewritten, else one by one."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._started = clock()
        self._shown: tuple[str | None, str, str] | None = None
        self._shown_at = 0.0

    def show(self, line: ProgressLine) -> None:
        """Print one line, unless it only counts on and nobody watches."""
        now = self._clock()
        seconds = f"{now - self._started:5.0f} s"
        counts = line.done is not None
        if self._stream.isatty():
            end = "" if counts else "\n"
            self._stream.write(f"\r\x1b[K{seconds}  {line.text}{end}")
        else:
            key = (line.variant, line.phase, "" if counts else line.text)
            is_last = counts and line.done == line.total
            if key == self._shown and not is_last and now - self._shown_at < _QUIET_S:
                return
            self._shown, self._shown_at = key, now
            self._stream.write(f"{seconds}  {line.text}\n")
        self._stream.flush()


def _cancel_flag() -> Callable[[], bool]:
    """True once SIGINT or SIGTERM came. The launcher looks at it several times a second."""
    asked: list[int] = []

    def remember(number: int, _: FrameType | None) -> None:
        asked.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, remember)
    return lambda: bool(asked)


def _answer(finished: FinishedCapture) -> dict[str, Any]:
    return {
        "capture_id": finished.capture_id,
        "directory": finished.directory,
        "seconds": finished.seconds,
        "runs": [
            {
                "variant": run.variant,
                "directory": run.directory,
                "status": run.status,
                "error": run.error,
                "first_call_ns": run.record["measurement"].get("first_call_ns"),
                "warm_first_call_ns": run.record["measurement"].get("warm_first_call_ns"),
                "step_time_ns": _step_time_ns(run),
                "n_rounds": len(run.record["measurement"].get("rounds", ())),
                "peak_reserved_bytes": run.record["measurement"].get("peak_reserved_bytes"),
                "numerics": (run.record["numerics"] or {}).get("verdict"),
                "phase_seconds": run.record["measurement"].get("phase_seconds", {}),
            }
            for run in finished.runs
        ],
    }


def _text(finished: FinishedCapture) -> str:
    rows = [
        [
            run.variant,
            run.status,
            (run.record["numerics"] or {}).get("verdict", "–"),
            format_duration(_step_time_ns(run)),
            format_duration(run.record["measurement"].get("first_call_ns")),
            format_duration(run.record["measurement"].get("warm_first_call_ns")),
            format_bytes(run.record["measurement"].get("peak_reserved_bytes")),
        ]
        for run in finished.runs
    ]
    head = ["variant", "status", "answer", "step time", "first call", "warm", "peak memory"]
    parts = [table(head, rows, n_text=3)]
    parts += [f"{run.variant}: {run.error}" for run in finished.runs if run.error]
    parts += [
        f"{run.variant}: {numerics['reason']}"
        for run in finished.runs
        if (numerics := run.record["numerics"]) and numerics.get("verdict") != "right"
    ]
    spent: dict[str, float] = {}
    for run in finished.runs:
        for phase, seconds in run.record["measurement"].get("phase_seconds", {}).items():
            spent[phase] = spent.get(phase, 0.0) + seconds
    longest = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in spent.items())
    parts.append(f"{finished.seconds:.0f} s in all: {longest}" if longest else "")
    parts.append(str(finished.directory))
    return "\n".join(part for part in parts if part)


def _step_time_ns(run: FinishedRun) -> float | None:
    """Median over the rounds of wall time over steps (design section 6)."""
    rounds = run.record["measurement"].get("rounds", ())
    times = [entry["wall_ns"] / entry["n_steps"] for entry in rounds]
    return statistics.median(times) if times else None
