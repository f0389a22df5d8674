"""Run directories for a whole team, below one URL: file://, s3://, gs://, whatever fsspec opens.

Each is one .zip, `<capture>/<hash of the run's files>.zip`, that appears whole or not at all: it is
written aside first (a file is renamed, an object store completes its upload). Reading unpacks it
into the local cache, through the same checks as an upload, and compares the files with the hash:
who can write to a bucket need not be trusted. Artifacts of earlier versions,
`<capture>/<folder>.zip`, are still read.
"""

import hashlib
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from profiler_core.errors import BadInput, ServerFault
from profiler_core.home import cache_directory
from profiler_core.ingest.run import unpacked_folder, unpacked_run
from profiler_core.run_directory import RUN_JSON
from profiler_core.settings import settings
from profiler_core.store.aside import aside_of, sweep, whole_file
from profiler_core.store.history.packing import FileMark, content_hash, file_marks, packed
from profiler_core.store.key_parts import encode_part

_BLOCK_BYTES = 1 << 20
_MARKS = ".trash"  # folder of an empty file for each artifact that was deleted
_LONGEST_FOLDER = 255  # bytes, of a name on a disk
_BY_CONTENT = re.compile(r"[^/]+/([0-9a-f]{64})\.zip")


@dataclass(frozen=True)
class Artifacts:
    """The folder of all artifacts, somewhere."""

    files: Any  # an fsspec file system
    root: str

    def put(self, name: str, directory: Path, marks: Sequence[FileMark]) -> None:
        """Keep a run directory under this name; one that is there is replaced at once.

        Args:
            name: that tells the hash of its files.
            directory: of the run.
            marks: of the files that the hash was made of.

        Raises:
            BadInput: the files are others by now, or nothing can be written there.
        """
        with _as_bad_input("written"):
            path = self._path(name)
            self.files.makedirs(path.rpartition("/")[0], exist_ok=True)
            with self._whole(path) as target:
                for block in packed(directory):
                    target.write(block)
                if file_marks(directory, marks) != tuple(marks):
                    raise BadInput(
                        f"{directory} was changed while it was kept.",
                        remedy="Record it again once nothing writes into it.",
                    )
            self._remove(self._mark(name))

    @contextmanager
    def _whole(self, path: str) -> Iterator[Any]:
        """Write a file that is there once the block ends, or not at all."""
        if isinstance(self.files, LocalFileSystem):
            # fsspec writes below /tmp first: from another disk it copies, which may stop half way.
            with whole_file(Path(path)) as target:
                yield target
            return
        with self.files.open(path, "wb", autocommit=False) as target:
            try:
                yield target
            except BaseException:
                target.close()
                target.discard()
                raise
        target.commit()

    def fetch(self, name: str) -> Path:
        """The run directory of an artifact, below the local cache; fetched the first time.

        Raises:
            BadInput: there is none of this name, it is hostile, or its files are not those that
                its name tells.
        """
        was_here = _cached(name).is_file()
        try:
            return self._checked(name)
        except BadInput:
            if not was_here:
                raise
        return self._checked(name)  # what was kept here was damaged, by a power cut say

    def _checked(self, name: str) -> Path:
        local = _cached(name)
        if not local.is_file():
            local.parent.mkdir(parents=True, exist_ok=True)
            with (
                _as_bad_input("read"),
                self.files.open(self._path(name), "rb") as source,
                whole_file(local) as sink,
            ):
                while block := source.read(_BLOCK_BYTES):
                    sink.write(block)
        stat = local.stat()
        try:
            directory = _checked_run(local, name, stat.st_mtime_ns, stat.st_size)
        except BadInput:
            _forget_cached(name)  # fetched again, now or once it is mended
            raise
        if not (directory / RUN_JSON).is_file():  # the cache may be deleted at any time
            _forget_cached(name)
            raise BadInput(f"{directory} was deleted.", remedy="Open it again.")
        return directory

    def has(self, name: str) -> bool:
        """Is there an artifact of this name, that is not marked as deleted?"""
        with _as_bad_input("asked for"):
            self.files.invalidate_cache()  # what fsspec remembers misses what others wrote since
            return self.files.exists(self._path(name)) and not self.files.exists(self._mark(name))

    def delete(self, name: str) -> None:
        """Delete an artifact for good; one that is gone is no error."""
        _cached(name).unlink(missing_ok=True)
        with _as_bad_input("deleted"):
            self._remove(self._path(name))
            self._remove(self._mark(name))

    def hide(self, name: str) -> None:
        """Mark it as deleted: `names` leaves it out. One that is not there stays unmarked."""
        with _as_bad_input("marked"):
            mark = self._mark(name)
            if self.files.exists(self._path(name)):
                self.files.makedirs(mark.rpartition("/")[0], exist_ok=True)
                self.files.pipe_file(mark, b"")

    def show(self, name: str) -> None:
        """Take the mark off again."""
        with _as_bad_input("marked"):
            self._remove(self._mark(name))

    def check(self) -> None:
        """Write a file beside the artifacts, which no listing shows, and delete it again.

        Raises:
            BadInput: it cannot be written or deleted.
        """
        path = f"{self.root.rstrip('/')}/{aside_of(Path('check')).name}"
        with _as_bad_input("written"):
            self.files.makedirs(self.root, exist_ok=True)
            self.files.pipe_file(path, b"written to see whether it can be")
            self.files.rm_file(path)

    def sweep(self) -> None:
        """Delete what was half written when its process died, here and in the local cache.

        An object store ends uploads that were not completed by a rule of its bucket.
        """
        roots = [_cached("")]
        if isinstance(self.files, LocalFileSystem):
            roots.append(Path(self.root))
        for root in roots:
            if root.is_dir():
                sweep((root, *(folder for folder in root.iterdir() if not folder.is_symlink())))

    def names(self) -> tuple[str, ...]:
        """Every artifact, by name."""
        with _as_bad_input("listed"):
            try:
                # A listing that fsspec remembers would miss what others have written since.
                self.files.invalidate_cache()
                paths: Sequence[str] = self.files.find(self.root)
            except FileNotFoundError:
                return ()
        start = len(self.root.rstrip("/")) + 1
        named = {str(path)[start:] for path in paths}
        return tuple(
            sorted(name for name in named if _is_name(name) and f"{_MARKS}/{name}" not in named)
        )

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self.files.rm_file(path)

    def _mark(self, name: str) -> str:
        self._path(name)
        return f"{self.root.rstrip('/')}/{_MARKS}/{name}"

    def _path(self, name: str) -> str:
        if not _is_name(name):
            raise BadInput(f"{name[:200]!r} is no artifact.", remedy="List the runs again.")
        return f"{self.root.rstrip('/')}/{name}"


