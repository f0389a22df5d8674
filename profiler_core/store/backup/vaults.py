"""Where a backup lies: in a folder that keeps several, or in one .zip.

    <folder>/objects/<2 digits>/<SHA-256>    what a file holds, once, however many backups have it
    <folder>/backups/<moment>.json           a manifest

    <file>.zip: files/<path> and manifest.json

Whatever a kill leaves behind has another name than these, or is in no manifest.
"""

import hashlib
import os
import secrets
import time
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Protocol, Self

import msgspec

from profiler_core.durable import bring
from profiler_core.errors import BadInput
from profiler_core.store.backup.manifest import FORMAT, BackupFile, Manifest
from profiler_core.store.history.packing import BLOCK_BYTES, PACKED
from profiler_core.typed import ready

ZIP = ".zip"
_LARGEST_MANIFEST_BYTES = 1 << 30
_FORGOTTEN_AFTER_S = 24 * 3600.0
_MANIFEST = "manifest.json"


class Vault(Protocol):
    """What a new backup is written to."""

    def has(self, file: BackupFile) -> bool:
        """Does an earlier backup hold what this file holds?"""

    def keep(self, path: str, blocks: Iterable[bytes], mtime_ns: int) -> BackupFile:
        """Store a file; its blocks may be read only once."""

    def finish(self, manifest: Manifest) -> Manifest:
        """From now on the backup is there; its manifest with what was new in it."""

    def last(self) -> Manifest | None:
        """The backup before, of which unchanged files need not be read again."""


class Source(Protocol):
    """What a backup is read from."""

    manifest: Manifest

    def blocks(self, file: BackupFile) -> Iterator[bytes]:
        """What the file holds.

        Raises:
            BadInput: the backup does not have it.
        """


