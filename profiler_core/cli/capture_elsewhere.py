"""`capture … --host`, `--slurm`, `--kubernetes`: the same capture on another machine."""

import argparse
import contextlib
import json
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from profiler_core import home
from profiler_core import run_directory as names
from profiler_core.capture.elsewhere.host import host_named, with_words
from profiler_core.capture.elsewhere.near import capture_there
from profiler_core.capture.elsewhere.plan import plan_of
from profiler_core.capture.launcher import FinishedCapture, FinishedRun
from profiler_core.capture.signals import cancel_flag
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.sweep.launcher import FinishedSweep
from profiler_core.capture.sweep.points import points_of
from profiler_core.cli.capture_answer import show_captured
from profiler_core.cli.capture_progress import Printer
from profiler_core.cli.capture_sweep import show_swept
from profiler_core.settings import Host

_DAMAGE = (OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError)
# The option of the command line, by the field of `Host`.
_GIVEN = {
    "slurm": "slurm", "slurm_options": "slurm_option", "kubernetes": "kubernetes",
    "image": "image", "namespace": "namespace", "context": "context", "gpus": "gpus",
    "folder": "host_folder",
}  # fmt: skip


def add_host_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that say on which machine."""
    group = parser.add_argument_group("on another machine", "see docs/hosts.md")
    group.add_argument(
        "--host", metavar="USER@HOST", help="over ssh; or a name of [hosts] in settings.toml"
    )
    group.add_argument(
        "--host-folder", metavar="DIR", help="there, for what is sent (default: a temporary one)"
    )
    group.add_argument(
        "--code-there", action="store_true",
        help="the workload's path is one of that machine: nothing of yours is sent",
    )  # fmt: skip
    group.add_argument(
        "--slurm", action="store_true", help="as a job of Slurm: of this machine, or of --host"
    )
    group.add_argument(
        "--slurm-option", action="append", metavar="OPTION",
        help="for sbatch, written --slurm-option=--partition=gpu; repeatable",
    )  # fmt: skip
    group.add_argument("--kubernetes", action="store_true", help="as a Job, with your kubectl")
    group.add_argument("--image", help="of the Job: with torch, and Python 3.11 or newer")
    group.add_argument("--namespace", help="of the Job (default: kubectl's)")
    group.add_argument("--context", help="of kubectl (default: its current one)")
    group.add_argument("--gpus", type=int, help="that the Job asks for (default: 1)")
    group.add_argument("--dry-run", action="store_true", help="show what would run, and stop")


def host_of(arguments: argparse.Namespace) -> Host | None:
    """The machine that the arguments name; None: this one.

    Raises:
        BadInput: there is no such machine, or what they say does not fit together.
    """
    given = {field: getattr(arguments, option) for field, option in _GIVEN.items()}
    given["slurm_options"] = tuple(given["slurm_options"] or ())
    named = None if arguments.host is None else host_named(arguments.host)
    return with_words(named, **given)


def capture_elsewhere(spec: CaptureSpec, host: Host | None, arguments: argparse.Namespace) -> int:
    """Show what will run, then run it, and print the result as that of a capture here.

    Raises:
        BadInput: the user's files cannot be sent.
        Cancelled: what was measured was brought back.
        CaptureFailed: the machine cannot be reached or cannot capture.
    """
    out = (arguments.out or home.runs_directory()).expanduser().resolve()
    if host is None:
        words = [sys.executable, "-m", "profiler_core", "capture", *spec.to_argv(), f"--out={out}"]
        print(f"Captures on this machine:\n{shlex.join(words)}")
        return 0
    plan = plan_of(spec, host, out, is_code_there=arguments.code_there)
    if arguments.dry_run:
        print(plan.text)
        return 0
    if not arguments.quiet:
        print(plan.text, end="\n\n", file=sys.stderr, flush=True)
    started = time.monotonic()
    folders = capture_there(
        plan,
        progress_file=arguments.progress,
        listener=Printer(sys.stderr, is_quiet=arguments.quiet).show,
        is_cancelled=cancel_flag(),
    )
    captures = [_finished(folder, spec, time.monotonic() - started) for folder in folders]
    if spec.sweep is not None:
        return show_swept(_swept(spec, out, captures), as_json=arguments.json)
    return show_captured(captures[0], as_json=arguments.json)


def _finished(folder: Path, spec: CaptureSpec, seconds: float) -> FinishedCapture:
    """What came back, in the order asked for: the baseline's version first."""
    labels = [variant.label for variant in spec.variants]
    runs = []
    for file in folder.glob(f"*/{names.RUN_JSON}"):
        with contextlib.suppress(*_DAMAGE):  # it came, and its page says what is wrong with it
            record = json.loads(file.read_text("utf-8"))
            title = str(record["name"]).removeprefix(f"{spec.title} ")
            run = FinishedRun(title, file.parent, record["status"], record["error"], record)
            is_own = not record["spec"].get("is_against", False)
            place_in_spec = labels.index(record["variant"]) if record["variant"] in labels else 0
            runs.append(((is_own, place_in_spec), run))
    ordered = [run for _, run in sorted(runs, key=lambda entry: entry[0])]
    return FinishedCapture(folder.name, folder, tuple(ordered), seconds)


def _swept(spec: CaptureSpec, out: Path, captures: Sequence[FinishedCapture]) -> FinishedSweep:
    points = points_of(spec)
    by_index = {
        run.record["sweep"]["index"]: finished
        for finished in captures
        for run in finished.runs[:1]
        if run.record.get("sweep")
    }
    pairs = tuple((point, by_index[point.index]) for point in points if point.index in by_index)
    ids = [run.record["sweep"]["id"] for _, finished in pairs for run in finished.runs[:1]]
    is_cancelled = any(finished.is_cancelled for finished in captures)
    seconds = captures[0].seconds if captures else 0.0
    return FinishedSweep(ids[0] if ids else "", out, pairs, len(points), is_cancelled, seconds)
