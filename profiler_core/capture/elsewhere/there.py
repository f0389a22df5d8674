"""What runs on the other machine: one capture, or the job of Slurm that makes it.

Needs nothing of ours but what `bundle` sends. Why nothing was captured is a file beside the
folders: problem and remedy, for whoever asked.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from profiler_core.capture.elsewhere.slurm import run_on_slurm
from profiler_core.capture.launcher import ask_first, run_capture
from profiler_core.capture.signals import cancel_flag
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
from profiler_core.capture.sweep.launcher import run_sweep
from profiler_core.errors import Cancelled, FusionscopeError

FAILURE = "failure.json"  # runner_side.py writes one too
_CANCELLED = 130  # what a shell says of a process that SIGINT ended


def main(argv: Sequence[str] | None = None) -> int:
    """Capture; returns the exit status."""
    parser = argparse.ArgumentParser(prog="fusionscope capture")
    add_spec_arguments(parser)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--progress", type=Path, required=True)
    parser.add_argument("--slurm", action="store_true")
    parser.add_argument("--slurm-option", action="append", default=[])
    arguments = parser.parse_args(argv)
    is_cancelled = cancel_flag()
    try:
        spec = spec_from_namespace(arguments)
        if arguments.slurm:
            run_on_slurm(
                spec.to_argv(),
                tuple(arguments.slurm_option),
                arguments.out,
                arguments.progress,
                is_cancelled=is_cancelled,
            )
            return 0
        interpreters = ask_first(spec, lambda _: None, is_cancelled)
        measure = run_capture if spec.sweep is None else run_sweep
        finished = measure(
            spec,
            arguments.out,
            progress_file=arguments.progress,
            is_cancelled=is_cancelled,
            interpreters=interpreters,
        )
    except FusionscopeError as error:
        is_end = isinstance(error, Cancelled)
        failure = {"problem": error.problem, "remedy": error.remedy, "is_cancelled": is_end}
        (arguments.out / FAILURE).write_text(json.dumps(failure), encoding="utf-8")
        print(f"{error.problem}\n{error.remedy}", file=sys.stderr)
        return _CANCELLED if is_end else error.exit_status
    return _CANCELLED if finished.is_cancelled else 0
