"""What the user opened by its path on the command line: `<home>/opened.json`.

A path that stands there may be looked at on a server bound to this machine, even outside of the
folders in settings.toml: whoever can write this file could read the path anyway.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from profiler_core.home import home_directory

_FILE = "opened.json"
_KEPT = 100  # the last ones; an address that is older must be opened again


def opened_paths() -> tuple[Path, ...]:
    """The paths, the newest last; a damaged file allows nothing."""
    try:
        said = msgspec.json.decode((home_directory() / _FILE).read_bytes(), type=list[str])
    except (OSError, msgspec.MsgspecError):
        return ()
    return tuple(path for path in map(Path, said) if path.is_absolute())


def allow(paths: Sequence[Path]) -> None:
    """Let these paths be looked at, links followed."""
    known = {str(path): None for path in opened_paths()}
    for path in paths:
        known.pop(str(path.resolve()), None)
        known[str(path.resolve())] = None
    file = home_directory() / _FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f"{_FILE}.{os.getpid()}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(msgspec.json.encode(list(known)[-_KEPT:]))
    aside.replace(file)
