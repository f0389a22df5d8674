"""Are the files of a run those that were recorded? Cheap to ask, certain where it matters.

When a finished run is recorded, the size, time and SHA-256 of each of its files are kept. On
opening, sizes and times are compared, and only a file whose time differs is hashed again; `verify`
hashes all of them.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from sqlalchemy import Connection, select

from profiler_core import run_directory as names
from profiler_core.errors import BadInput
from profiler_core.store.history import places
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.packing import FileMark, file_marks, hash_of, packed_files, sha256
from profiler_core.store.history.query import NOT_DELETED
from profiler_core.store.history.rows import stored
from profiler_core.store.history.tables import run_files
from profiler_core.store.history.tables import runs as table
from profiler_core.store.history.upsert import insert_or_update
from profiler_core.units import format_bytes

_ADDED_LATER = (names.COUNTERS, f"{names.COUNTERS}.gz")  # as docs/counters.md says
_MOST_NAMED = 3


@dataclass(frozen=True)
class ChangedFile:
    """A file that is not what was recorded. Bytes; None: it was, or is, not there."""

    name: str
    n_bytes_then: int | None
    n_bytes_now: int | None

    def __str__(self) -> str:
        if self.n_bytes_then is None:
            return f"{self.name} was added"
        then = format_bytes(self.n_bytes_then)
        if self.n_bytes_now is None:
            return f"{self.name} ({then}) is gone"
        if self.n_bytes_now == self.n_bytes_then:
            return f"{self.name} has the same {then}, and other content"
        return f"{self.name}, {then} then, {format_bytes(self.n_bytes_now)} now"


class FilesChanged(BadInput):
    """The files of a run are not those that were recorded."""


def keep_marks(connection: Connection, run_id: str, marks: Sequence[FileMark]) -> None:
    """Remember what the files of a recorded run hold; replaces what was remembered."""
    values = stored({"run_id": run_id, "content_hash": hash_of(marks), "files": marks})
    insert_or_update(connection, run_files, values, ("content_hash", "files"))


def kept_marks(run_id: str) -> tuple[FileMark, ...] | None:
    """What was remembered; None: nothing, of a run of an earlier version or an unfinished one."""
    query = select(run_files.c.files).where(run_files.c.run_id == run_id)
    with reading() as connection:
        files = connection.execute(query).scalar()
    return None if files is None else tuple(FileMark(*values) for values in files)


def changed_files(run_id: str, directory: Path, *, fully: bool = False) -> tuple[ChangedFile, ...]:
    """The files in `directory` that differ from those that were recorded for the run.

    Args:
        run_id: of a recorded run; of any other, nothing differs.
        directory: where its files are now.
        fully: hash every file, also where neither size nor time differs.
    """
    marks = kept_marks(run_id)
    if marks is None:
        return ()
    now = {path.relative_to(directory).as_posix(): path for path in packed_files(directory)}
    changed = []
    is_touched = False
    for mark in marks:
        path = now.pop(mark.name, None)
        if path is None:
            changed.append(ChangedFile(mark.name, mark.n_bytes, None))
            continue
        stat = path.stat()
        is_same = stat.st_size == mark.n_bytes
        if is_same and (fully or stat.st_mtime_ns != mark.mtime_ns):
            digest = sha256(path) if fully else _digest(path, stat.st_mtime_ns, stat.st_size)
            is_same = digest == mark.sha256
            is_touched = True
        if not is_same:
            changed.append(ChangedFile(mark.name, mark.n_bytes, stat.st_size))
    added = sorted(name for name in now if name not in _ADDED_LATER)
    changed += [ChangedFile(name, None, now[name].stat().st_size) for name in added]
    if is_touched and not changed and not fully:
        # Copied or touched: the next opening hashes nothing.
        times = {path: (directory / path).stat().st_mtime_ns for path in (m.name for m in marks)}
        touched = [mark._replace(mtime_ns=times[mark.name]) for mark in marks]
        with writing() as connection:
            keep_marks(connection, run_id, touched)
    return tuple(changed)


def sentence(changed: Sequence[ChangedFile]) -> str:
    """What differs, the first few by name."""
    named = "; ".join(map(str, changed[:_MOST_NAMED]))
    more = f"; and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
    return f"The files of this run were changed after it was recorded: {named}{more}."


def refuse_if_changed(run_id: str, directory: Path) -> None:
    """Before the run is judged, exported or made a baseline.

    Raises:
        FilesChanged: its files are not those that were recorded.
    """
    changed = changed_files(run_id, directory)
    if changed:
        raise FilesChanged(
            f"{run_id[:200]}: {sentence(changed)}",
            remedy="Put the recorded files back, from a backup or by runs import; or delete this "
            "run, and import the changed files as another one.",
        )


def check_directory(path: Path) -> None:
    """As `refuse_if_changed`, for a path; whatever the history does not keep there, passes.

    Raises:
        FilesChanged: its files are not those that were recorded.
    """
    key = places.key_of(path)
    query = select(table.c.run_id).where(table.c.key == key, NOT_DELETED)
    with reading() as connection:
        run_id = None if key is None else connection.execute(query).scalar()
    if run_id is not None:
        refuse_if_changed(run_id, path)


def notice(run_id: str, key: str, directory: Path) -> str | None:
    """What to say of a run of the library that is looked at; None: nothing differs.

    Args:
        run_id: of its run.json.
        key: of the library.
        directory: its run directory.
    """
    query = select(table.c.key, table.c.recorded_at).where(table.c.run_id == run_id)
    with reading() as connection:
        recorded = connection.execute(query).first()
    if recorded is None or not directory.is_dir():
        return None
    if recorded.key == key:
        changed = changed_files(run_id, directory)
        return sentence(changed) if changed else None
    name = _another(kept_marks(run_id) or (), directory)
    if name is None:
        return None
    return (
        f"This is not the run “{run_id[:200]}” that the history has since "
        f"{recorded.recorded_at[:10]}, though it has its run_id: {name} is another. "
        "It is in no trend, and cannot be a baseline."
    )


def _another(marks: Sequence[FileMark], directory: Path) -> str | None:
    """The first file whose size no recorded one has; of run.json whose content. Hashes no other."""
    sizes = {(_identity(mark)[0], mark.n_bytes) for mark in marks}
    records = {mark.sha256 for mark in marks if mark.name == names.RUN_JSON}
    for path in packed_files(directory) if marks else ():
        stat, name = path.stat(), path.relative_to(directory).as_posix()
        if name == names.RUN_JSON and _digest(path, stat.st_mtime_ns, stat.st_size) not in records:
            return name
        mark = FileMark(name, stat.st_size, 0, "")
        if (_identity(mark)[0], mark.n_bytes) not in sizes and name not in _ADDED_LATER:
            return name
    return None


def keep_if_missing(run_id: str, directory: Path) -> bool:
    """Remember the files of a run of an earlier version as they are now; False: it knows them."""
    if kept_marks(run_id) is not None:
        return False
    marks = file_marks(directory)
    with writing() as connection:
        keep_marks(connection, run_id, marks)
    return True


def difference(
    kept: Sequence[FileMark], others: Sequence[FileMark]
) -> tuple[str | None, str | None]:
    """(a file that `others` have otherwise or besides, one that they lack), by content.

    Files of the structured log may have other names: an upload numbers them.
    """
    before, now = {_identity(m): m for m in kept}, {_identity(m): m for m in others}
    new = (mark.name for identity, mark in now.items() if identity not in before)
    lacking = (mark.name for identity, mark in before.items() if identity not in now)
    extra = next((name for name in new if name not in _ADDED_LATER), None)
    return extra, next((name for name in lacking if name not in _ADDED_LATER), None)


def _identity(mark: FileMark) -> tuple[str, str]:
    path = PurePosixPath(mark.name)
    is_log = path.parent.name == names.TORCH_TRACE
    return os.fspath(path.parent if is_log else path), mark.sha256


@lru_cache(maxsize=4096)
def _digest(path: Path, _mtime_ns: int, _size: int) -> str:
    return sha256(path)
