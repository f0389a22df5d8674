"""Received files -> run directories: `<uploads>/<upload_id>/<n>/`, ready for the library.

Each file is taken for what its content says. Several traces at once become one comparison. What
was received is deleted at the end; killed in the middle, the process begins anew from it.

As a process of its own, so that no archive and no JSON is unpacked in the web server:

    python -m profiler_core.store.uploads UPLOAD_ID PLACE… [--owner PERSON]

It speaks as `worker/protocol.py` says, with a sentence in each progress; the result is `Accepted`.
"""

import argparse
import fcntl
import shutil
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec

from profiler_core import run_directory as names
from profiler_core.analysis.compilation.by_script import shows_compiled
from profiler_core.durable import bring
from profiler_core.errors import BadInput, NotARun
from profiler_core.home import TRASH, uploads_directory
from profiler_core.ingest import archive
from profiler_core.ingest.empty import empty_file
from profiler_core.ingest.file_kind import Role
from profiler_core.ingest.kinds import accepted_sentence, is_empty, kind_of, not_read
from profiler_core.ingest.limits import configured
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run_json import read_run_json
from profiler_core.jobs.room import KEEP_FREE_BYTES
from profiler_core.model.run import RunRecord
from profiler_core.owner_file import owner_of, write_owner
from profiler_core.store import incoming
from profiler_core.store.owners import room_left
from profiler_core.store.upload_groups import Part, RunParts, give, group, not_clear
from profiler_core.typed import ready
from profiler_core.units import format_bytes
from profiler_core.worker.protocol import Progress, Report, answer

Say = Callable[[str, int | None, int | None], None]  # what is done, bytes done, bytes in all

_ACCEPTED = "accepted.json"  # beside the runs
_LOCK = "reading.lock"  # beside what was received; the kernel drops it with its holder
_BLOCK_BYTES = 1 << 20
_SAY_EVERY_S = 0.2


@dataclass(frozen=True)
class Accepted:
    """What became of an upload. keys: of the runs, the baseline first."""

    keys: tuple[str, ...]
    notes: tuple[str, ...]  # a sentence for each file that is in no run


@dataclass
class _NewRun:
    parts: RunParts
    directory: Path
    is_compiled: bool | None = None  # None: no trace to tell by


def accept(upload_id: str, positions: tuple[int, ...], say: Say, owner: str = "") -> Accepted:
    """Make runs of the received files at these places.

    Args:
        upload_id: which upload.
        positions: numbers of its files in the order of upload.
        say: told what is done.
        owner: whose upload it is; empty: nobody's.

    Raises:
        BadInput: nothing usable is among them, or an archive is hostile.
        OSError: the disk refuses. What was received stays, to be opened once there is room.
    """
    with _alone_with(incoming.incoming_directory(upload_id)):
        return _accept(upload_id, positions, say, owner)


@contextmanager
def _alone_with(work: Path) -> Iterator[None]:
    """Of two processes that read one upload, which two tabs may open, the second waits."""
    try:
        lock = (work / _LOCK).open("wb")
    except FileNotFoundError:  # it was read, or forgotten
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _accept(upload_id: str, positions: tuple[int, ...], say: Say, owner: str) -> Accepted:
    work = incoming.incoming_directory(upload_id)
    target = uploads_directory() / upload_id
    earlier = _accepted_in(target)
    if earlier is not None:  # killed after the runs were in their place
        incoming.forget(upload_id)
        return earlier
    if any((uploads_directory() / TRASH).glob(f"*/{upload_id}")):  # likewise, and deleted since
        incoming.forget(upload_id)
        raise BadInput(
            "This upload was deleted before its job had ended.",
            remedy="Put it back from the trash, on page Runs.",
        )
    incoming.forget_made(upload_id)  # by a process that was killed
    try:
        files = incoming.received(upload_id, positions)
        if not files:
            raise BadInput("No file arrived whole.", remedy="Drop the files again.")
        notes: list[str] = []
        parts = list(_parts(files, work / "unpacked", notes, say))
        grouped = group(parts)
        notes += grouped.notes
        if not grouped.runs:
            raise _nothing_usable(files, parts)
        new_runs = [
            _NewRun(run, _lay_out(run, work / "runs" / str(n)))
            for n, run in enumerate(grouped.runs, start=1)
        ]
        new_runs = _readable(new_runs, notes, say)
        notes += _assign_to_compiled_run(grouped.unclear, new_runs)
        ordered = _write_records(upload_id, new_runs)
        if owner:
            write_owner(work / "runs", owner)
        accepted = Accepted(
            tuple(f"upload/{upload_id}/{r.directory.name}" for r in ordered), tuple(notes)
        )
        (work / "runs" / _ACCEPTED).write_bytes(msgspec.json.encode(accepted))
        incoming.hand_on_to_record(upload_id, work / "runs")
        bring(work / "runs", target)  # before what it was made of is deleted
    except OSError:
        incoming.forget_made(upload_id)
        raise
    except BadInput:
        incoming.forget(upload_id)
        raise
    incoming.forget(upload_id)
    return accepted