class FolderVault:
    """A folder that keeps backups, each with only what the others lack."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.n_new_bytes = 0
        _private(folder / "backups")
        _private(folder / "objects")
        for left in (folder / "objects").glob(".new-*"):
            if time.time() - left.stat().st_mtime > _FORGOTTEN_AFTER_S:
                left.unlink(missing_ok=True)

    def has(self, file: BackupFile) -> bool:
        """Does an earlier backup hold what this file holds?"""
        try:
            return _object(self._folder, file.sha256).stat().st_size == file.n_bytes
        except FileNotFoundError:
            return False

    def keep(self, path: str, blocks: Iterable[bytes], mtime_ns: int) -> BackupFile:
        """Store a file."""
        aside = self._folder / "objects" / f".new-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            with _written(aside) as sink:
                sha256, n_bytes = _copied(blocks, sink)
            file = BackupFile(path, n_bytes, sha256, mtime_ns)
            if not self.has(file):
                target = _object(self._folder, sha256)
                _private(target.parent)
                bring(aside, target)
                self.n_new_bytes += n_bytes
        finally:
            aside.unlink(missing_ok=True)
        return file

    def finish(self, manifest: Manifest) -> Manifest:
        """From now on the backup is there."""
        manifest = msgspec.structs.replace(manifest, n_new_bytes=self.n_new_bytes)
        aside = self._folder / "backups" / f".new-{os.getpid()}"
        with _written(aside) as sink:
            sink.write(msgspec.json.encode(manifest))
        # Sorts by time, also among those of one second.
        name = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%S.%fZ")
        bring(aside, self._folder / "backups" / f"{name}.json")
        return manifest

    def last(self) -> Manifest | None:
        """The newest backup here; None: none can be read."""
        try:
            return FolderSource(self._folder).manifest
        except BadInput:
            return None


class ZipVault:
    """One file, whole or absent once the caller renames it."""

    def __init__(self, handle: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(handle, "w")
        self._n_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def has(self, file: BackupFile) -> bool:  # noqa: ARG002 - a new file holds nothing yet
        """No: each .zip stands for itself."""
        return False

    def keep(self, path: str, blocks: Iterable[bytes], mtime_ns: int) -> BackupFile:
        """Store a file. Of a path that is kept twice, the second is found."""
        member = zipfile.ZipInfo(_member(path))
        member.compress_type = zipfile.ZIP_STORED if path.endswith(PACKED) else zipfile.ZIP_DEFLATED
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a name that is there already
            opened = self._zip.open(member, "w", force_zip64=True)
        with opened as sink:
            sha256, n_bytes = _copied(blocks, sink)
        self._n_bytes += n_bytes
        return BackupFile(path, n_bytes, sha256, mtime_ns)

    def finish(self, manifest: Manifest) -> Manifest:
        """Write the manifest; whoever gave the file writes it to the disk."""
        manifest = msgspec.structs.replace(manifest, n_new_bytes=self._n_bytes)
        self._zip.writestr(_MANIFEST, msgspec.json.encode(manifest), zipfile.ZIP_DEFLATED)
        self._zip.close()
        return manifest

    def last(self) -> Manifest | None:
        """None: there is no backup before."""
        return None


class FolderSource:
    """A backup of a folder: the newest, or the one of that name."""

    def __init__(self, folder: Path, name: str | None = None) -> None:
        """Read its manifest.

        Raises:
            BadInput: there is none.
        """
        names = backups_in(folder)
        if not names or (name is not None and name not in names):
            raise BadInput(
                f"{folder} holds no backup{'' if name is None else f' {name}'}.",
                remedy=f"It holds: {', '.join(names[-10:])}."
                if names
                else "Pass the folder or the .zip that `backup` wrote. A backup that was killed "
                "leaves none: make another.",
            )
        self._folder = folder
        self.name = name or names[-1]
        self.manifest = _manifest((folder / "backups" / f"{self.name}.json").read_bytes())

    def blocks(self, file: BackupFile) -> Iterator[bytes]:
        """What the file holds."""
        try:
            with _object(self._folder, file.sha256).open("rb") as source:
                while block := source.read(BLOCK_BYTES):
                    yield block
        except FileNotFoundError as error:
            raise damaged(file) from error


class ZipSource:
    """A backup in one file."""

    def __init__(self, path: Path) -> None:
        """Read its manifest.

        Raises:
            BadInput: it is no backup.
        """
        self.name = path.name
        try:
            self._zip = zipfile.ZipFile(path)
            info = self._zip.getinfo(_MANIFEST)
            if info.file_size > _LARGEST_MANIFEST_BYTES:
                raise KeyError(_MANIFEST)
            self.manifest = _manifest(self._zip.read(info))
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise BadInput(
                f"{path} is no backup of Fusionscope.",
                remedy="Pass the folder or the .zip that `backup` wrote.",
            ) from error

    def blocks(self, file: BackupFile) -> Iterator[bytes]:
        """What the file holds."""
        try:
            with self._zip.open(_member(file.path)) as source:
                while block := source.read(BLOCK_BYTES):
                    yield block
        except (KeyError, zipfile.BadZipFile, EOFError, OSError) as error:
            raise damaged(file) from error


def source_of(path: Path, name: str | None = None) -> "FolderSource | ZipSource":
    """The backup at a path.

    Raises:
        BadInput: none lies there.
    """
    return FolderSource(path, name) if path.is_dir() or name else ZipSource(path)


def backups_in(folder: Path) -> list[str]:
    """The names of the backups that a folder keeps, the oldest first."""
    return sorted(path.stem for path in folder.glob("backups/[0-9]*.json"))


def damaged(file: BackupFile) -> BadInput:
    """A file of a backup is not what the manifest says."""
    return BadInput(
        f"The backup is damaged: {file.path} is missing in it, or does not have its hash.",
        remedy="Restore another backup. `restore --check` reads all of one and writes nothing.",
    )


def verified(source: Source, file: BackupFile) -> Iterator[bytes]:
    """The blocks of a file; raises after the last one where they do not have its hash.

    Raises:
        BadInput: so.
    """
    digest, n_bytes = hashlib.sha256(), 0
    for block in source.blocks(file):
        digest.update(block)
        n_bytes += len(block)
        if n_bytes > file.n_bytes:
            break
        yield block
    if n_bytes != file.n_bytes or digest.hexdigest() != file.sha256:
        raise damaged(file)


def blocks_of(path: Path) -> Iterator[bytes]:
    """What a file holds."""
    with path.open("rb") as source:
        while block := source.read(BLOCK_BYTES):
            yield block


def _manifest(content: bytes) -> Manifest:
    try:
        manifest = msgspec.json.decode(content, type=ready(Manifest))
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"The manifest of the backup cannot be read: {error}.", remedy="Take another backup."
        ) from error
    if manifest.format > FORMAT:
        raise BadInput(
            f"The backup was made by Fusionscope {manifest.version}, which is newer.",
            remedy="Update Fusionscope on this machine, then restore.",
        )
    return manifest


def _copied(blocks: Iterable[bytes], sink: IO[bytes]) -> tuple[str, int]:
    digest, n_bytes = hashlib.sha256(), 0
    for block in blocks:
        digest.update(block)
        sink.write(block)
        n_bytes += len(block)
    return digest.hexdigest(), n_bytes


@contextmanager
def _written(path: Path) -> Iterator[IO[bytes]]:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as sink:
        yield sink
        sink.flush()
        os.fsync(sink.fileno())


def _private(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def _object(folder: Path, sha256: str) -> Path:
    if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
        raise BadInput("The manifest of the backup is damaged.", remedy="Take another backup.")
    return folder / "objects" / sha256[:2] / sha256


def _member(path: str) -> str:
    return f"files/{path}"
