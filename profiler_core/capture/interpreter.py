"""Probes the interpreter whose environment holds the model: what is installed there."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiler_core.capture.python_path import activated, python_at
from profiler_core.capture.torch_settings import child_environment
from profiler_core.errors import CaptureFailed

CHILD = Path(__file__).resolve().parent / "child"
_MARK = "FUSIONSCOPE-PROBE "
_VERSION_MARK = "FUSIONSCOPE-PYTHON "
# Understood by every Python since 1.6, so that an old one can say that it is old.
_SAY_VERSION = (
    f"import sys; sys.stdout.write('\\n{_VERSION_MARK}%d %d %d\\n' % sys.version_info[:3])"
)
_OLDEST_PYTHON = (3, 8)  # torch 2.1's
# An interpreter starts in 0.05 s from a warm disk; a cold network file system takes some seconds.
_ANSWERS_WITHIN_S = 30.0
# Importing torch takes 2 to 10 s from a warm disk, minutes from a cold network file system.
_IMPORTS_WITHIN_S = 300.0
_LOOK_EVERY_S = 0.1
_LONGEST_QUOTE = 200
_REMEDY = "Pass --python path/to/venv/bin/python."


@dataclass(frozen=True)
class Interpreter:
    """The facts that `child/probe.py` printed; most are absent where `error` says why not."""

    executable: str
    facts: dict[str, Any]

    @property
    def error(self) -> str | None:
        """Why no capture is possible with it: half a sentence, "torch is not installed"."""
        return self.facts.get("error")

    @property
    def remedy(self) -> str:
        """The remedy for `error`."""
        return str(self.facts.get("remedy") or "Install torch there, or pass --python PATH.")

    @property
    def refusal(self) -> tuple[str, str] | None:
        """(problem, remedy) where the requested workload is unknown; None where it may exist."""
        refusal = self.facts.get("workload_refusal")
        return (refusal["problem"], refusal["remedy"]) if refusal else None

    @property
    def log_names(self) -> tuple[str, ...]:
        """What TORCH_LOGS may name."""
        return tuple(self.facts.get("log_names", ()))

    @property
    def gpus(self) -> tuple[dict[str, Any], ...]:
        """The CUDA devices that its torch sees."""
        return tuple(self.facts.get("gpus", ()))

    def n_devices(self, kind: str) -> int:
        """How many devices of a kind its torch sees: cuda, xpu, mps."""
        if kind == "cuda":
            return len(self.gpus)
        return int((self.facts.get("other_devices") or {}).get(kind, 0))

    @property
    def torch(self) -> str:
        """Its version."""
        return str(self.facts.get("torch") or "")

    @property
    def settings(self) -> dict[str, Any]:
        """Of the configuration keys that `probe` was given, those that its torch has, by value."""
        return dict(self.facts.get("settings") or {})

    def folders(self) -> tuple[str, ...]:
        """The folders of torch and of the standard library, which hold no code of the user."""
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
    workload: str | None = None,
    settings: Sequence[str] = (),
    look: Callable[[], None] = lambda: None,
    answers_within_s: float = _ANSWERS_WITHIN_S,
    imports_within_s: float = _IMPORTS_WITHIN_S,
) -> Interpreter:
    """Ask an interpreter what it can capture; takes some seconds, since it imports torch.

    Args:
        python: its path, or the folder of its environment; None for the one that runs this.
        with_backends: ask for torch.compile's backends too, which takes some seconds more.
        workload: ask whether it is a workload's name there, for `Interpreter.refusal`.
        settings: ask which of these keys its torch has: `inductor.KEY` and `dynamo.KEY`.
        look: called often meanwhile; raises to give up.
        answers_within_s: how long it may take to say its version.
        imports_within_s: how long it may take to import torch.

    Raises:
        CaptureFailed: there is no interpreter, it does not answer, or it is too old.
    """
    executable = python_at(python) if python else default_python()
    _check_version(executable, look, answers_within_s)
    arguments = [str(CHILD / "probe.py"), *(["--backends"] if with_backends else [])]
    arguments += ["--workload", workload] if workload is not None else []
    arguments += ["--settings", ",".join(settings)] if settings else []
    output = _ask([executable, *arguments], look, imports_within_s, "to import torch")
    for line in output.stdout.splitlines():
        if line.startswith(_MARK):
            return Interpreter(executable, json.loads(line[len(_MARK) :]))
    raise CaptureFailed(
        f"{executable} {_end(output.status)} while it imported torch{_quoted(output, -1)}.",
        remedy="Import torch there by hand to see why, or pass another --python.",
    )


@dataclass(frozen=True)
class _ProcessOutput:
    stdout: str
    stderr: str
    status: int


def _check_version(executable: str, look: Callable[[], None], within_s: float) -> None:
    """Raise unless it is a Python that the child's code runs on."""
    output = _ask([executable, "-c", _SAY_VERSION], look, within_s, "to say its version")
    for line in output.stdout.splitlines():
        if line.startswith(_VERSION_MARK):
            version = tuple(int(number) for number in line.split()[1:])
            break
    else:
        is_python = "Traceback" in output.stderr or "Python" in output.stderr
        raise CaptureFailed(
            f"{executable} is not a working Python interpreter: it {_end(output.status)}"
            f"{_quoted(output, -1 if is_python else 0)}.",
            remedy=_REMEDY,
        )
    if version < _OLDEST_PYTHON:
        raise CaptureFailed(
            f"{executable} is Python {'.'.join(map(str, version))}, and captures need Python "
            f"{'.'.join(map(str, _OLDEST_PYTHON))} or newer.",
            remedy="Pass --python of an environment with torch 2.1 or newer.",
        )


def _ask(
    command: list[str], look: Callable[[], None], within_s: float, purpose: str
) -> _ProcessOutput:
    """Run it to its end, in a session of its own that is ended with it."""
    executable = command[0]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=_bare_environment(executable),
            start_new_session=True,  # Ctrl-C is for the launcher, which ends it
        )
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise CaptureFailed(f"{executable} cannot be executed: {why}.", remedy=_REMEDY) from None
    try:
        stdout, stderr = _output(process, look, within_s)
    except subprocess.TimeoutExpired:
        _end_session(process)
        raise CaptureFailed(
            f"{executable} took more than {within_s:g} s {purpose}.", remedy=_REMEDY
        ) from None
    except BaseException:
        _end_session(process)
        raise
    return _ProcessOutput(stdout, stderr, process.returncode)


def _output(
    process: subprocess.Popen[str], look: Callable[[], None], within_s: float
) -> tuple[str, str]:
    deadline = time.monotonic() + within_s
    while True:
        look()
        try:
            return process.communicate(timeout=_LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                raise


def _end_session(process: subprocess.Popen[str]) -> None:
    """Kill the process and its children: a wrapper script's child would hold the pipes open."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    process.wait()


def _end(status: int) -> str:
    if status < 0:
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    return f"ended with status {status}"


def _quoted(output: _ProcessOutput, index: int) -> str:
    """Its output as part of a sentence: the last line of a traceback, else the first line."""
    for text in (output.stderr, output.stdout):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return f" and printed “{lines[index].rstrip('.')[:_LONGEST_QUOTE]}”"
    return " and printed nothing"


def _bare_environment(executable: str) -> dict[str, str]:
    nowhere = Path(os.devnull)
    variables = activated(child_environment((), nowhere, None), executable)
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        variables.pop(name)
    return variables
