"""Where a recorded run's directory lies on this machine, and how its key is made."""

from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.home import runs_directory, uploads_directory
from profiler_core.owner_file import owner_of
from profiler_core.store.key_parts import decode_part, encode_part

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
    """Is there a run directory?"""
    return directory is not None and (directory / names.RUN_JSON).is_file()


def run_directories() -> tuple[Path, ...]:
    """Every run directory of this machine's captures and uploads."""
    run_files = []
    for root in roots().values():
        if root.is_dir():
            run_files += [*root.glob(f"*/{names.RUN_JSON}"), *root.glob(f"*/*/{names.RUN_JSON}")]
    return tuple(
        sorted(
            path.parent
            for path in run_files
            if key_of(path.parent) is not None and not path.parent.is_symlink()
        )
    )
