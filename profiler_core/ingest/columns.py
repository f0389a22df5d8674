"""The columnar cache of a trace: one Arrow file a table, mapped into memory on loading.

    <folder>/meta.json       schema version, metadata, tally; rows, size and checksum of each table
    <folder>/<table>.arrow   uncompressed, names dictionary-encoded, so that loading copies nothing

Written beside and renamed into place, so a half-written folder is never seen. On loading each
file's checksum is compared (3.7 GB/s here): a damaged cache is None, which means read it anew.
A file is never changed in place, because others may have it mapped: it is replaced or deleted.
"""

import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import msgspec
import polars as pl

from profiler_core.model.tally import Tally
from profiler_core.model.trace import TABLE_SCHEMAS, Trace
from profiler_core.typed import ready

# Raise it whenever the tables, their columns or their meaning change: old folders are then not
# found any more, because the version is part of the folder's name.
SCHEMA_VERSION = 7

LONGEST_NAME = 10_000  # characters of an event's name; those of CUTLASS's kernels have up to 4 000
_META = "meta.json"
_BLOCK_BYTES = 4 << 20


class _TableFile(msgspec.Struct, frozen=True):
    n_rows: int
    n_bytes: int
    crc32: int


class _Meta(msgspec.Struct, frozen=True):
    schema_version: int
    source: str
    origin_ns: int
    n_events: int
    skipped: dict[str, int]
    repairs: dict[str, int]
    metadata: dict[str, Any]
    tables: dict[str, _TableFile]
    unread_keys: dict[str, int] = {}


