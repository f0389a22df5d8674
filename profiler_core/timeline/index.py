"""The index as read: memory-mapped columns, opened in about a millisecond, shared by processes."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from profiler_core.timeline.build import META
from profiler_core.timeline.layout import TABLES, VERSION, Layout
from profiler_core.typed import ready


class DamagedIndexError(Exception):
    """The folder holds no index, one of another version, or one that was cut; build it anew."""


@dataclass(frozen=True, eq=False)
class Index:
    """Every event of a trace by lane and start. Event columns have `layout.n_events` rows."""

    layout: Layout
    ts: NDArray[np.int64]
    dur: NDArray[np.int64]
    name: NDArray[np.uint32]
    category: NDArray[np.uint8]
    table: NDArray[np.uint8]
    row: NDArray[np.uint32]
    series_ts: NDArray[np.int64]
    series_cum: NDArray[np.int64]
    name_bytes: NDArray[np.uint8]
    name_start: NDArray[np.int64]
    positions: dict[str, NDArray[np.uint32]]

    def name_text(self, number: int) -> str:
        """The text of a name."""
        start, stop = self.name_start[number : number + 2].tolist()
        return self.name_bytes[start:stop].tobytes().decode("utf-8", "replace")

    def position(self, table: str, row: int) -> int | None:
        """The index of a table's row in the event columns; None where the table has no such row."""
        positions = self.positions.get(table)
        if positions is None or not 0 <= row < positions.size:
            return None
        return int(positions[row])

    def lane_of(self, position: int) -> int:
        """The lane of the event at this index of the event columns."""
        ends = np.array([lane.last for lane in self.layout.lanes])
        return int(np.searchsorted(ends, position, side="right"))


def open_index(folder: Path) -> Index:
    """The index in `folder`; the last 32 stay open and are shared.

    Raises:
        DamagedIndexError: it cannot be used; the text says why.
    """
    meta = folder / META
    try:
        stamp = meta.stat().st_mtime_ns
    except OSError as error:
        raise DamagedIndexError(f"{folder} holds no index.") from error
    return _opened(folder, stamp)


@lru_cache(maxsize=32)  # a few KB each: the columns stay on disk
def _opened(folder: Path, _stamp: int) -> Index:
    try:
        layout = msgspec.json.decode((folder / META).read_bytes(), type=ready(Layout))
    except (OSError, msgspec.DecodeError) as error:
        raise DamagedIndexError(f"{folder.name}: {error}") from error
    if layout.version != VERSION:
        raise DamagedIndexError(f"{folder.name} has version {layout.version}, not {VERSION}.")
    for name, size in layout.sizes.items():
        try:
            n_bytes = (folder / name).stat().st_size
        except OSError as error:
            raise DamagedIndexError(f"{folder.name}: {name} is missing.") from error
        if n_bytes != size:
            raise DamagedIndexError(f"{folder.name}: {name} has {n_bytes} bytes, not {size}.")
    try:
        return Index(
            layout=layout,
            **{name: _column(folder, name) for name in _EVENT_COLUMNS},
            positions={table: _column(folder, f"place_{table}") for table in TABLES},
        )
    except (OSError, ValueError) as error:
        raise DamagedIndexError(f"{folder.name}: {error}") from error


_EVENT_COLUMNS = (
    "ts",
    "dur",
    "name",
    "category",
    "table",
    "row",
    "series_ts",
    "series_cum",
    "name_bytes",
    "name_start",
)


def _column(folder: Path, name: str) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    # An empty file cannot be mapped.
    mode: Literal["r"] | None = None if _is_empty(path) else "r"
    # As a plain array: each slice and each operation on a memmap object costs microseconds more.
    return np.asarray(np.load(path, mmap_mode=mode, allow_pickle=False))


def _is_empty(path: Path) -> bool:
    return path.stat().st_size <= _NPY_HEADER_BYTES


_NPY_HEADER_BYTES = 128  # of format 1.0, for arrays of one dimension
