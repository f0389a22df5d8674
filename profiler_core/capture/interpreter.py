"""The interpreter whose environment holds the model: what is installed there, asked once."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiler_core.capture.torch_settings import child_environment
from profiler_core.errors import CaptureFailed

CHILD = Path(__file__).resolve().parent / "child"
_MARK = "FUSIONSCOPE-PROBE "
# Importing torch takes 2 to 10 s from a warm disk, minutes from a cold network file system.
_TIMEOUT_S = 300
_LOOK_EVERY_S = 0.1


@dataclass(frozen=True)
class Interpreter:
    """What `child/probe.py` found. `error` says why torch cannot be used; then most is absent."""

    executable: str
    facts: dict[str, Any]

    @property
    def error(self) -> str | None:
        """Why no capture is possible with it."""
        return self.facts.get("error")

    @property
    def log_names(self) -> tuple[str, ...]:
        """What TORCH_LOGS may name."""
        return tuple(self.facts.get("log_names", ()))

    @property
    def gpus(self) -> tuple[dict[str, Any], ...]:
        """The CUDA devices that its torch sees."""
        return tuple(self.facts.get("gpus", ()))

    def folders(self) -> tuple[str, ...]:
        """Where torch and the standard library lie: not the user's code."""
        return tuple(
            self.facts[key] for key in ("torch_folder", "stdlib_folder") if self.facts.get(key)
        )


def default_python() -> str:
    """The interpreter that runs this."""
    return sys.executable


def probe(
    python: str | None,
    *,
    with_backends: bool = False,
    look: Callable[[], None] = lambda: None,
) -> Interpreter:
    """Ask an interpreter what it can capture; takes some seconds, since it imports torch.

    Args:
        python: its path; None for the one that runs this.
        with_backends: ask for torch.compile's backends too, which takes some seconds more.
        look: called often meanwhile; raises to give up.

    Raises:
        CaptureFailed: the interpreter does not run at all.
    """
    executable = str(Path(python).expanduser()) if python else default_python()
    remedy = "Pass --python path/to/venv/bin/python."
    try:
        process = subprocess.Popen(
            [executable, str(CHILD / "probe.py"), *(["--backends"] if with_backends else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=_bare_environment(),
            start_new_session=True,  # Ctrl-C is for the launcher, which ends it
        )
    except FileNotFoundError:
        raise CaptureFailed(
            f"The interpreter {executable} does not exist.", remedy=remedy
        ) from None
    except PermissionError:
        raise CaptureFailed(f"{executable} cannot be executed.", remedy=remedy) from None
    try:
        stdout, stderr = _output(process, look)
    except subprocess.TimeoutExpired:
        raise CaptureFailed(
            f"{executable} took more than {_TIMEOUT_S} s to import torch.", remedy=remedy
        ) from None
    finally:
        process.kill()
        process.wait()
    for line in stdout.splitlines():
        if line.startswith(_MARK):
            return Interpreter(executable, json.loads(line[len(_MARK) :]))
    last = ([line for line in stderr.splitlines() if line.strip()] or ["no output"])[-1]
    raise CaptureFailed(
        f"{executable} ended with status {process.returncode} when asked for its torch: {last}",
        remedy=remedy,
    )


def _output(process: subprocess.Popen[str], look: Callable[[], None]) -> tuple[str, str]:
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        look()
        try:
            return process.communicate(timeout=_LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                raise


def _bare_environment() -> dict[str, str]:
    nowhere = Path(os.devnull)
    variables = child_environment((), nowhere, None)
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        variables.pop(name)
    return variables