class Source(Protocol):
    """A trace whose tables are asked for one at a time, so that one is in memory at a time."""

    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def origin_ns(self) -> int: ...  # noqa: D102
    @property
    def metadata(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def tally(self) -> Tally: ...  # noqa: D102
    @property
    def table(self) -> Callable[[str], pl.DataFrame]: ...  # noqa: D102


def write(folder: Path, trace: Source, metadata: Mapping[str, Any] | None = None) -> None:
    """Put the columns of `trace` at `folder`, replacing a damaged one.

    Args:
        folder: where they are to lie.
        trace: what was read.
        metadata: entries added to the trace's metadata.

    Raises:
        OSError: the disk is full or not writable.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        tables = {name: _write_table(scratch, name, trace.table(name)) for name in TABLE_SCHEMAS}
        meta = _Meta(
            schema_version=SCHEMA_VERSION,
            source=trace.source,
            origin_ns=trace.origin_ns,
            n_events=trace.tally.n_events,
            skipped=dict(trace.tally.skipped),
            repairs=dict(trace.tally.repairs),
            metadata={**trace.metadata, **(metadata or {})},
            tables=tables,
            unread_keys=dict(trace.tally.unread_keys),
        )
        (scratch / _META).write_bytes(msgspec.json.encode(meta))
        _move_into_place(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def load(folder: Path) -> Trace | None:
    """The trace whose columns lie at `folder`, or None where there are none or they are damaged."""
    try:
        meta = msgspec.json.decode((folder / _META).read_bytes(), type=ready(_Meta))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    if meta.schema_version != SCHEMA_VERSION or set(meta.tables) != set(TABLE_SCHEMAS):
        return None
    if not _are_intact(folder, meta.tables):
        return None
    try:
        frames = {name: _read_table(folder, name, file) for name, file in meta.tables.items()}
    except (OSError, ValueError, pl.exceptions.PolarsError):  # Arrow's errors are ValueErrors
        return None
    if any(frame is None for frame in frames.values()):
        return None
    tally = Tally(meta.n_events, meta.skipped, meta.repairs, meta.unread_keys)
    loaded = {name: frame for name, frame in frames.items() if frame is not None}
    return Trace(
        source=meta.source,
        origin_ns=meta.origin_ns,
        metadata=meta.metadata,
        tally=tally,
        graph_captures=(),
        **loaded,
    )


def exists(folder: Path) -> bool:
    """Columns of this schema version lie at `folder`; whether they are intact shows on loading."""
    try:
        meta = msgspec.json.decode((folder / _META).read_bytes(), type=ready(_Meta))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return meta.schema_version == SCHEMA_VERSION and all(
        (path := _table_path(folder, name)).is_file() and path.stat().st_size == file.n_bytes
        for name, file in meta.tables.items()
    )


def _table_path(folder: Path, table: str) -> Path:
    return folder / f"{table}.arrow"


def _with_short_names(frame: pl.DataFrame) -> pl.DataFrame:
    """The same, each name cut where no real one is as long: rules are tried on every name."""
    shortened = [
        pl.col(column.name).cast(pl.String).str.head(LONGEST_NAME).cast(column.dtype)
        for column in frame
        if isinstance(column.dtype, pl.Categorical) and _longest(column.unique()) > LONGEST_NAME
    ]
    return frame.with_columns(shortened)


def _longest(names: pl.Series) -> int:
    longest = names.cast(pl.String).str.len_chars().max()
    return longest if isinstance(longest, int) else 0


@cache
def _empty_file(table: str) -> bytes:
    """The file of a table without rows: half of the tables of most traces."""
    buffer = BytesIO()
    pl.DataFrame(schema=TABLE_SCHEMAS[table]).write_ipc(
        buffer, compat_level=pl.CompatLevel.newest()
    )
    return buffer.getvalue()


def _write_table(folder: Path, table: str, frame: pl.DataFrame) -> _TableFile:
    path = _table_path(folder, table)
    if not frame.height:
        path.write_bytes(_empty_file(table))
        return _TableFile(n_rows=0, n_bytes=path.stat().st_size, crc32=_checksum(path))
    # Newest: strings as views into one shared buffer, which is how ingest built them. Any other
    # level writes each of the million copies of "[[64,3,7,7],…]" out.
    # One batch: several would be copied together on loading.
    _with_short_names(frame).rechunk().write_ipc(
        path, compat_level=pl.CompatLevel.newest(), record_batch_size=max(1, frame.height)
    )
    return _TableFile(n_rows=frame.height, n_bytes=path.stat().st_size, crc32=_checksum(path))


def _read_table(folder: Path, table: str, file: _TableFile) -> pl.DataFrame | None:
    if not file.n_rows:
        return pl.DataFrame(schema=TABLE_SCHEMAS[table])
    frame = _mapped(_table_path(folder, table))
    matches = frame.height == file.n_rows and dict(frame.schema) == TABLE_SCHEMAS[table]
    return frame if matches else None


def _mapped(path: Path) -> pl.DataFrame:
    """The table of the file.

    pyarrow, which comes with Streamlit, maps the file and polars takes its buffers as they are:
    7 ms for 3 million rows, and one copy for all processes. Without it polars reads the file, and
    looks at every string once more (0.1 s); the checksum has done that.
    """
    try:
        import pyarrow as pa
    except ImportError:
        return pl.read_ipc(path)
    with pa.memory_map(os.fspath(path)) as source:
        return pl.DataFrame(pa.ipc.open_file(source).read_all())


def _are_intact(folder: Path, tables: Mapping[str, _TableFile]) -> bool:
    if sum(file.n_bytes for file in tables.values()) < _BLOCK_BYTES:  # less than threads cost
        return all(_is_intact(folder, *item) for item in tables.items())
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        # crc32 releases the interpreter's lock, so the tables are checked on all cores.
        return all(pool.map(lambda item: _is_intact(folder, *item), tables.items()))


def _is_intact(folder: Path, table: str, file: _TableFile) -> bool:
    path = _table_path(folder, table)
    try:
        return path.stat().st_size == file.n_bytes and _checksum(path) == file.crc32
    except OSError:
        return False


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK_BYTES):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _move_into_place(scratch: Path, folder: Path) -> None:
    """Rename; what stands there already is kept if it is whole, else replaced."""
    rename: Callable[[Path], Path] = scratch.rename
    try:
        rename(folder)
    except OSError:
        if load(folder) is not None:  # another process was faster
            return
        damaged = Path(tempfile.mkdtemp(prefix=f".{folder.name}.damaged.", dir=folder.parent))
        folder.rename(damaged / "was")
        rename(folder)
        shutil.rmtree(damaged, ignore_errors=True)
