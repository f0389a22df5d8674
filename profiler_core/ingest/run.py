"""What lies at a path -> Run: the record and which files it has. No trace is read yet.

A run directory is known by its run.json. Anything else (a folder somebody copied together, loose
files) is opened by what each file is, told by its content. A .zip is unpacked once, into the cache.
A folder with the traces of several ranks of one job is the run of its lowest readable rank.
"""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from profiler_core import run_directory as names
from profiler_core.errors import BadInput, NotARun
from profiler_core.home import cache_directory
from profiler_core.ingest import archive
from profiler_core.ingest.alive import as_it_stands
from profiler_core.ingest.fingerprint import fingerprint
from profiler_core.ingest.kinds import AS_SQLITE, TRACES, Kind, kind_of
from profiler_core.ingest.limits import configured
from profiler_core.ingest.quoted import quoted
from profiler_core.ingest.rank_traces import ranks_in, world_size_of
from profiler_core.model.run import RunFiles, RunRecord

_REMEDY = "Pass a run directory, a .zip of one, or a trace."


def open_run(path: Path, *more: Path) -> RunFiles:
    """Look at what lies at `path`; with `more`, at several loose files that belong together.

    Raises:
        NotARun: nothing we know lies there, or more than one run does.
        BadInput: an archive is damaged or hostile.
    """
    if more:
        return _by_content(path.parent, [path, *more], path.name)
    if not path.exists():
        raise NotARun(f"{path} does not exist.", remedy=_REMEDY)
    try:
        if path.is_dir():
            return _open_folder(path, path.name, is_copy=False)
        if kind_of(path) is Kind.ARCHIVE:
            return _open_folder(unpacked(path), path.name, is_copy=True)
        return _by_content(path, [path], path.name)
    except OSError as error:
        raise NotARun(f"{path} cannot be read: {error.strerror}.", remedy=_REMEDY) from error


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
    record_file = _present(folder, names.RUN_JSON)
    if record_file is not None:
        return _by_name(folder, _read_record(record_file, folder, is_copy=is_copy))
    entries = sorted(e for e in folder.iterdir() if not e.name.startswith((".", "__MACOSX")))
    if len(entries) == 1 and entries[0].is_dir():  # an archive of the folder itself
        return _open_folder(entries[0], name, is_copy=is_copy)
    runs = [entry.name for entry in entries if _present(entry, names.RUN_JSON)]
    if runs:
        raise NotARun(
            f"{name} holds {len(runs)} runs ({', '.join(runs[:4])}), not one.",
            remedy="Pass one of them, or compare the whole capture.",
        )
    ranks = ranks_in(folder)
    if ranks:
        lead = next(rank for rank, trace in ranks.items() if trace.is_trace)
        record = RunRecord(name=name, run_id=name, rank=lead, world_size=world_size_of(ranks))
        return RunFiles(record=record, path=folder, trace=ranks[lead].path)
    files = [entry for entry in entries if entry.is_file()]
    structured = folder / names.TORCH_TRACE
    if structured.is_dir():
        files += sorted(entry for entry in structured.iterdir() if entry.is_file())
    return _by_content(folder, files, name)


def _by_name(folder: Path, record: RunRecord) -> RunFiles:
    """The files of a run directory lie where docs/run_directory.md says."""
    logs = _present(folder, names.TORCH_LOGS)
    structured = (
        tuple(sorted((folder / names.TORCH_TRACE).glob("*.log*")))
        if (folder / names.TORCH_TRACE).is_dir()
        else ()
    )
    single = _present(folder, "torch_trace.log")
    return RunFiles(
        record=record,
        path=folder,
        trace=_present(folder, names.TRACE, "trace.json.zst", names.TRACE_SQLITE),
        trace_stacks=_present(folder, names.TRACE_STACKS),
        torch_logs=(logs,) if logs else (),
        torch_trace=structured or ((single,) if single else ()),
        nvml=_present(folder, names.NVML),
        host=_present(folder, names.HOST),
        memory_snapshot=_present(folder, names.MEMORY_SNAPSHOT, "snapshot.pickle"),
        counters=_present(folder, "counters.csv"),
        sources=_present(folder, names.SOURCES),
        stdout=_present(folder, names.STDOUT),
    )


@dataclass
class _Found:
    traces: list[Path] = field(default_factory=list)
    torch_logs: list[Path] = field(default_factory=list)
    torch_trace: list[Path] = field(default_factory=list)
    others: dict[Kind, list[Path]] = field(default_factory=dict)

    def one(self, kind: Kind) -> Path | None:
        return next(iter(self.others.get(kind, [])), None)


def _by_content(path: Path, files: Sequence[Path], name: str) -> RunFiles:
    found = _Found()
    for file in files:
        kind = kind_of(file)
        if kind in TRACES:
            found.traces.append(file)
        elif kind is Kind.TORCH_LOGS:
            found.torch_logs.append(file)
        elif kind is Kind.TORCH_TRACE:
            found.torch_trace.append(file)
        elif kind is not None and kind is not Kind.ARCHIVE:  # an archive in an archive stays closed
            found.others.setdefault(kind, []).append(file)
    if len(found.traces) > 1:
        raise NotARun(
            f"{name} holds {len(found.traces)} traces, and a run has one: "
            f"{', '.join(trace.name for trace in found.traces[:4])}.",
            remedy="Pass one trace, or name two to compare them.",
        )
    reports = found.others.pop(Kind.NSIGHT_REPORT, [])
    known = found.traces or found.torch_logs or found.torch_trace or found.others
    if reports and not known:
        raise NotARun(f"{reports[0].name} is {Kind.NSIGHT_REPORT.value}.", remedy=AS_SQLITE)
    if not known:
        raise NotARun(f"{name} is nothing we know: {_described(files)}.", remedy=_REMEDY)
    record_file = found.one(Kind.RUN_RECORD)
    return RunFiles(
        record=_read_record(record_file, path, is_copy=True)
        if record_file
        else RunRecord(name=name, run_id=name),
        path=path,
        trace=found.traces[0] if found.traces else None,
        torch_logs=tuple(found.torch_logs),
        torch_trace=tuple(found.torch_trace),
        nvml=found.one(Kind.NVML),
        host=found.one(Kind.HOST),
        memory_snapshot=found.one(Kind.MEMORY_SNAPSHOT),
        counters=found.one(Kind.COUNTERS),
    )


def _described(files: Sequence[Path]) -> str:
    """In a few words, what was met instead."""
    if not files:
        return "it holds no files"
    if len(files) > 1:
        return f"none of its {len(files)} files is a trace or a log"
    with files[0].open("rb") as file:
        head = file.read(16)
    return f"it starts with {quoted(head)}" if head else "it is empty"


def _present(folder: Path, *candidates: str) -> Path | None:
    """The first of these files that is there, packed or not."""
    for candidate in candidates:
        for name in (candidate, f"{candidate}.gz", candidate.removesuffix(".gz")):
            if (folder / name).is_file():
                return folder / name
    return None


def _read_record(file: Path, folder: Path, *, is_copy: bool) -> RunRecord:
    try:
        record = msgspec.json.decode(file.read_bytes(), type=RunRecord)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotARun(
            f"{file} is no record of a run: {error}.", remedy="Restore it, or delete it."
        ) from error
    return as_it_stands(record, folder, may_be_alive=not is_copy)


def unpacked(file: Path) -> Path:
    """The folder with the files of an archive, unpacked on its first opening."""
    folder = cache_directory() / "archives" / fingerprint(file)
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".", dir=folder.parent))
    try:
        archive.unpack(file, scratch, configured())
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
