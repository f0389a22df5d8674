"""A backup put back: into a home without runs and a database without rows.

Files come first and the rows last, in one transaction. Until all of it is there a file in the
home says so: the history cannot be used meanwhile, and the same restore goes on where a killed
one ended.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from profiler_core import run_directory as names
from profiler_core.durable import sync
from profiler_core.errors import BadInput
from profiler_core.home import TRASH, home_directory
from profiler_core.settings import FILE as SETTINGS
from profiler_core.store.backup.manifest import ROWS, BackupFile, Manifest
from profiler_core.store.backup.selection import RUN_ROOTS, SECRETS
from profiler_core.store.backup.vaults import Source, damaged, verified
from profiler_core.store.history.database import UNFINISHED, close_all, where
from profiler_core.store.history.dump import holds, refuse_used_database, restore_rows
from profiler_core.store.history.packing import sha256
from profiler_core.store.history.waiting_deeds import is_file_of_waiting_deeds
from profiler_core.store.private_file import write_private

_NOT_IN_THE_WAY = (SETTINGS, UNFINISHED, "cache")  # may be in the new home


@dataclass(frozen=True)
class Restored:
    """What was put back, and where."""

    manifest: Manifest
    home: Path
    database: str  # without a password
    kept_settings: bool  # the home had its own, which stay


def check(source: Source) -> Manifest:
    """Read all of a backup and compare each file with its hash; writes nothing.

    Raises:
        BadInput: a file is damaged or missing.
    """
    for file in source.manifest.files:
        _target(file)
        for _ in verified(source, file):
            pass
    return source.manifest


def restore(source: Source) -> Restored:
    """Put the backup into this process's home and database.

    Raises:
        BadInput: the home or the database is not empty, the backup is damaged, or it is of a newer
            version.
        HistoryUnavailable: the database cannot be used.
    """
    home, manifest = home_directory(), source.manifest
    rows = next((file for file in manifest.files if file.path == ROWS), None)
    if rows is None:
        raise damaged(BackupFile(ROWS, 0, "", 0))
    kept_settings = (home / SETTINGS).is_file()
    goes_on = _begin(home, manifest)
    if not (goes_on and holds(manifest.n_rows)):
        try:
            refuse_used_database(_schema_of(source, rows))
        except BadInput:
            if not goes_on:  # nothing was put there yet
                (home / UNFINISHED).unlink()
            raise
        for file in manifest.files:
            if file != rows and not (file.path == SETTINGS and kept_settings):
                _put(source, file)
        restore_rows(_lines(verified(source, rows)))
    close_all()
    sync(home)  # once for all files, of which a large home has a hundred thousand
    (home / UNFINISHED).unlink()
    return Restored(manifest, home, where(), kept_settings)


def _begin(home: Path, manifest: Manifest) -> bool:
    """Note that a restore begins here; True where this backup's was begun before."""
    mark = home / UNFINISHED
    digest = hashlib.sha256(msgspec.json.encode(manifest)).hexdigest().encode()
    try:
        earlier = mark.read_bytes()
    except FileNotFoundError:
        for begun in home.glob(f"{UNFINISHED}.*"):  # a restore was killed while it wrote the mark
            begun.unlink(missing_ok=True)
        in_the_way = sorted(
            path.name
            for path in (home.iterdir() if home.is_dir() else ())
            if path.name not in _NOT_IN_THE_WAY and not (path.is_dir() and not any(path.iterdir()))
        )
        if in_the_way:
            raise BadInput(
                f"{home} is not empty: it holds {', '.join(in_the_way[:5])}.",
                remedy="Restore into a new folder, or move what is there away. Only settings.toml "
                "and cache may be there.",
            ) from None
        write_private(mark, digest)
        return False
    if earlier != digest:
        raise BadInput(
            f"Another backup was being restored into {home}, and that did not end.",
            remedy="Restore that one once more, which goes on where it ended; or delete the "
            "folder, and the database if it is not in it.",
        )
    return True


def _put(source: Source, file: BackupFile) -> None:
    target = _target(file)
    if target.is_file() and _has_hash(target, file):
        return  # of a restore that was killed later
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # The same name each time: a restore that goes on writes over what the killed one left.
    aside = target.with_name(f".{hashlib.sha256(file.path.encode()).hexdigest()[:16]}.restoring")
    aside.unlink(missing_ok=True)
    try:
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as sink:
            sink.writelines(verified(source, file))
        os.utime(aside, ns=(file.mtime_ns, file.mtime_ns))
        aside.replace(target)
    except OverflowError as error:  # a time that no file can have
        raise damaged(file) from error
    finally:
        aside.unlink(missing_ok=True)


def _has_hash(path: Path, file: BackupFile) -> bool:
    return path.stat().st_size == file.n_bytes and sha256(path) == file.sha256


def _target(file: BackupFile) -> Path:
    """Where a file goes. A manifest may come from anybody: it names nothing but what backups hold.

    Raises:
        BadInput: it does.
    """
    path = PurePosixPath(file.path)
    is_single = file.path in (SETTINGS, ROWS, *SECRETS) or is_file_of_waiting_deeds(file.path)
    hidden = {part for part in path.parts if part.startswith(".")} - {TRASH, names.IMPORTED}
    is_in_root = len(path.parts) > 1 and path.parts[0] in RUN_ROOTS and not hidden
    if path.is_absolute() or ".." in path.parts or "\0" in file.path:
        is_in_root = is_single = False
    if not (is_single or is_in_root):
        raise BadInput(
            f"The backup holds a file at {file.path[:200]!r}, which no backup does.",
            remedy="Use a backup that you made yourself.",
        )
    return home_directory() / path


def _schema_of(source: Source, rows: BackupFile) -> str:
    first = next(_lines(source.blocks(rows)), b"{}")
    try:
        return str(msgspec.json.decode(first)["schema"])
    except (msgspec.MsgspecError, KeyError, TypeError, RecursionError) as error:
        raise damaged(rows) from error


def _lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield from whole
    if rest:
        yield rest
