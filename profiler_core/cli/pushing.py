"""`runs push` and `runs pull`: runs between this machine and a team's server."""

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from profiler_core.answers.history import ImportAnswer, PulledAnswer, RunAnswer, run_answer
from profiler_core.cli.history_text import runs_table
from profiler_core.cli.team_server import TeamServer
from profiler_core.errors import BadInput
from profiler_core.export.whole_file import written_aside
from profiler_core.store import history


def push(arguments: argparse.Namespace) -> tuple[ImportAnswer, str]:
    """Send each run, and tell what the server made of it."""
    server = TeamServer.of(arguments.server)
    answers = [pushed(server, named) for named in arguments.run]
    runs = tuple(run for answer in answers for run in answer.runs)
    notes = tuple(note for answer in answers for note in answer.notes)
    return ImportAnswer(runs, notes), "\n".join([runs_table(runs), *notes])


def pull(arguments: argparse.Namespace) -> tuple[PulledAnswer, str]:
    """Fetch each run: into the library, or one into a file."""
    server = TeamServer.of(arguments.server)
    output: Path | None = arguments.output
    if output is not None:
        if len(arguments.run) != 1:
            raise BadInput("One file holds one run.", remedy="Name one run beside -o.")
        with written_aside(output) as aside, aside.open("wb") as sink:
            server.fetch("/api/runs/archive", {"run": arguments.run[0]}, sink)
        return PulledAnswer((), (), output), str(output)
    runs: list[RunAnswer] = []
    notes: list[str] = []
    for run_id in arguments.run:
        with tempfile.TemporaryDirectory(prefix="fusionscope-pull-") as folder:
            packed = Path(folder) / "run.zip"
            with packed.open("wb") as sink:
                server.fetch("/api/runs/archive", {"run": run_id}, sink)
            received, remarks = history.receive(packed)
        runs += map(run_answer, received)
        notes += remarks
    return PulledAnswer(tuple(runs), tuple(notes), None), "\n".join([runs_table(runs), *notes])


def pushed(server: TeamServer, named: str) -> ImportAnswer:
    """What the server made of a run: a directory, a capture's folder, a file, or a recorded run.

    Raises:
        BadInput: there is none, or the server refuses.
    """
    path = Path(named)
    directory = path if path.exists() else history.directory_of(history.run(named))
    with ExitStack() as stack:
        file, name = directory, directory.name
        if directory.is_dir():
            history.runs_in(directory)  # refused before it is packed
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fusionscope-push-"))
            file, name = Path(folder) / "run.zip", f"{directory.resolve().name}.zip"
            with file.open("wb") as sink:
                for block in history.packed(directory):
                    sink.write(block)
        return server.send_file("/api/runs", ImportAnswer, file, name)


def pushed_run(server: TeamServer, named: str) -> str:
    """The id of a run on the server: one of this machine is pushed first.

    Raises:
        BadInput: there are several, or the server refuses.
    """
    if not Path(named).exists():
        return named
    runs = pushed(server, named).runs
    if len(runs) != 1:
        raise BadInput(f"{named} holds {len(runs)} runs: {_ids(runs)}.", remedy="Name one of them.")
    return runs[0].run_id


def _ids(runs: Sequence[RunAnswer]) -> str:
    return ", ".join(run.run_id for run in runs[:4])
