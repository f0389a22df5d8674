"""Runs the user's command: keeps and shows its stderr, passes signals on.

The command writes its stderr into a file, from which it is copied to the terminal: a pipe would
break the command if this process were killed, and lose what is in it if the command were.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from profiler_core.capture.handover import FOLDER, IMPORTABLE, OUT, Handover
from profiler_core.capture.torch_settings import torch_logs
from profiler_core.errors import BadInput

_LOOK_EVERY_S = 0.05
_COPIED_BYTES = 1 << 16
# Each makes a log unreadable: see torch_settings.
_REMOVED = ("TORCH_LOGS_FORMAT", "TORCH_LOGS_OUT", "TORCH_LOGS_TRACE_ID_FILTER")


def script_environment(
    folder: Path,
    known_logs: tuple[str, ...],
    *,
    out: Path | None,
    further_logs: tuple[str, ...] = (),
    cold: bool = False,
    inherited: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The environment of the command.

    Args:
        folder: what is handed over (`Handover`).
        known_logs: what TORCH_LOGS may name there.
        out: where Recorders make their runs; None leaves it to the script.
        further_logs: names of OPTIONAL_LOGS.
        cold: with empty caches of the compiler.
        inherited: what this process has; a TORCH_LOGS in it is kept, and ours added.
    """
    variables = {key: value for key, value in inherited.items() if key not in _REMOVED}
    user_logs = variables.get("TORCH_LOGS", "").split(",")
    own_logs = (torch_logs(known_logs, further_logs) or "").split(",")
    user_names = {word.lstrip("+-") for word in user_logs}
    log_words = [*user_logs, *(word for word in own_logs if word.lstrip("+-") not in user_names)]
    variables["TORCH_LOGS"] = ",".join(filter(None, log_words))
    variables["TORCH_TRACE"] = str(Handover(folder).torch_trace)  # 2.3 on, unknown before
    variables["INDUCTOR_PROVENANCE"] = "1"  # kernel -> source line, 2.8 on
    path = [str(IMPORTABLE), variables.get("PYTHONPATH", "")]
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    variables[FOLDER] = str(folder)
    if out is not None:
        variables[OUT] = str(out.expanduser().resolve())
    if cold:
        variables["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "cache" / "inductor")
        variables["TRITON_CACHE_DIR"] = str(folder / "cache" / "triton")
    return variables


def run_command(
    command: Sequence[str], environment: Mapping[str, str], handed: Handover, *, quiet: bool
) -> int:
    """Run it to its end; its exit status, 128 + n where signal n ended it.

    Args:
        command: words, no shell.
        environment: all of its variables.
        handed: where its stderr is kept.
        quiet: its stdout goes to our stderr.

    Raises:
        BadInput: there is no such program.
    """
    handed.stderr.touch()
    try:
        with handed.stderr.open("ab") as stderr:
            process = subprocess.Popen(
                list(command),
                stdout=sys.stderr.fileno() if quiet else None,
                stderr=stderr,
                env=dict(environment),
            )
    except FileNotFoundError:
        raise BadInput(
            f"There is no program {command[0]}.", remedy="Write it as in a shell: python train.py."
        ) from None
    except PermissionError:
        raise BadInput(
            f"{command[0]} cannot be executed.", remedy=f"Write python {command[0]} for a script."
        ) from None
    with _passing_on(process), handed.stderr.open("rb") as stderr_log:
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_EVERY_S)
            _copy(stderr_log)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _copy(file: BinaryIO) -> None:
    while data := file.read(_COPIED_BYTES):
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()


@contextlib.contextmanager
def _passing_on(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Hand SIGINT and SIGTERM to the command; Ctrl-C reaches it from the terminal by itself."""
    n_interrupts = 0

    def interrupted(number: int, _: FrameType | None) -> None:
        nonlocal n_interrupts
        n_interrupts += 1
        # A second SIGINT would interrupt the script's handling of the first.
        if n_interrupts > 1 or not _is_at_a_terminal():
            process.send_signal(number)

    def terminated(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    before = [
        (number, signal.signal(number, handler))
        for number, handler in ((signal.SIGINT, interrupted), (signal.SIGTERM, terminated))
    ]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _is_at_a_terminal() -> bool:
    """Is this process in the group that a terminal's Ctrl-C goes to?"""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
