"""`try WORKLOAD --patch FILE`: does a change of the code pay, in one answer?"""

import argparse
import sys
from pathlib import Path

from profiler_core.analysis.wording.findings import amount_text
from profiler_core.answers.encoding import write_json
from profiler_core.answers.patch import patch_answer
from profiler_core.capture.launcher import ask_first, run_capture
from profiler_core.capture.signals import cancel_flag
from profiler_core.capture.spec import CaptureSpec
from profiler_core.cli.capture_progress import Printer
from profiler_core.cli.table import table
from profiler_core.errors import Cancelled
from profiler_core.experiments.request import patch_spec
from profiler_core.session.patched import Judged, judged
from profiler_core.units import format_difference


def try_patch(
    spec: CaptureSpec, patch: Path, variant: str, out: Path, arguments: argparse.Namespace
) -> int:
    """Time the file as it is and a patched copy in turns, and judge the pair.

    Args:
        spec: of the workload.
        patch: a unified diff.
        variant: that both run under.
        out: gets the capture.
        arguments: `quiet`, `progress` and `json` of the command line.

    Returns:
        That of `gate` with the limit +0% of the step time.

    Raises:
        BadInput: the patch or the variant makes no sense.
        Cancelled: what was measured is kept.
        CaptureFailed: the workload or its interpreter is at fault.
    """
    asked = patch_spec(spec, str(patch), variant)
    show, is_cancelled = Printer(sys.stderr, is_quiet=arguments.quiet).show, cancel_flag()
    finished = run_capture(
        asked,
        out,
        progress_file=arguments.progress,
        listener=show,
        is_cancelled=is_cancelled,
        interpreters=ask_first(asked, show, is_cancelled),
    )
    if finished.is_cancelled:
        raise Cancelled("Cancelled before both were measured.", remedy="Start it again.")
    result = judged(finished.directory)
    if arguments.json:
        write_json(patch_answer(result, finished.directory))
    else:
        print(text_of(result, finished.directory))
    return result.gate.exit_status


def text_of(result: Judged, directory: Path) -> str:
    """For a terminal."""
    moved = [[group.title, format_difference(group.delta_ns)] for group in result.moved]
    findings = [
        [word, finding.title, amount_text(finding.prediction) if finding.prediction else "–"]
        for word, changed in (("gone", result.solved), ("new", result.new))
        for finding in changed
    ]
    parts = [
        result.sentence,
        "\n".join(f"{c.quantity.label}: {c.sentence}" for c in result.gate.checks),
        table(["what moved", "per step"], moved, n_text=1) if moved else "",
        table(["", "finding", "predicted"], findings, n_text=2) if findings else "",
        f"Both runs lie in {directory}",
    ]
    return "\n\n".join(part for part in parts if part)
