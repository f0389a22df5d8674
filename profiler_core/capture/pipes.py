"""The two pipes between launcher and child: inherited by the child, or named.

A profiler between the two starts the child itself and may hand no open file on to it; then the
child opens the pipes by their names.
"""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pipes:
    """The launcher's ends, and the keys by which the child opens its own."""

    command_fd: int  # written by the launcher
    event_fd: int  # read by the launcher
    spec_keys: dict[str, object]  # keys of the child's spec
    passed: tuple[int, ...]  # what the child inherits
    started: Callable[[], None]  # called once the child runs
    close: Callable[[], None]


def inherited_pipes() -> Pipes:
    """For a child that the launcher starts itself."""
    command_read, command_write = os.pipe()
    event_read, event_write = os.pipe()

    def started() -> None:
        os.close(command_read)
        os.close(event_write)

    def close() -> None:
        os.close(command_write)
        os.close(event_read)

    spec_keys: dict[str, object] = {"commands": command_read, "events": event_write}
    return Pipes(command_write, event_read, spec_keys, (command_read, event_write), started, close)


def named_pipes(folder: Path, name: str) -> Pipes:
    """For a child that something else starts; the pipes lie in `folder` until `close`.

    The launcher holds both ends of each (Linux: O_RDWR never waits for the other side), so the
    child's death does not end the event pipe: look at the process too.
    """
    paths = [folder / f"{name}.{kind}" for kind in ("commands", "events")]
    fds = []
    for path in paths:
        os.mkfifo(path, 0o600)
        fds.append(os.open(path, os.O_RDWR))

    def close() -> None:
        for fd, path in zip(fds, paths, strict=True):
            os.close(fd)
            with contextlib.suppress(FileNotFoundError):
                path.unlink()

    spec_keys: dict[str, object] = {"commands": str(paths[0]), "events": str(paths[1])}
    return Pipes(fds[0], fds[1], spec_keys, (), lambda: None, close)
