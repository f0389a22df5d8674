"""What a snapshot's history tells: live bytes along time, and the live set at their peak by stack.

The history begins somewhere: what was allocated before is known as a sum alone, from the segments
at the end. A free counts when it is requested, as torch.cuda.memory_allocated counts it. Bytes are
those that were asked for; the allocator rounds them up to 512 and more.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from profiler_core.analysis.memory.curve import MemoryCurve
from profiler_core.analysis.memory.frames import is_framework, n_shared, place
from profiler_core.model.memory_snapshot import MemorySnapshot

_CUDA = 1
_ALLOC, _FREE = "alloc", "free_requested"
_OPERATOR = re.compile(r"^at::_ops::(?P<name>\w+)::call")
_ALLOCATES = re.compile(r"^(empty|new_empty|resize|to|_to_copy|clone|contiguous)")


@dataclass(frozen=True)
class Origin:
    """Where an allocation comes from, in the words of its stack."""

    source: str | None  # `modeling_bert.py:176`, the innermost line outside of the framework
    operator: str | None  # from C++ frames, where they were recorded
    path: tuple[str, ...]  # frames outside of the framework, the outermost first
    lines: tuple[str, ...] = ()  # of each of these: `modeling_bert.py:176`

    @property
    def label(self) -> str:
        """The best name there is."""
        return self.source or self.operator or "(no Python stack)"


@dataclass(frozen=True)
class SnapshotLive:
    """The live set at the peak of the history, bytes. before + the sum over rows == peak."""

    peak_bytes: int
    before_bytes: int  # allocated before the history began, or without a record of it
    rows: tuple[tuple[Origin, int, int], ...]  # (origin, number, bytes), largest first


@dataclass(frozen=True)
class SnapshotHistory:
    """One device's history; None where none was recorded."""

    device: int
    curve: MemoryCurve  # reserved is not in the history; ts_ns from its first event
    live: SnapshotLive
    largest: tuple[tuple[Origin, int, int], ...]  # (origin, number, bytes) of all allocations
    sizes: dict[int, float]  # size of an allocation -> how many


def operators_apart(rows: Sequence[Origin]) -> tuple[str, ...]:
    """For each row its operator, where another one has its label and another operator; "" else."""
    return _apart(rows, lambda origin: origin.operator or "")


def callers_apart(rows: Sequence[Origin]) -> tuple[str, ...]:
    """For each row the lines that call it, where another one has its label and other callers.

    The outermost first, without those that all callers of the label begin with; "" for the others.
    """
    callers = {
        label: _without_shared({origin.path[:-1] for origin in alike})
        for label, alike in _by_label(rows).items()
    }
    return _apart(rows, lambda origin: callers[origin.label][origin.path[:-1]])


def _apart(rows: Sequence[Origin], text: Callable[[Origin], str]) -> tuple[str, ...]:
    differs = {
        label: len({text(origin) for origin in alike}) > 1
        for label, alike in _by_label(rows).items()
    }
    return tuple(text(origin) if differs[origin.label] else "" for origin in rows)


def _by_label(rows: Sequence[Origin]) -> dict[str, list[Origin]]:
    by_label: dict[str, list[Origin]] = {}
    for origin in rows:
        by_label.setdefault(origin.label, []).append(origin)
    return by_label