def _accepted_in(target: Path) -> Accepted | None:
    try:
        return msgspec.json.decode((target / _ACCEPTED).read_bytes(), type=ready(Accepted))
    except (OSError, msgspec.MsgspecError):
        return None


def _parts(
    files: tuple[incoming.IncomingFile, ...], unpacked: Path, notes: list[str], say: Say
) -> Iterator[Part]:
    for file in files:
        say(f"Looking at {file.label}", None, None)
        try:
            kind = kind_of(file.path)
        except BadInput as problem:
            notes.append(f"{file.label}: {problem.problem}")
            continue
        if kind is not None and kind.role is Role.ARCHIVE:
            yield from _members(file, unpacked, notes, say)
        else:
            yield Part(file.name, file.path, kind)


def _members(
    file: incoming.IncomingFile, unpacked: Path, notes: list[str], say: Say
) -> Iterator[Part]:
    """The files of an archive, each unpacked to a numbered file: no path of it is ever used."""
    unpacked.mkdir(exist_ok=True)
    limits = configured()
    room = _room_to_unpack(file)
    n_bytes_left = limits.max_archive_bytes if room is None else room
    folder = file.name.removesuffix(".zip")
    with archive.opened(file.path, file.label, limits) as opened:
        members = archive.members(opened)
        total = sum(member.file_size for member in members)
        n_unpacked = 0
        for member in members:
            path = unpacked / f"{file.position}-{opened.infolist().index(member)}"
            say(f"Unpacking {file.label}", n_unpacked, total)
            try:
                with opened.open(member) as source, path.open("xb") as sink:
                    # Counted here too: the sizes in an archive's directory are only claims.
                    while block := source.read(_BLOCK_BYTES):
                        n_bytes_left -= len(block)
                        n_unpacked += len(block)
                        if n_bytes_left < 0:
                            raise _too_much(file.label, room)
                        if shutil.disk_usage(unpacked).free < KEEP_FREE_BYTES + len(block):
                            raise BadInput(
                                f"The server's disk has no room for what is in {file.label}.",
                                remedy="Make room there, or pack only the run.",
                            )
                        sink.write(block)
            except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise BadInput(
                    f"{file.label} is damaged at {member.filename[:200]}: {error}.",
                    remedy="Pack it again.",
                ) from error
            name = incoming.kept_name(f"{folder}/{member.filename}")
            try:
                kind = kind_of(path)
            except BadInput as problem:
                notes.append(f"{incoming.shown(name)}: {problem.problem}")
                continue
            stays_closed = kind is not None and kind.role is Role.ARCHIVE
            yield Part(name, path, None if stays_closed else kind)


def _room_to_unpack(file: incoming.IncomingFile) -> int | None:
    """How many bytes an archive may unpack to by its owner's quota; None: whatever there is.

    The archive itself goes in the end, so its own bytes are room again.
    """
    owner = owner_of(file.path.parent)  # which uploads and pushes have
    left = room_left(owner) if owner is not None else None
    return None if left is None else left + file.path.stat().st_size


def _too_much(name: str, room: int | None) -> BadInput:
    if room is None:
        return BadInput(
            f"{name} unpacks to more than this server takes.", remedy="Pack only the run."
        )
    return BadInput(
        f"{name} unpacks to more than the {format_bytes(room)} that your uploads may still take "
        "on this server.",
        remedy="Pack only the run, or delete uploads that you need no more.",
    )


def _lay_out(run: RunParts, directory: Path) -> Path:
    for stored_name, part in run.files.items():
        _move(part, directory / stored_name)
    return directory


