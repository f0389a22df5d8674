"""The door of ingest: one function in, one model out.

A trace is read once; its columns are kept under `profiler_core.home.cache_directory()`, keyed by
the file's content and the schema version, and mapped into memory from then on. Those that nobody
opened for longest go when all of them together exceed the limit of `cache_limit`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.ingest import columns
from profiler_core.ingest.cache_limit import Hold, keep_within_limit
from profiler_core.ingest.fingerprint import columns_folder, fingerprint_in
from profiler_core.ingest.kinds import AS_SQLITE, Kind, kind_of
from profiler_core.ingest.kineto.reader import reading as kineto
from profiler_core.ingest.nsight_systems.choice import chosen
from profiler_core.ingest.nsight_systems.reader import reading as nsight_systems
from profiler_core.model.trace import Trace

# Called with (bytes read, bytes in all) of the file as it lies on the disk. To cancel, raise
# `errors.Cancelled` in it: nothing is left behind.
Progress = Callable[[int, int], None]


def open_trace(path: Path, progress: Progress | None = None) -> Trace:
    """Read a trace, from its columns where it was read before.

    Raises:
        BadInput: there is no such file, it is no trace, or it exceeds a limit.
        Cancelled: `progress` asked for it.
    """
    folder = cache_folder(path)
    cached = _load(folder, path)
    if cached is not None:
        return cached
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _reading(path, progress, folder) as read:
        columns.write(folder, read)
    trace = _load(folder, path)
    keep_within_limit()
    if trace is None:
        raise BadInput(
            f"The columns of {path.name} at {folder} are damaged right after writing.",
            remedy="Check that disk, or move FUSIONSCOPE_HOME to another one.",
        )
    return trace


def is_cached(path: Path) -> bool:
    """Would `open_trace` answer at once? Costs some milliseconds."""
    return columns.exists(cache_folder(path))


def load_cached(path: Path) -> Trace | None:
    """The trace from its columns; None where they are absent or damaged. Reads no JSON."""
    return _load(cache_folder(path), path)


def cache_folder(path: Path) -> Path:
    """Where the columns of this trace lie, or will lie once it is read.

    What else is derived from the trace alone may lie there too, written by rename.

    Raises:
        BadInput: there is no such file.
    """
    folder = columns_folder(path, "traces", columns.SCHEMA_VERSION)
    choice = chosen(fingerprint_in(folder))
    if choice.suffix and kind_of(path) is Kind.NSIGHT_SYSTEMS:
        return folder.with_name(folder.name + choice.suffix)
    return folder


def _reading(
    path: Path, progress: Progress | None, folder: Path
) -> AbstractContextManager[columns.Source]:
    """The reader of what the file is; what is nothing we know, Kineto's has a sentence for."""
    kind = _kind(path)
    if kind is Kind.NSIGHT_REPORT:
        raise BadInput(f"{path.name} is {kind.value}.", remedy=AS_SQLITE)
    if kind is Kind.NSIGHT_SYSTEMS:
        choice = chosen(fingerprint_in(folder))
        return nsight_systems(path, progress, scratch=folder.parent, choice=choice)
    return kineto(path, progress, scratch=folder.parent)


def _kind(path: Path) -> Kind | None:
    try:
        return kind_of(path)
    except BadInput:  # damaged packing: the reader says more
        return None


def _load(folder: Path, path: Path) -> Trace | None:
    hold = Hold(folder)  # before it is read, so that nobody removes it meanwhile
    trace = columns.load(folder)
    if trace is None:
        hold.release()
        return None
    # A copy finds the columns of the original, but goes by its own name.
    trace = replace(trace, source=path.name)
    hold.until_gone(trace)
    return trace