def _without_shared(paths: Collection[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Each of these as text, its last frame kept; what only the framework calls says so."""
    shared = n_shared(paths)
    return {path: " → ".join(path[shared:]) or "the framework alone" for path in paths}


def origins(snapshot: MemorySnapshot) -> dict[int, Origin]:
    """The origin behind each number of a stack."""
    by_stack = {}
    for (number,), frames in snapshot.stacks.sort("stack", "depth").group_by(
        "stack", maintain_order=True
    ):
        listed = list(zip(frames["function"], frames["file"], frames["line"], strict=True))
        user_frames = [
            (function, file, line)
            for function, file, line in listed
            if file and not is_framework(file)
        ]
        operators = [m["name"] for f, file, _ in listed if not file and (m := _OPERATOR.match(f))]
        by_stack[int(str(number))] = Origin(
            source=place(user_frames[0][1], user_frames[0][2]) if user_frames else None,
            operator=next((o for o in operators if not _ALLOCATES.match(o)), None),
            path=tuple(
                f"{place(file, line)} {function}" for function, file, line in user_frames[::-1]
            ),
            lines=tuple(place(file, line) for _, file, line in user_frames[::-1]),
        )
    return by_stack


def history_of(snapshot: MemorySnapshot) -> SnapshotHistory | None:
    """The history of the device with the most events; None where nothing was recorded."""
    changes = snapshot.events.filter(
        pl.col("action").is_in([_ALLOC, _FREE]), pl.col("bytes").is_not_null()
    )
    if changes.height == 0:
        return None
    device = int(changes["device"].mode()[0])
    changes = changes.filter(pl.col("device") == device).with_row_index("order")
    delta = np.where(changes["action"] == _ALLOC, 1, -1) * changes["bytes"].to_numpy()
    # Events carry what was asked for, not what it was rounded up to (CUDACachingAllocator.cpp,
    # record_trace with orig_size), so the level is counted in that too.
    segments = snapshot.segments.filter(pl.col("device") == device)
    requested = segments["requested_bytes"]
    now = (segments["allocated_bytes"] if requested.null_count() else requested).sum()
    start = int(now) - int(delta.sum())
    level = np.concatenate([[start], start + np.cumsum(delta)]).astype(np.int64)
    curve = MemoryCurve(_CUDA, device, _clock(changes), level, None, ())
    origin_of_stack = origins(snapshot)
    allocated = changes.filter(pl.col("action") == _ALLOC)
    sizes = {size: float(n) for size, n in allocated.group_by("bytes").len().iter_rows()}
    return SnapshotHistory(
        device,
        curve,
        _live(changes, level, origin_of_stack),
        _by_origin(allocated, origin_of_stack),
        sizes,
    )


def _live(
    changes: pl.DataFrame, level: "np.typing.NDArray[np.int64]", origin_of_stack: dict[int, Origin]
) -> SnapshotLive:
    until = int(level.argmax())  # so many changes were made
    alive: dict[int, int] = {}  # address -> row
    for row, (action, address) in enumerate(
        changes.head(until).select("action", "address").iter_rows()
    ):
        if action == _ALLOC:
            alive[address] = row
        else:
            alive.pop(address, None)
    rows = _by_origin(changes[sorted(alive.values())], origin_of_stack)
    peak = int(level.max())
    return SnapshotLive(peak, peak - sum(size for _, _, size in rows), rows)


def _by_origin(
    allocated: pl.DataFrame, origin_of_stack: dict[int, Origin]
) -> tuple[tuple[Origin, int, int], ...]:
    unknown = Origin(None, None, ())
    sums: dict[Origin, tuple[int, int]] = {}
    for stack, n, size in (
        allocated.group_by("stack").agg(n=pl.len(), bytes=pl.col("bytes").sum()).iter_rows()
    ):
        origin = unknown if stack is None else origin_of_stack.get(stack, unknown)
        before = sums.get(origin, (0, 0))
        sums[origin] = (before[0] + n, before[1] + size)
    listed = [(origin, n, size) for origin, (n, size) in sums.items()]
    return tuple(sorted(listed, key=lambda row: (-row[2], row[0].label, row[0].path)))


def _clock(changes: pl.DataFrame) -> "np.typing.NDArray[np.int64]":
    """Times from the first event; before torch 2.2 there are none, and the order stands in."""
    times = changes["time_ns"]
    if times.null_count():
        return np.arange(changes.height + 1, dtype=np.int64)
    since = (times - times.min()).to_numpy()
    return np.concatenate([[0], np.maximum.accumulate(since)]).astype(np.int64)
