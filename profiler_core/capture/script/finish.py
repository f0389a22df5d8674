"""After the command: marks recordings that were killed as failed, and compresses all files."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiler_core import run_directory as names
from profiler_core.capture.handover import Handover
from profiler_core.capture.pack import pack
from profiler_core.capture.run_writer import write_json

_SIGNALLED = 128  # a shell's way to say it


@dataclass(frozen=True)
class Recorded:
    """A run that the command's Recorders made, as run.json has it at the end."""

    directory: Path
    record: dict[str, Any]


def finish(handed: Handover, exit_status: int) -> tuple[Recorded, ...]:
    """Every run of the command; those whose process is gone are marked as failed."""
    recorded = []
    directories = handed.runs()
    for directory in directories:
        try:
            record = json.loads((directory / names.RUN_JSON).read_text("utf-8"))
        except (OSError, ValueError):
            continue  # the script removed it, or moved it away
        if record["status"] == "running" and not _is_alive(record["measurement"]["pid"]):
            record.update(status="failed", error=_why(record, exit_status))
            write_json(directory / names.RUN_JSON, record)
            (directory / names.HEARTBEAT).unlink(missing_ok=True)
            if len(directories) == 1:  # else it is not known whose the lines are
                _keep_logs(handed, directory)
        pack(directory)
        recorded.append(Recorded(directory, record))
    return tuple(recorded)


def keep_logs_alone(handed: Handover, out: Path, name: str) -> Path | None:
    """A folder with the logs of a command that recorded nothing; None where torch logged nothing.

    Args:
        handed: where they are.
        out: the folder is made in there.
        name: of the script.
    """
    if not list(handed.torch_trace.glob("*.log")):
        return None
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    folder = out.expanduser().resolve() / f"{stamp}-{name}-logs-{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    _keep_logs(handed, folder)
    pack(folder)
    return folder


def _keep_logs(handed: Handover, directory: Path) -> None:
    shutil.copyfile(handed.stderr, directory / names.TORCH_LOGS)
    for log in handed.torch_trace.glob("*.log"):
        (directory / names.TORCH_TRACE).mkdir(exist_ok=True)
        shutil.copyfile(log, directory / names.TORCH_TRACE / log.name)


def _why(record: dict[str, Any], exit_status: int) -> str:
    n_rounds = len(record["measurement"].get("rounds", ()))
    rounds_kept = {0: "no timed round is", 1: "one timed round is"}.get(
        n_rounds, f"{n_rounds} timed rounds are"
    )
    how = f"the command ended with status {exit_status}"
    if exit_status > _SIGNALLED:
        with contextlib.suppress(ValueError):
            how = f"killed by {signal.Signals(exit_status - _SIGNALLED).name}"
    return (
        f"The process ended before the recording was complete ({how}); {rounds_kept} kept. The "
        "system kills a process when memory runs out, and torchrun does when another rank failed."
    )


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
