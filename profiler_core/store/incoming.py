"""Files on their way in: `<uploads>/.incoming/<upload_id>/`, until they become runs.

Each file has a place, a small number. Its name is what people called it: sorted by, shown as
`shown` says, never used as a path.

    <place>.part   being received
    <place>.data   received whole
    <place>.json   its name
    to_record      it is recorded at once, by the process that reads it
    idle           nothing came for half a day when somebody looked
"""

import contextlib
import os
import re
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from profiler_core.durable import bring, write_through
from profiler_core.errors import BadInput
from profiler_core.home import uploads_directory
from profiler_core.owner_file import owner_of
from profiler_core.typed import ready

MOST_FILES = 200  # a folder of a capture with eight variants has about a hundred
_FORGET_AFTER_S = 24 * 3600.0
_IDLE_AFTER_S = 12 * 3600.0
_IDLE = "idle"
TO_RECORD = "to_record"  # stands in its folder afterwards, too
_RECEIVING_S = 120.0  # without a byte, and nobody sends any more
_UPLOAD_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}")
_LONGEST_NAME = 200  # as it is shown
_LONGEST_PART = 255  # bytes, of a file or a folder on a disk
_LONGEST_PATH = 4096


@dataclass(frozen=True)
class IncomingFile:
    """One received file. The name may hold `/` where a folder was dropped."""

    position: int
    name: str
    path: Path

    @property
    def label(self) -> str:
        """The name as it is shown."""
        return shown(self.name)


@dataclass(frozen=True)
class Unopened:
    """An upload that nobody opened yet. arrived_s: since the epoch."""

    upload_id: str
    names: tuple[str, ...]
    n_bytes: int
    arrived_s: float


class _Note(msgspec.Struct, frozen=True):
    name: str


def is_upload_id(text: str) -> bool:
    """Is it written like the id of an upload?"""
    return _UPLOAD_ID.fullmatch(text) is not None


def note_to_record(upload_id: str) -> None:
    """Say that the runs of an upload are recorded by the process that reads it."""
    with contextlib.suppress(FileNotFoundError):  # it was read before, and says so where it lies
        (incoming_directory(upload_id) / TO_RECORD).touch()


def hand_on_to_record(upload_id: str, folder: Path) -> None:
    """Say it in the folder of what was made of this upload, too, where it was said."""
    if (incoming_directory(upload_id) / TO_RECORD).exists():
        (folder / TO_RECORD).touch()


