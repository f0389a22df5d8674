"""Which files of which role lie in a run directory, by the names that their kinds have there."""

from pathlib import Path

from profiler_core.ingest.file_kind import Role
from profiler_core.ingest.formats import patterns, stored_names
from profiler_core.ingest.sniff import STORED_PACKED
from profiler_core.run_directory import is_text


def file_in(folder: Path, role: Role) -> Path | None:
    """The file of this role in a run directory; None where there is none."""
    return next((p for name in stored_names(role) if (p := folder / name).is_file()), None)


def files_in(folder: Path, role: Role) -> tuple[Path, ...]:
    """Every file of a role that may have several: those in its folder, else the one beside it."""
    every = {path for pattern in patterns(role) for path in folder.glob(pattern)}
    inside = [path for path in every if is_text(path.name)]
    single = file_in(folder, role)
    return tuple(sorted(inside)) or (() if single is None else (single,))


def named_in(folder: Path, name: str) -> Path | None:
    """The file of this name, packed or not; None where there is none."""
    stem = name.removesuffix(".gz")
    return next((p for end in STORED_PACKED if (p := folder / (stem + end)).is_file()), None)
