"""What lies at a path -> RunFiles: the record and which files it has. No trace is read yet.

A run directory is known by its run.json. Anything else (a folder somebody copied together, loose
files) is opened by what each file is, told by its content. A .zip is unpacked once, into the cache.
A folder with the traces of several ranks of one job is the run of its lowest readable rank.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from profiler_core import run_directory as names
from profiler_core.errors import BadInput, NotARun
from profiler_core.guarded_open import open_guarded
from profiler_core.home import cache_directory
from profiler_core.ingest import archive
from profiler_core.ingest.alive import with_current_status
from profiler_core.ingest.empty import empty_file
from profiler_core.ingest.file_kind import Role
from profiler_core.ingest.fingerprint import check_unchanged, fingerprint
from profiler_core.ingest.graph_captures import graph_captures_in, rank_of_trace
from profiler_core.ingest.kinds import is_archive, is_empty, kind_of, not_read
from profiler_core.ingest.limits import configured
from profiler_core.ingest.quoted import quoted
from profiler_core.ingest.rank_logs import logs_of_rank
from profiler_core.ingest.rank_traces import ranks_in, world_size_of
from profiler_core.ingest.run_files import file_in, files_in, named_in
from profiler_core.ingest.run_json import read_run_json
from profiler_core.model.run import RunFiles, RunRecord

_REMEDY = "Pass a run directory, a .zip of one, or a trace."


def open_run(path: Path, *other_paths: Path) -> RunFiles:
    """Look at what lies at `path`; with `more`, at several loose files that belong together.

    Raises:
        NotARun: no run or trace lies there, or more than one run does.
        BadInput: an archive is damaged or hostile.
    """
    if other_paths:
        return _by_content(path.parent, [path, *other_paths], path.name)
    if not path.exists():
        raise NotARun(f"{path} does not exist.", remedy=_REMEDY)
    try:
        if path.is_dir():
            return _open_folder(path, path.name, is_copy=False)
        if is_archive(path):
            return _open_folder(unpacked(path), path.name, is_copy=True)
        return _by_content(path, [path], path.name)
    except OSError as error:
        raise NotARun(f"{path} cannot be read: {error.strerror}.", remedy=_REMEDY) from error


def open_rank(job: RunFiles, rank: int, trace: Path) -> RunFiles:
    """One rank of a job as a run of its own, with its own logs.

    Args:
        job: the run, or the folder of traces, that the rank belongs to.
        rank: whose.
        trace: of that rank.

    Raises:
        NotARun: its run.json cannot be read.
    """
    if trace.parent != job.path and file_in(trace.parent, Role.RECORD) is not None:
        return _open_folder(trace.parent, trace.parent.name, is_copy=False)
    record = msgspec.structs.replace(job.record, rank=rank, measurement=None)
    return _of_loose_rank(record, trace, job.path, trace)


def unpacked_run(file: Path) -> Path:
    """The run directory inside a .zip, unpacked into the cache on its first opening.

    Raises:
        BadInput: the archive is damaged or hostile.
        NotARun: it holds no run.json, at its top or in its only folder.
    """
    folder = unpacked(file)
    inside = [entry for entry in folder.iterdir() if entry.is_dir()]
    for candidate in [folder, *(inside if len(inside) == 1 else [])]:
        if (candidate / names.RUN_JSON).is_file():
            return candidate
    raise NotARun(f"{file.name} holds no run.", remedy=_REMEDY)


def _open_folder(folder: Path, name: str, *, is_copy: bool) -> RunFiles:
    record_file = file_in(folder, Role.RECORD)
    if record_file is not None:
        return _by_name(folder, _read_record(record_file, folder, is_copy=is_copy))
    entries = sorted(e for e in folder.iterdir() if not e.name.startswith((".", "__MACOSX")))
    if len(entries) == 1 and entries[0].is_dir():  # an archive of the folder itself
        return _open_folder(entries[0], name, is_copy=is_copy)
    runs = [entry.name for entry in entries if file_in(entry, Role.RECORD)]
    if runs:
        raise NotARun(
            f"{name} holds {len(runs)} runs ({', '.join(runs[:4])}), not one.",
            remedy="Pass one of them, or compare the whole capture.",
        )
    ranks = ranks_in(folder)
    if ranks:
        lead = next(rank for rank, trace in ranks.items() if trace.is_trace)
        record = RunRecord(name=name, run_id=name, rank=lead, world_size=world_size_of(ranks))
        return _of_loose_rank(record, folder, folder, ranks[lead].path)
    files = [entry for entry in entries if entry.is_file()]
    structured = folder / names.TORCH_TRACE
    if structured.is_dir():
        files += sorted(entry for entry in structured.iterdir() if entry.is_file())
    opened = _by_content(folder, files, name)
    rank = None if opened.trace is None else rank_of_trace(opened.trace)
    captures = graph_captures_in(folder, rank)
    return msgspec.structs.replace(opened, graph_captures=captures)


def _of_loose_rank(record: RunRecord, path: Path, folder: Path, trace: Path) -> RunFiles:
    """A rank's trace in a folder of traces, with its logs from there."""
    texts, structured = logs_of_rank(folder, record.rank)
    return RunFiles(
        record=record,
        path=path,
        trace=trace,
        graph_captures=graph_captures_in(folder, record.rank),
        torch_logs=texts,
        torch_trace=structured,
    )


