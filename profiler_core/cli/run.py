"""`run -- COMMAND…`: the user's own script with torch's logs on, for the Recorder inside of it."""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Annotated

from profiler_core import home
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.answers.encoding import write_json
from profiler_core.answers.record import Answer, means
from profiler_core.capture.handover import IMPORTABLE, Handover
from profiler_core.capture.option import declared
from profiler_core.capture.script.finish import Recorded, finish, keep_logs_alone
from profiler_core.capture.script.interpreter import known_logs
from profiler_core.capture.script.launch import run_command, script_environment
from profiler_core.capture.spec import CaptureSpec
from profiler_core.cli.table import table
from profiler_core.errors import BadInput
from profiler_core.model.run import measurement_of
from profiler_core.units import format_duration

_LOGS = declared(CaptureSpec)["logs"]
_WHAT_TO_ADD = """
    from profiler_core.record import Recorder

    with Recorder("runs/", workload="my-train", variant="eager") as recorder:
        for batch in loader:
            train_step(batch)
            recorder.step()
"""


_OF_RECORD = ("workload", "variant", "rank", "world_size", "status", "error")


class RecordedAnswer(Answer, frozen=True):
    """One recording."""

    directory: Path
    workload: str | None
    variant: str | None
    rank: int | None
    world_size: int | None
    status: str | None
    error: str | None
    first_call_ns: int | None
    step_time_ns: Annotated[float | None, means("median of the rounds")]
    n_rounds: int
    notes: Annotated[tuple[str, ...], means("what a reader has to know")]


class RunAnswer(Answer, frozen=True):
    """`run`."""

    command: Annotated[tuple[str, ...], means("its words")]
    exit_status: Annotated[int, means("of the command; 128 + n where signal n ended it")]
    runs: Annotated[
        tuple[RecordedAnswer, ...],
        means("one a Recorder and rank, in the order of their beginning: {keys}"),
    ]
    logs: Annotated[
        Path | None,
        means(
            "the folder with the compiler's logs of a script that recorded nothing; null where "
            "runs have them, or torch logged nothing"
        ),
    ]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "run",
        help="your own training script, which records itself",
        usage="fusionscope run [options] -- COMMAND [ARGUMENT…]",
        description="Starts a script with a Recorder in it: torch's logs on, its stderr kept, the "
        "Recorder importable. See docs/recorder.md.",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--out", type=Path, help="where runs are made (default: where the script says)"
    )
    where.add_argument(
        "--library", action="store_true", help="make them in your library, for the pages"
    )
    parser.add_argument(
        "--python", help="the script's interpreter, where it cannot be told from the command"
    )
    parser.add_argument(
        "--cold", action="store_true", help="with empty caches of the compiler, for its true time"
    )
    parser.add_argument("--logs", default="", metavar=_LOGS.about.metavar, help=_LOGS.help)
    parser.add_argument(
        "--json", action="store_true", help="the result; what the script prints goes to stderr"
    )
    parser.add_argument(
        "--print-path", action="store_true", help="only print what to put on PYTHONPATH instead"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Run it; the exit status is the command's.

    Raises:
        BadInput: no command, an unknown log, or a program that is not there.
    """
    if arguments.print_path:
        print(IMPORTABLE)
        return 0
    command = arguments.command[arguments.command[:1] == ["--"] :]
    if not command:
        raise BadInput("No command is given.", remedy="Write fusionscope run -- python train.py.")
    further = _LOGS.value(arguments.logs)
    _LOGS.check(further)
    out = home.runs_directory() if arguments.library else arguments.out
    with tempfile.TemporaryDirectory(prefix="fusionscope-run-") as text:
        folder = Path(text)
        handed = Handover(folder)
        environment = script_environment(
            folder,
            known_logs(command[0], arguments.python),
            out=out,
            further_logs=further,
            cold=arguments.cold,
        )
        exit_status = run_command(command, environment, handed, quiet=arguments.json)
        runs = finish(handed, exit_status)
        logs = None if runs else keep_logs_alone(handed, out or Path("runs"), _script(command))
    if arguments.json:
        write_json(RunAnswer(tuple(command), exit_status, tuple(map(_recorded, runs)), logs))
    else:
        print(_text(runs, logs, exit_status), file=sys.stderr)
    return exit_status


def _script(command: list[str]) -> str:
    """What the script is called: the first word that is a Python file, else the program."""
    return Path(next((word for word in command if word.endswith(".py")), command[0])).stem


def _recorded(run: Recorded) -> RecordedAnswer:
    record, measurement = run.record, run.record["measurement"]
    return RecordedAnswer(
        directory=run.directory,
        **{name: record.get(name) for name in _OF_RECORD},
        first_call_ns=measurement.get("first_call_ns"),
        step_time_ns=_step_time_ns(run),
        n_rounds=len(measurement.get("rounds", ())),
        notes=tuple(measurement.get("notes", ())),
    )


def _text(runs: tuple[Recorded, ...], logs: Path | None, exit_status: int) -> str:
    if not runs:
        logs_line = f"\nThe compiler's logs are kept: fusionscope logs {logs}" if logs else ""
        reason = "The script made no recording. Add to it:"
        if exit_status:  # it may have a Recorder that was never reached
            reason = (
                f"The command ended with exit status {exit_status} before anything was recorded. "
                "If there is no Recorder in the script, add one:"
            )
        return f"\n{reason}\n{_WHAT_TO_ADD}{logs_line}"
    rows = [
        [
            run.record["name"],
            str(run.record["rank"]) if run.record["world_size"] > 1 else "–",
            run.record["status"],
            format_duration(_step_time_ns(run)),
            str(len(run.record["measurement"].get("rounds", ()))),
            format_duration(run.record["measurement"].get("first_call_ns")),
        ]
        for run in runs
    ]
    parts = [
        "",
        table(["recording", "rank", "status", "step time", "rounds", "first call"], rows, n_text=3),
    ]
    parts += [f"{run.record['name']}: {run.record['error']}" for run in runs if run.record["error"]]
    displayed = [run for run in runs if not run.record["rank"]]
    parts += [str(run.directory) for run in displayed]
    parts.append(f"See it: fusionscope open {' '.join(str(run.directory) for run in displayed)}")
    return "\n".join(parts)


def _step_time_ns(run: Recorded) -> float | None:
    return step_time_ns(measurement_of(run.record["measurement"]))