def _move(part: Part, target: Path) -> None:
    """Give the file its place too; what was received also stays where it is, to begin anew from."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(part.path)
    except OSError:  # a file system without links
        shutil.copyfile(part.path, target)


def _assign_to_compiled_run(logs: tuple[Part, ...], new_runs: list[_NewRun]) -> list[str]:
    """A compiler's log with a name of its own belongs to the one run that was compiled.

    Returns:
        A sentence for each log: whose it was taken to be, or why it was left out.
    """
    compiled = [run for run in new_runs if run.is_compiled]
    if len(compiled) != 1:
        return [not_clear(log, len(new_runs)) for log in logs]
    (run,) = compiled
    notes = []
    for log in logs:
        before = set(run.parts.files)
        refused = give(log, run.parts)
        for stored_name in set(run.parts.files) - before:
            _move(log, run.directory / stored_name)
        note = f"{log.label} was taken as the log of {run.parts.name}, the only compiled run."
        notes += refused or [note]
    return notes


def _readable(new_runs: list[_NewRun], notes: list[str], say: Say) -> list[_NewRun]:
    """Read every trace once, so that the pages find its columns; drop what is none after all."""
    readable: list[_NewRun] = []
    problems: list[BadInput] = []
    for run in new_runs:
        trace = run.parts.trace
        if trace is None:
            readable.append(run)
            continue
        stored_name = next(p for p, part in run.parts.files.items() if part is trace)
        try:
            progress = partial(say, f"Reading {run.parts.name}")
            read = open_trace(run.directory / stored_name, progress, name=trace.label)
        except BadInput as problem:
            problems.append(problem)
            notes.append(problem.problem)
            if run.parts.n_ranks > 1:  # the others may be read
                readable.append(run)
                continue
            shutil.rmtree(run.directory)
            continue
        run.is_compiled = shows_compiled(read)
        readable.append(run)
    if not readable:
        raise problems[-1]
    return readable


def _write_records(upload_id: str, new_runs: list[_NewRun]) -> list[_NewRun]:
    """Write run.json where none came along. Returns the runs, the baseline first.

    The baseline is the first eager one; else the first by name. A run.json that came along
    keeps its own word.
    """
    loose = [run for run in new_runs if not run.parts.has_record]
    brought = [run for run in new_runs if run.parts.has_record]
    own_baseline = next((run for run in brought if _role(run) == "baseline"), None)
    # A snapshot does not tell whether it is of a compiled run; its name may.
    eager_first = sorted(
        loose, key=lambda run: (run.is_compiled is not False, "eager" not in run.parts.name.lower())
    )
    baseline = own_baseline or (eager_first or brought)[0]
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    baseline_id = f"{upload_id}.{baseline.directory.name}"
    for run in loose:
        is_baseline = run is baseline
        record = RunRecord(
            schema_version=names.SCHEMA_VERSION,
            run_id=f"{upload_id}.{run.directory.name}",
            capture_id=upload_id,
            role=None if len(new_runs) == 1 else "baseline" if is_baseline else "candidate",
            baseline_run_id=None if is_baseline or len(new_runs) == 1 else baseline_id,
            created_at=now,
            name=run.parts.name,
            world_size=run.parts.world_size,
        )
        (run.directory / names.RUN_JSON).write_bytes(msgspec.json.encode(record))
    return [baseline, *(run for run in new_runs if run is not baseline)]


def _role(run: _NewRun) -> str | None:
    try:
        file = run.directory / names.RUN_JSON
        return read_run_json(file).role
    except (OSError, NotARun):
        return None  # the library shows the run with a sentence


def _nothing_usable(files: tuple[incoming.IncomingFile, ...], parts: list[Part]) -> NotARun:
    for part in parts:
        if part.kind is not None and part.kind.role is Role.NOT_READ:
            return not_read(part.label, part.kind)
    if len(files) == 1:
        (file,) = files
        if is_empty(file.path):
            return empty_file(file.label, NotARun)
        text = f"{file.label} is neither a trace, nor a log, nor a run."
    else:
        file_names = ", ".join(file.label for file in files[:4]) + (" …" if len(files) > 4 else "")
        n_empty = sum(is_empty(file.path) for file in files)
        empty = f" ({n_empty} of them empty)" if n_empty else ""
        text = f"None of the {len(files)} files is a trace, a log or a run{empty}: {file_names}."
    return NotARun(text, remedy=f"Drop one of these: {accepted_sentence()}")


def _read(report: Report) -> Accepted:
    last = 0.0

    def say(text: str, done: int | None, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last > _SAY_EVERY_S:
            last = time.monotonic()
            report(Progress(done, total, text=text))

    parser = argparse.ArgumentParser(prog="profiler_core.store.uploads")
    parser.add_argument("upload_id")
    parser.add_argument("places", nargs="+", type=int)
    parser.add_argument("--owner", default="")
    arguments = parser.parse_args()
    return accept(arguments.upload_id, tuple(arguments.places), say, arguments.owner)


if __name__ == "__main__":
    sys.exit(answer(_read))