def artifacts() -> Artifacts | None:
    """Where the settings say; None: run directories stay in the home, nothing is copied.

    Raises:
        ServerFault: the URL is of a kind that cannot be opened here.
    """
    url = settings().artifacts_url
    if url is None:
        return None
    try:
        files, root = fsspec.url_to_fs(url)
    except (ValueError, ImportError) as error:  # an unknown protocol, or its package is missing
        raise ServerFault(
            f"The artifacts' URL cannot be opened: {error}.",
            remedy="Install what it names (s3fs for s3://, gcsfs for gs://), or correct the URL.",
        ) from error
    return Artifacts(files, str(root))


def name_of(capture_id: str, content: str) -> str:
    """The artifact's name of a run, by the hash of its files; safe as a path everywhere."""
    return f"{_folder_of(capture_id)}/{content}.zip"


def _folder_of(capture_id: str) -> str:
    encoded = encode_part(capture_id) or "~"
    if len(encoded) > _LONGEST_FOLDER:  # a letter that is no ASCII takes up to twelve
        digest = hashlib.sha256(capture_id.encode("utf-8", "replace")).hexdigest()
        encoded = f"{encode_part(capture_id[:10])}-{digest[:32]}"
    return f"~2E{encoded[1:]}" if encoded.startswith(".") else encoded


@lru_cache(maxsize=512)
def _checked_run(local: Path, name: str, _mtime_ns: int, _size: int) -> Path:
    """The run directory of a fetched artifact; its files are hashed once for each process."""
    directory = unpacked_run(local)
    by_content = _BY_CONTENT.fullmatch(name)
    if by_content is not None and content_hash(directory) != by_content[1]:
        raise BadInput(
            f"The artifact {name} was changed since it was stored: its files do not have the "
            "hash that its name tells.",
            remedy="Restore it from a backup, or import the run again where its files are.",
        )
    return directory


def _is_name(name: str) -> bool:
    parts = name.split("/")
    return (
        len(parts) == 2
        and name.endswith(".zip")
        and all(part and not part.startswith(".") and "\\" not in part for part in parts)
    )


def _cached(name: str) -> Path:
    return cache_directory() / "artifacts" / name


def _forget_cached(name: str) -> None:
    """Delete what is kept here of an artifact: its .zip and what was unpacked of it."""
    local = _cached(name)
    with suppress(OSError):
        shutil.rmtree(unpacked_folder(local), ignore_errors=True)
        local.unlink()
    _checked_run.cache_clear()


@contextmanager
def _as_bad_input(participle: str) -> Iterator[None]:
    try:
        yield
    except BadInput:
        raise
    except FileNotFoundError as error:
        raise BadInput(
            "The files of this run are not where the history says.",
            remedy="Check whether they were deleted, or whether the artifacts' URL changed.",
        ) from error
    except Exception as error:  # each file system of fsspec brings its own kinds
        raise BadInput(
            f"The artifacts cannot be {participle}: {type(error).__name__}: {str(error)[:300]}.",
            remedy="Check the artifacts' URL, the network and the rights on it.",
        ) from error
