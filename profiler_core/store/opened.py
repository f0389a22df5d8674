"""What the user opened by its path on the command line: `<home>/opened.json`.

A path that stands there may be looked at on a server bound to this machine, even outside of the
folders in settings.toml: whoever can write this file could read the path anyway.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from profiler_core.home import home_directory
from profiler_core.store.private_file import write_private

_FILE = "opened.json"
_KEPT = 100  # the last ones; an address that is older must be opened again


def opened_paths() -> tuple[Path, ...]:
    """The paths, the newest last; a damaged file allows nothing."""
    try:
        stored = msgspec.json.decode((home_directory() / _FILE).read_bytes(), type=list[str])
    except (OSError, msgspec.MsgspecError):
        return ()
    return tuple(path for path in map(Path, stored) if path.is_absolute())


def allow(paths: Sequence[Path]) -> None:
    """Let these paths be looked at, links followed."""
    paths_by_name = {str(path): None for path in opened_paths()}
    for path in paths:
        paths_by_name.pop(str(path.resolve()), None)
        paths_by_name[str(path.resolve())] = None
    write_private(home_directory() / _FILE, msgspec.json.encode(list(paths_by_name)[-_KEPT:]))
