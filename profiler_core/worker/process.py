"""Starts modules of this package, and fixed programs, with an environment without secrets."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from profiler_core import resources
from profiler_core.worker.environment import Need, child_environment

PACKAGE = "profiler_core"
_SAFE_PATH = "PYTHONSAFEPATH"  # the variable for `-P`


class DidNotRun(Exception):
    """The process could not be started, or was ended because it took too long."""

    def __init__(self, why: str, *, took_too_long: bool = False) -> None:
        super().__init__(why)
        self.took_too_long = took_too_long


def module_words(module: str, *arguments: str) -> list[str]:
    """The command line of a module of this package, by the interpreter that runs this.

    Raises:
        ValueError: it is no module of this package.
    """
    if module != PACKAGE and not module.startswith(f"{PACKAGE}."):
        raise ValueError(f"{module} is no module of {PACKAGE}")
    # Outside of a checkout nothing needs the current folder, and a file in it would be imported.
    flags = () if working_directory() else ("-P",)
    return [sys.executable, *flags, "-m", module, *arguments]


def working_directory() -> Path | None:
    """The folder in which `python -m profiler_core` finds the package; None: any folder.

    In a checkout that is the checkout; an installed package is found from everywhere, and
    its own folder would be a bad place for what a user's code writes.
    """
    checkout = resources.pages_directory().parent
    installed = Path(sysconfig.get_paths()["purelib"]).resolve()
    return None if checkout.is_relative_to(installed) else checkout


@contextmanager
def without_current_folder() -> Iterator[None]:
    """What Python starts by itself meanwhile imports nothing of the folder this was started in.

    multiprocessing starts its processes, and the one that watches over them, by `python -c`, which
    looks there first: for multiprocessing itself, and the folder may be somebody else's. It hands
    `-P` on where this process has it, which the command `fusionscope` has not.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_SAFE_PATH, None)
        else:
            os.environ[_SAFE_PATH] = before


def start_module(
    module: str,
    *arguments: str,
    needs: Collection[Need] = (),
    stdin: IO[bytes],
    stdout: int,
) -> "subprocess.Popen[bytes]":
    """Start a module of this package and return at once.

    Args:
        module: its full name.
        arguments: words.
        needs: what it must reach.
        stdin: what it reads.
        stdout: the descriptor of what it writes.

    Raises:
        DidNotRun: it cannot be started.
    """
    try:
        return subprocess.Popen(
            module_words(module, *arguments),
            cwd=working_directory(),
            env=child_environment(needs),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise DidNotRun(str(error)) from error


def run_module(
    module: str, *arguments: str, environment: Mapping[str, str], within_s: float
) -> "subprocess.CompletedProcess[bytes]":
    """Run a verb of the command line to its end; what it prints is in the answer.

    Raises:
        DidNotRun: it could not be started, or was ended after so many seconds.
    """
    return _run(module_words(module, *arguments), environment, within_s)


def run_program(
    *command: str, within_s: float, environment: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[bytes]":
    """Run a fixed program to its end, such as a browser that prints; no request chooses it.

    Raises:
        DidNotRun: it could not be started, or was ended.
    """
    return _run(command, environment or child_environment(), within_s)


def run_detached(
    module: str, *arguments: str, environment: Mapping[str, str], log: IO[bytes], kept_fd: int,
    within_s: float,
) -> int:  # fmt: skip
    """Run a module that leaves a process behind it; returns the exit status of the first one.

    Args:
        module: its full name; it forks, and its first process ends.
        arguments: words.
        environment: all of its variables.
        log: what it prints.
        kept_fd: a file descriptor that it keeps.
        within_s: the first process must end within so many seconds.

    Raises:
        DidNotRun: it could not be started, or was ended.
    """
    try:
        return subprocess.run(
            module_words(module, *arguments),
            pass_fds=(kept_fd,),
            # The Ctrl-C that stops the server must not reach it.
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=working_directory(),
            env=dict(environment),
            timeout=within_s,
            check=False,
        ).returncode
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DidNotRun(str(error)) from error


def _run(
    command: Sequence[str], environment: Mapping[str, str], within_s: float
) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(
            command,
            cwd=working_directory(),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=within_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DidNotRun(str(error), took_too_long=True) from error
    except OSError as error:
        raise DidNotRun(str(error)) from error