def new_upload_id() -> str:
    """A fresh id: sorts by time, cannot be guessed, safe as a folder's name."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"


def incoming_directory(upload_id: str) -> Path:
    """Where the files of this upload are received.

    Raises:
        BadInput: that is no upload's id.
    """
    if not _UPLOAD_ID.fullmatch(upload_id):
        raise BadInput(f"{upload_id[:60]!r} is no upload.", remedy="Reload the page.")
    return uploads_directory() / ".incoming" / upload_id


def part_path(upload_id: str, position: int) -> Path:
    """The path to receive into; `keep` makes it a received file, deleting it forgets it."""
    if not 0 <= position < MOST_FILES:
        raise BadInput(
            f"More than {MOST_FILES} files were dropped at once.",
            remedy="Drop fewer files, or one .zip of them.",
        )
    directory = incoming_directory(upload_id)
    directory.mkdir(parents=True, exist_ok=True)
    return directory / f"{position}.part"


def keep(partial: Path, name: str) -> None:
    """The file is whole: give it its name. Once this returns, a power cut takes neither.

    It waits for the disk, which takes seconds for a large file.
    """
    note = _Note(kept_name(name))
    write_through(partial.with_suffix(".json"), msgspec.json.encode(note))
    bring(partial, partial.with_suffix(".data"))


def received(upload_id: str, positions: tuple[int, ...]) -> tuple[IncomingFile, ...]:
    """The files at these places that arrived whole, in the order of their names."""
    directory = incoming_directory(upload_id)
    files = []
    for position in sorted(set(positions)):
        path, note = directory / f"{position}.data", directory / f"{position}.json"
        if path.is_file() and note.is_file():
            files.append(IncomingFile(position, _name_in(note), path))
    return tuple(sorted(files, key=lambda file: file.name))


def _name_in(note: Path) -> str:
    try:
        return msgspec.json.decode(note.read_bytes(), type=ready(_Note)).name
    except msgspec.MsgspecError:  # a power cut emptied it
        return kept_name("")


def kept(upload_id: str) -> tuple[int, ...]:
    """The numbers of the files that arrived whole and are still there."""
    directory = incoming_directory(upload_id)
    return tuple(sorted(int(path.stem) for path in directory.glob("*.data")))


def forget(upload_id: str) -> None:
    """Delete what was received, whole or not."""
    shutil.rmtree(incoming_directory(upload_id), ignore_errors=True)


def forget_made(upload_id: str) -> None:
    """Delete what was made of an upload, half perhaps, and nothing that was received."""
    for made in ("unpacked", "runs"):
        shutil.rmtree(incoming_directory(upload_id) / made, ignore_errors=True)


def unopened(person: str) -> tuple[Unopened, ...]:
    """What this person sent that lies here whole, the newest first; nothing that is still sent.

    What a job reads is among them.
    """
    uploads = []
    for folder in _folders():
        if owner_of(folder) != person or _is_receiving(folder):
            continue
        files = received(folder.name, kept(folder.name))
        if files:
            stats = [file.path.stat() for file in files]
            uploads.append(
                Unopened(
                    folder.name,
                    tuple(file.label for file in files),
                    sum(stat.st_size for stat in stats),
                    max(stat.st_mtime for stat in stats),
                )
            )
    return tuple(sorted(uploads, key=lambda upload: upload.arrived_s, reverse=True))


def _folders() -> list[Path]:
    """Of all uploads that lie here."""
    root = uploads_directory() / ".incoming"
    return [d for d in (root.iterdir() if root.is_dir() else ()) if _UPLOAD_ID.fullmatch(d.name)]


def _is_receiving(folder: Path) -> bool:
    return any(time.time() - p.stat().st_mtime < _RECEIVING_S for p in folder.glob("*.part"))


def outdated(now_s: float | None = None) -> dict[str, str]:
    """Uploads that were left unopened for a day: id -> whose, empty where nobody wrote it.

    Idle for half a day, an upload is marked, and it is outdated half a day after its mark at the
    earliest: a clock that jumps ahead makes none old at once.

    Args:
        now_s: seconds since the epoch; None: now.
    """
    now = time.time() if now_s is None else now_s
    left: dict[str, str] = {}
    for directory in _folders():
        files = [path for path in directory.glob("*") if path.name != _IDLE] or [directory]
        touched = max(path.stat().st_mtime for path in files)
        if now - touched <= _IDLE_AFTER_S:
            continue
        marked = _marked(directory / _IDLE, now, touched)
        if now - touched > _FORGET_AFTER_S and now - marked >= _IDLE_AFTER_S:
            left[directory.name] = owner_of(directory) or ""
    return left


def _marked(mark: Path, now: float, touched: float) -> float:
    """When an upload was seen idle for the first time since its last file."""
    with contextlib.suppress(FileNotFoundError):
        if touched < (marked := mark.stat().st_mtime) <= now:
            return marked
    with contextlib.suppress(FileNotFoundError):  # it is opened at this moment
        mark.touch()
        os.utime(mark, (now, now))
    return now


def kept_name(name: str) -> str:
    """The name by which files belong together, with the folders in it; never empty.

    Long enough for any path, and no two folders become one: what cannot be shown stays in it.
    """
    text = name.replace("\\", "/").encode("utf-8", "replace").decode("utf-8")
    parts = [part for part in text.split("/") if part not in ("", ".", "..")]
    joined = "/".join(part[-_LONGEST_PART:] for part in parts)
    return joined[-_LONGEST_PATH:] or "unnamed"


def shown(name: str) -> str:
    """The end of a long name, without control characters; never empty."""
    end = name[-_LONGEST_NAME:]
    return "".join(c if c.isprintable() else " " for c in end).strip() or "unnamed"
