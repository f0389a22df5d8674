"""Opens traces: a path becomes a Trace.

A trace is read once; its columns are kept under `profiler_core.home.cache_directory()`, keyed by
the file's content, its format, and the versions of the format's reader and of the columns' schema,
and mapped into memory from then on. Those that nobody opened for longest go when all of them
together exceed the limit of `cache_limit`.
"""

from dataclasses import replace
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.ingest import columns
from profiler_core.ingest.cache_limit import Hold, keep_within_limit
from profiler_core.ingest.file_kind import Progress, Role, TraceFormat
from profiler_core.ingest.fingerprint import check_unchanged, columns_folder, fingerprint_in
from profiler_core.ingest.formats import fallback_format
from profiler_core.ingest.kinds import cached_kind, kind_of_trace, not_read
from profiler_core.ingest.options import chosen, suffix_of
from profiler_core.model.trace import RECORDED_BY, Trace


def open_trace(path: Path, progress: Progress | None = None, *, name: str | None = None) -> Trace:
    """Read a trace, from its columns where it was read before.

    Args:
        path: the file.
        progress: told how far the reading is; not called where the columns are kept.
        name: what to call the file in errors; its own name by default.

    Raises:
        BadInput: there is no such file, it is no trace, or it exceeds a limit.
        Cancelled: `progress` asked for it.
    """
    folder = cache_folder(path)
    cached = _load(folder, path)
    if cached is not None:
        return cached
    folder.parent.mkdir(parents=True, exist_ok=True)
    name = name or path.name
    kind = _format_of(path, name)
    options = chosen(kind, fingerprint_in(folder))
    with kind.read(path, progress, scratch=folder.parent, options=options, name=name) as read:
        check_unchanged(path, fingerprint_in(folder))
        columns.write(folder, read, {RECORDED_BY: kind.recorded_by})
    trace = _load(folder, path)
    keep_within_limit(added=folder)
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
    kind = kind_of_trace(path) or fallback_format()
    choice = suffix_of(chosen(kind, fingerprint_in(folder)))
    return folder.with_name(f"{folder.name}-{kind.slug}{kind.version}{choice}")


def _format_of(path: Path, name: str) -> TraceFormat:
    """Whose reader takes the file; that of last resort says what is wrong with any other.

    Raises:
        BadInput: it is known, and only its own tool reads it.
    """
    kind = cached_kind(path)
    if kind is not None and kind.role is Role.NOT_READ:
        raise not_read(name, kind)
    return kind if isinstance(kind, TraceFormat) else fallback_format()


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
