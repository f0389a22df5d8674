"""`export BASELINE CANDIDATE… -o merged.json.gz`: one trace of all of them, for Perfetto."""

import argparse
from pathlib import Path
from typing import Annotated

from profiler_core.answers.encoding import write_json
from profiler_core.answers.record import Answer, means
from profiler_core.cli.reading_options import add_reading_options, apply_reading_options
from profiler_core.cli.runs import add_runs, comparison_of
from profiler_core.errors import BadInput
from profiler_core.export.merged import Exported, ExportedRun, export_merged
from profiler_core.session.comparison import Comparison
from profiler_core.session.folder import is_run
from profiler_core.units import format_bytes, format_count, format_duration

_ENDINGS = (".json", ".json.gz")


_FILE = means("the file")


class ExportAnswer(Answer, frozen=True):
    """`export`."""

    path: Annotated[Path, _FILE]
    size_bytes: Annotated[int, _FILE]
    n_events: Annotated[int, _FILE]
    runs: Annotated[
        tuple[ExportedRun, ...],
        means(
            "one for each: {keys}; the last two of the whole trace, warm-up included",
            pid="its process in the file",
            aligned_at_ns="on its own trace",
        ),
    ]
    notes: Annotated[
        tuple[str, ...], means("one sentence for each thing that the files did not allow")
    ]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("export", help="one merged trace, for ui.perfetto.dev")
    add_runs(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="merged.json.gz or .json"
    )
    parser.add_argument(
        "--step", type=int, default=0, help="whole step to align at (default 0, the first)"
    )
    parser.add_argument(
        "--all-samples",
        action="store_true",
        help="of power and clocks, each at its own time: often seconds before the trace",
    )
    parser.add_argument("--json", action="store_true", help="what was written, see docs/json.md")
    add_reading_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the file.

    Raises:
        BadInput: its name has another ending.
    """
    apply_reading_options(arguments)
    output: Path = arguments.output
    if not output.name.lower().endswith(_ENDINGS):
        raise BadInput(
            f"The ending of {output} is not one that export can write.",
            remedy=f"Use {' or '.join(_ENDINGS)}.",
        )
    baseline, candidates = arguments.baseline, arguments.candidates
    if candidates or _is_capture(baseline):
        comparison = comparison_of(baseline, candidates)
    else:
        comparison = Comparison.open([baseline]).check()
    exported = export_merged(
        comparison, output, step=arguments.step, all_samples=arguments.all_samples
    )
    if arguments.json:
        write_json(ExportAnswer.of(exported, size_bytes=exported.path.stat().st_size))
    else:
        print(_text(exported))
    return 0


def _is_capture(path: Path) -> bool:
    """A folder of runs; a run or trace alone is exported alone."""
    return path.is_dir() and not is_run(path) and any(is_run(inner) for inner in path.iterdir())


def _text(exported: Exported) -> str:
    size = format_bytes(exported.path.stat().st_size)
    lines = [f"{exported.path} ({format_count(exported.n_events)} events, {size})"]
    lines += [
        f"  {side.label}: {format_count(side.n_kernels)} kernels, "
        f"{format_duration(side.kernel_time_ns)}"
        for side in exported.runs
    ]
    lines += [*exported.notes, "Open it in ui.perfetto.dev: the file stays on your machine."]
    return "\n".join(lines)
