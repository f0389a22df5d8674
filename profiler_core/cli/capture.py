"""`capture WORKLOAD`: run variants of a model and record what they do."""

import argparse
import sys
from pathlib import Path

from profiler_core import home
from profiler_core.capture.launcher import ask_first, run_capture
from profiler_core.capture.signals import cancel_flag
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
from profiler_core.cli.capture_answer import show_captured
from profiler_core.cli.capture_elsewhere import add_host_arguments, capture_elsewhere, host_of
from profiler_core.cli.capture_progress import Printer
from profiler_core.cli.capture_sweep import capture_sweep


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
    add_host_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Capture; SIGINT and SIGTERM cancel it and leave readable runs.

    Raises:
        Cancelled: after all children are gone.
        CaptureFailed: no variant could be measured; where the workload or the interpreter is at
            fault, nothing was written.
    """
    spec = spec_from_namespace(arguments)
    host = host_of(arguments)
    if host is not None or arguments.dry_run:
        return capture_elsewhere(spec, host, arguments)
    if spec.sweep is not None:
        return capture_sweep(spec, arguments)
    show, is_cancelled = Printer(sys.stderr, is_quiet=arguments.quiet).show, cancel_flag()
    preparation = ask_first(spec, show, is_cancelled)
    finished = run_capture(
        spec,
        arguments.out or home.runs_directory(),
        progress_file=arguments.progress,
        listener=show,
        is_cancelled=is_cancelled,
        interpreters=preparation,
    )
    return show_captured(finished, as_json=arguments.json)
