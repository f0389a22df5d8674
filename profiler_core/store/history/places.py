"""Where a recorded run's directory lies on this machine, and how its key is made."""

import os
from collections.abc import Iterator
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.home import runs_directory, uploads_directory
from profiler_core.owner_file import owner_of
from profiler_core.store.key_parts import decode_part, encode_part

NAMELESS = "its name is no text in UTF-8"
_ORIGINS = {"run": "capture", "upload": "upload"}


def roots() -> dict[str, Path]:
    """Prefix of a key -> the folder of all its captures."""
    return {"run": runs_directory(), "upload": uploads_directory()}


def key_of(directory: Path) -> str | None:
    """The library's key of a run directory; None for one that lies elsewhere."""
    resolved = directory.resolve()
    for prefix, root in roots().items():
        if resolved.is_relative_to(root.resolve()):
            parts = resolved.relative_to(root.resolve()).parts
            if 1 <= len(parts) <= 2 and not any(part.startswith((".", "_")) for part in parts):
                return "/".join((prefix, *(encode_part(part) for part in parts)))
    return None


def origin_of(key: str) -> str:
    """Where it came from: "capture" or "upload"."""
    return _ORIGINS[key.partition("/")[0]]


def directory_of_key(key: str) -> Path | None:
    """The inverse of `key_of`, whether something lies there or not; None: not of ours."""
    prefix, _, rest = key.partition("/")
    root = roots().get(prefix)
    parts = [decode_part(part) for part in rest.split("/")]
    bad = any(part in ("", ".", "..") or set(part) & {"/", "\\", "\0"} for part in parts)
    return None if root is None or bad or len(parts) > 2 else root.joinpath(*parts)


def person_of(key: str) -> str | None:
    """Who uploaded or captured what lies there; None: nobody wrote it down."""
    directory = directory_of_key(key)
    if directory is None:
        return None
    # Beside the runs: inside of one an import, or the code that was captured, may write anything.
    return owner_of(directory.parent if key.count("/") > 1 else directory)


def has_run(directory: Path | None) -> bool:
    """Is there a run directory, as far as this user may look?"""
    try:
        return directory is not None and (directory / names.RUN_JSON).is_file()
    except PermissionError:
        return False


def run_directories() -> tuple[Path, ...]:
    """Every run directory of this machine's captures and uploads."""
    captures = [folder for root in roots().values() for folder in folders_in(root)]
    directories = [*captures, *(inner for folder in captures for inner in folders_in(folder))]
    return tuple(
        sorted(
            directory
            for directory in directories
            if has_run(directory) and key_of(directory) is not None and not directory.is_symlink()
        )
    )


def folders_in(folder: Path) -> list[Path]:
    """The folders in it, hidden ones and links to folders too; none where there is no folder.

    Nor where this user may not look. Without those that have no text for a name.

    `Path.glob` raises where another process deletes one of them while it looks.
    """
    try:
        with os.scandir(folder) as entries:
            named = (entry for entry in entries if names.is_text(entry.name))
            return [Path(entry.path) for entry in named if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def closed() -> Iterator[Path]:
    """Folders among the captures and uploads that this user may not look into."""
    for folder in (folder for root in roots().values() for folder in folders_in(root)):
        try:
            os.scandir(folder).close()
        except PermissionError:
            yield folder
        except OSError:  # deleted just now
            continue


def nameless() -> Iterator[Path]:
    """What lies among the runs and has no text for a name: no list and no backup can hold it."""
    for root in roots().values():
        for parent, folders, files in os.walk(root):
            yield from (Path(parent, n) for n in (*folders, *files) if not names.is_text(n))
            folders[:] = [n for n in folders if names.is_text(n) and not n.startswith(".")]


def shown(path: Path) -> str:
    """A path of which not all is text."""
    return path.as_posix().encode("utf-8", "replace").decode("utf-8")