def _by_name(folder: Path, record: RunRecord) -> RunFiles:
    """The files of a run directory, by the names of their kinds (docs/run_directory.md)."""
    return RunFiles(
        record=record,
        path=folder,
        trace=file_in(folder, Role.TRACE),
        trace_stacks=named_in(folder, names.TRACE_STACKS),
        graph_captures=graph_captures_in(folder, record.rank),
        torch_logs=files_in(folder, Role.TORCH_LOGS),
        torch_trace=files_in(folder, Role.TORCH_TRACE),
        nvml=file_in(folder, Role.NVML),
        host=file_in(folder, Role.HOST),
        memory_snapshot=file_in(folder, Role.MEMORY_SNAPSHOT),
        counters=file_in(folder, Role.COUNTERS),
        sources=named_in(folder, names.SOURCES),
        stdout=named_in(folder, names.STDOUT),
    )


def _by_content(path: Path, files: Sequence[Path], name: str) -> RunFiles:
    by_role: dict[Role, list[Path]] = {role: [] for role in Role}
    not_read_here: list[NotARun] = []
    for file in files:
        kind = kind_of(file)
        if kind is None or kind.role is Role.ARCHIVE:  # an archive in an archive stays closed
            continue
        if kind.role is Role.NOT_READ:
            not_read_here.append(not_read(file.name, kind))
        else:
            by_role[kind.role].append(file)
    traces = by_role[Role.TRACE]
    if len(traces) > 1:
        raise NotARun(
            f"{name} holds {len(traces)} traces, and a run has one: "
            f"{', '.join(trace.name for trace in traces[:4])}.",
            remedy="Pass one trace, or name two to compare them.",
        )
    if not any(by_role.values()):
        if not_read_here:
            raise not_read_here[0]
        if len(files) == 1 and is_empty(files[0]):
            raise empty_file(files[0].name, NotARun)
        raise NotARun(f"{name} is not recognised: {_described(files)}.", remedy=_REMEDY)

    def first(role: Role) -> Path | None:
        return next(iter(by_role[role]), None)

    record_file = first(Role.RECORD)
    return RunFiles(
        record=_read_record(record_file, path, is_copy=True)
        if record_file
        else RunRecord(name=name, run_id=name),
        path=path,
        trace=first(Role.TRACE),
        torch_logs=tuple(by_role[Role.TORCH_LOGS]),
        torch_trace=tuple(by_role[Role.TORCH_TRACE]),
        nvml=first(Role.NVML),
        host=first(Role.HOST),
        memory_snapshot=first(Role.MEMORY_SNAPSHOT),
        counters=first(Role.COUNTERS),
    )


def _described(files: Sequence[Path]) -> str:
    """In a few words, what was met instead."""
    if not files:
        return "it holds no files"
    if len(files) > 1:
        n_empty = sum(map(is_empty, files))
        empty = f" ({n_empty} of them empty)" if n_empty else ""
        return f"none of its {len(files)} files is a trace or a log{empty}"
    with open_guarded(files[0]) as file:
        return f"it starts with {quoted(file.read(16))}"


def _read_record(file: Path, folder: Path, *, is_copy: bool) -> RunRecord:
    if is_empty(file):
        raise empty_file(str(file), NotARun)
    return with_current_status(read_run_json(file), folder, may_be_alive=not is_copy)


def unpacked_folder(file: Path) -> Path:
    """Where the files of an archive are unpacked to, in the cache.

    Raises:
        OSError: it cannot be read.
    """
    return cache_directory() / "archives" / fingerprint(file)


def unpacked(file: Path) -> Path:
    """The folder with the files of an archive, unpacked on its first opening."""
    folder = unpacked_folder(file)
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".", dir=folder.parent))
    try:
        archive.unpack(file, scratch, configured())
        check_unchanged(file, folder.name)
        scratch.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # else another process was faster
            raise BadInput(
                f"{file.name} cannot be unpacked: {error.strerror}.",
                remedy="Make room on the disk, or pack it again.",
            ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder
