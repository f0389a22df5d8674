"""From the plain objects of a snapshot to tables; every value is checked for what it is."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from profiler_core.errors import BadInput
from profiler_core.ingest.memory_snapshot.opcodes import REMEDY
from profiler_core.model.memory_snapshot import SNAPSHOT_SCHEMAS

# Shared lists let a small file describe a huge one, so what is looked at is counted.
MOST_ITEMS = 5_000_000  # a million allocations, each with its two frees, and blocks
MOST_FRAMES = 256  # of one stack; torch itself stops at 255 Python frames and some C++ ones

_INT64, _UINT64, _INT32 = (
    (-(1 << 63), (1 << 63) - 1),
    (0, (1 << 64) - 1),
    (-(1 << 31), (1 << 31) - 1),
)
Rows = dict[str, list[Any]]


def tables_of(snapshot: Any, name: str, most_items: int = MOST_ITEMS) -> dict[str, pl.DataFrame]:
    """Every table of SNAPSHOT_SCHEMAS, from the object that the pickle described.

    Keys of newer versions are left alone. Wrong types in known places end the reading.

    Raises:
        BadInput: it is no snapshot, or it describes more than `most_items` things.
    """
    return _Reader(name, most_items).read(snapshot)


def settings_of(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of allocator_settings."""
    settings = snapshot.get("allocator_settings")
    plain = (bool, int, float, str)
    if not isinstance(settings, dict):
        return {}
    return {
        key: value
        for key, value in list(settings.items())[:100]
        if isinstance(key, str) and isinstance(value, plain)
    }


class _Reader:
    def __init__(self, name: str, most_items: int) -> None:
        self._name = name
        self._most = self._left = most_items
        self._rows: dict[str, Rows] = {
            table: {column: [] for column in schema} for table, schema in SNAPSHOT_SCHEMAS.items()
        }
        self._stack_of: dict[int, int | None] = {}  # id of a list of frames -> stack
        self._stack_by_frames: dict[tuple[tuple[str, str, int], ...], int] = {}

    def read(self, snapshot: Any) -> dict[str, pl.DataFrame]:
        if not isinstance(snapshot, dict) or not {"segments", "device_traces"} & set(snapshot):
            raise self._wrong("the file", "a dict with segments and device_traces", snapshot)
        for number, segment in enumerate(self._list(snapshot.get("segments", []), "segments")):
            self._segment(number, self._dict(segment, "a segment"))
        traces = self._list(snapshot.get("device_traces", []), "device_traces")
        for device, events in enumerate(traces):
            for event in self._list(events, "a device's trace"):
                self._event(device, self._dict(event, "an event"))
        for annotation in self._list(
            snapshot.get("external_annotations", []), "external_annotations"
        ):
            self._annotation(self._dict(annotation, "an annotation"))
        return {
            table: pl.DataFrame(self._rows[table], schema=schema)
            for table, schema in SNAPSHOT_SCHEMAS.items()
        }

    def _segment(self, number: int, segment: dict[str, Any]) -> None:
        blocks = [self._dict(b, "a block") for b in self._list(segment.get("blocks", []), "blocks")]
        address = self._number(segment, "address", _UINT64)
        self._add(
            "segments",
            segment=number,
            device=self._number(segment, "device", _INT32),
            address=address,
            total_bytes=self._number(segment, "total_size", _INT64),
            allocated_bytes=self._number(segment, "allocated_size", _INT64),
            active_bytes=self._number(segment, "active_size", _INT64),
            requested_bytes=self._number(segment, "requested_size", _INT64),
            stream=self._number(segment, "stream", _UINT64),
            kind=self._text(segment, "segment_type"),
            pool=self._pool(segment.get("segment_pool_id")),
            is_expandable=segment.get("is_expandable") is True,
        )
        for block in blocks:
            size = self._number(block, "size", _INT64)
            at = self._number(block, "address", _UINT64)
            # Blocks of early versions carry no address: they stand one after the other.
            at = address if at is None else at
            self._add(
                "blocks",
                segment=number,
                address=at,
                bytes=size,
                requested_bytes=self._number(block, "requested_size", _INT64),
                state=self._text(block, "state"),
                stack=self._stack(_frames(block)),
            )
            address = None if at is None or size is None else min(at + size, _UINT64[1])

    def _event(self, device: int, event: dict[str, Any]) -> None:
        time_us = self._number(event, "time_us", (0, _INT64[1] // 1000))
        context = self._text(event, "compile_context")
        self._add(
            "events",
            device=device,
            time_ns=None if time_us is None else time_us * 1000,
            action=self._text(event, "action"),
            address=self._number(event, "addr", _UINT64),
            bytes=self._number(event, "size", _INT64),
            stream=self._number(event, "stream", _UINT64),
            stack=self._stack(_frames(event)),
            compile_context=None if context in ("", "N/A") else context,
        )

    def _annotation(self, annotation: dict[str, Any]) -> None:
        time_us = self._number(annotation, "time_us", (0, _INT64[1] // 1000))
        self._add(
            "annotations",
            time_ns=None if time_us is None else time_us * 1000,
            stage=self._text(annotation, "stage"),
            name=self._text(annotation, "name"),
            device=self._number(annotation, "device", _INT32),
        )

    def _stack(self, frames: Any) -> int | None:
        """The number of these frames; equal ones have the same number."""
        if frames is None:
            return None
        frames_id = id(frames)  # the objects live as long as the reading
        if frames_id not in self._stack_of:
            listed = self._list(frames, "frames")[:MOST_FRAMES]
            self._stack_of[frames_id] = self._new_stack(
                tuple(self._frame(self._dict(frame, "a frame")) for frame in listed)
            )
        return self._stack_of[frames_id]

    def _new_stack(self, frames: tuple[tuple[str, str, int], ...]) -> int | None:
        if not frames:
            return None
        number = self._stack_by_frames.setdefault(frames, len(self._stack_by_frames))
        rows = self._rows["stacks"]
        if not rows["stack"] or rows["stack"][-1] < number:
            for depth, (function, file, line) in enumerate(frames):
                self._add(
                    "stacks", stack=number, depth=depth, function=function, file=file, line=line
                )
        return number

    def _frame(self, frame: dict[str, Any]) -> tuple[str, str, int]:
        file = self._text(frame, "filename") or ""
        # C++ frames have "??" or a source file without its folder, and mostly line 0.
        is_python = file.endswith(".py") or file.startswith("<")
        return (
            self._text(frame, "name") or "",
            file if is_python else "",
            (self._number(frame, "line", _INT32) or 0) if is_python else 0,
        )

    def _pool(self, value: Any) -> str | None:
        if value is None:
            return None
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise self._wrong("segment_pool_id", "two numbers", value)
        return ".".join(str(self._number({"pool": part}, "pool", _UINT64)) for part in value)

    def _add(self, table: str, **values: Any) -> None:
        rows = self._rows[table]
        for column, value in values.items():
            rows[column].append(value)

    def _list(self, value: Any, subject: str) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise self._wrong(subject, "a list", value)
        self._left -= len(value)
        if self._left < 0:
            raise BadInput(
                f"{self._name} describes more than {self._most:,} objects, more than any allocator "
                "records.",
                remedy=REMEDY,
            )
        return value if isinstance(value, list) else list(value)

    def _dict(self, value: Any, subject: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(subject, "a dict", value)
        return value

    def _number(self, owner: Mapping[str, Any], key: str, within: tuple[int, int]) -> int | None:
        value = owner.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(key, "a whole number", value)
        if not within[0] <= value <= within[1]:
            raise BadInput(f"{self._name} holds {key} = {value}.", remedy=REMEDY)
        return value

    def _text(self, owner: Mapping[str, Any], key: str) -> str | None:
        value = owner.get(key)
        if value is not None and not isinstance(value, str):
            raise self._wrong(key, "a string", value)
        # Pickles may hold lone surrogates, which no file and no browser takes.
        return value if value is None else value[:4096].encode("utf-8", "replace").decode()

    def _wrong(self, subject: str, expected: str, met: object) -> BadInput:
        return BadInput(
            f"{self._name} is no memory snapshot: {subject} should be {expected} and is "
            f"{type(met).__name__}.",
            remedy=REMEDY,
        )


def _frames(owner: Mapping[str, Any]) -> Any:
    """The stack of an event or a block; early versions keep it in the block's history."""
    frames = owner.get("frames")
    if frames is not None:
        return frames
    history = owner.get("history")
    if isinstance(history, list) and history and isinstance(history[0], dict):
        return history[0].get("frames")
    return None
