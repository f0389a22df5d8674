"""Where an experiment lies: `<runs>/_<experiment_id>/experiment.json`, replaced after each capture.

The captures lie beside it, as any other. The underscore keeps it out of the lists of runs.
"""

import fcntl
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from profiler_core.errors import BadInput
from profiler_core.model.experiment import Experiment
from profiler_core.typed import ready

FILE = "experiment.json"
_LOCK = "running.lock"  # held by the process that runs it; the kernel drops it with its holder
_CACHES = "caches"
NOT_KEPT = (_CACHES, _LOCK)  # of its folder, what only this machine needs
_ID = re.compile(r"\d{8}-\d{6}-try-[a-z0-9-]{1,60}")


def new_experiment_id(title: str) -> str:
    """A fresh id: sorts by time, safe in a URL and as a folder's name."""
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40] or "workload"
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{stamp}-try-{name}-{secrets.token_hex(4)}"


def is_experiment_id(text: str) -> bool:
    """Is it written like the id of an experiment?"""
    return _ID.fullmatch(text) is not None


def folder_of(out: Path, experiment_id: str) -> Path:
    """Its folder.

    Args:
        out: the folder of all captures.
        experiment_id: which; it may come from a URL.

    Raises:
        BadInput: that is no id.
    """
    if not is_experiment_id(experiment_id):
        raise BadInput(
            f"{experiment_id[:60]!r} is not an experiment.", remedy="Choose one from the list."
        )
    return out / f"_{experiment_id}"


def read_experiment(out: Path, experiment_id: str) -> Experiment:
    """As it is now; "interrupted" where its file says that it runs, and no process runs it.

    Raises:
        BadInput: there is none, or its file cannot be read.
    """
    path = folder_of(out, experiment_id) / FILE
    try:
        experiment = msgspec.json.decode(path.read_bytes(), type=ready(Experiment))
    except OSError as error:
        raise BadInput(
            f"There is no experiment {experiment_id}.", remedy="Choose one from the list."
        ) from error
    except (ValueError, RecursionError) as error:  # of another user's code
        raise BadInput(
            f"{path} cannot be read: {error}.", remedy="Start the experiment anew."
        ) from error
    if experiment.experiment_id != experiment_id:  # by which it is written, and run
        raise BadInput(
            f"{path} is of another experiment, {experiment.experiment_id[:60]!r}.",
            remedy="Start the experiment anew.",
        )
    if experiment.state == "running" and not _is_held(path.with_name(_LOCK)):
        return msgspec.structs.replace(experiment, state="interrupted")
    return experiment


@contextmanager
def held_by_one(out: Path, experiment_id: str) -> Iterator[None]:
    """Be the one process that runs an experiment.

    Raises:
        BadInput: another one does.
    """
    folder = folder_of(out, experiment_id)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(
                f"Another process runs the experiment {experiment_id}.",
                remedy="Wait for its end, or cancel it there.",
            ) from None
        yield


def _is_held(lock: Path) -> bool:
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def write_experiment(out: Path, experiment: Experiment) -> None:
    """Replace its file in one step: whoever is killed meanwhile leaves the old one or the new."""
    folder = folder_of(out, experiment.experiment_id)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{FILE}.{os.getpid()}"
    partial.write_bytes(msgspec.json.encode(experiment))
    partial.replace(folder / FILE)


def experiments(out: Path, limit: int = 50) -> Iterator[Experiment]:
    """The newest experiments, newest first; a file that cannot be read is passed over."""
    n_given = 0
    for path in sorted(out.glob(f"_*-try-*/{FILE}"), reverse=True):
        if n_given == limit:
            return
        try:
            yield read_experiment(out, path.parent.name[1:])
        except BadInput:
            continue
        n_given += 1


def caches_of(out: Path, experiment_id: str) -> Path:
    """Where the compiled code of its settings is kept until it ends."""
    return folder_of(out, experiment_id) / _CACHES


def forget_caches(out: Path, experiment_id: str) -> None:
    """Delete the compiled code."""
    shutil.rmtree(caches_of(out, experiment_id), ignore_errors=True)
