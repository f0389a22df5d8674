"""The cache of what was read and computed: the one cache policy of the product.

A key says whose answer it is: the question, its parameters, and the versions of the files behind
it (`Run` and `Comparison` make their keys from these). A changed file has another version, so its
old answers are never given again, and leave as those that nobody asked for longest.
"""

import dataclasses
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any, TypeVar, cast

import msgspec
import numpy as np
import polars as pl

from profiler_core.model.memory_snapshot import MemorySnapshot
from profiler_core.model.trace import Trace

MOST_ENTRIES = 1024
MOST_BYTES = 512 << 20
KEPT_S = 3600.0  # an answer that nobody asked for in this time is given back

_MAPPED_BYTES = 64 << 10  # of columns that are mapped from a file: the system takes them back
_SAMPLED = 32  # members of a long collection that stand for all of them
_DEEPEST = 8

T = TypeVar("T")


@dataclass
class _Entry:
    value: object
    n_bytes: int
    asked_at: float


@dataclass
class _Flight:
    """An answer that one thread is making, and others wait for."""

    finished: threading.Event = field(default_factory=threading.Event)
    value: object = None
    failed: bool = True


class Cache:
    """Answers by key, bounded by number, by approximate size and by time without use.

    Each answer is made by one thread at a time; who asks meanwhile waits for it. A failure is
    raised to its own thread alone and never kept: the next one tries again.

    Args:
        most_entries: answers at a time.
        most_bytes: of all of them together, about; the newest stays even where it alone is more.
        kept_s: seconds without use after which an answer is given back.
    """

    def __init__(
        self,
        most_entries: int = MOST_ENTRIES,
        most_bytes: int = MOST_BYTES,
        kept_s: float = KEPT_S,
    ) -> None:
        self._most_entries = most_entries
        self._most_bytes = most_bytes
        self._kept_s = kept_s
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()  # the longest unused first
        self._traces: dict[Hashable, _Entry] = {}  # of these
        self._flights: dict[Hashable, _Flight] = {}
        self._n_bytes = 0

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The answer of this key, made where nobody has it.

        Args:
            key: question, parameters and versions.
            make: computes it; may ask this cache for other keys. What it raises, this raises.
        """
        while True:
            with self._lock:
                entry = self._entries.get(key)
                if entry is not None:
                    entry.asked_at = time.monotonic()
                    self._entries.move_to_end(key)
                    return cast("T", entry.value)
                flight = self._flights.get(key)
                if flight is None:
                    # Under the same lock as the look: nobody else can begin, or end, in between.
                    flight = self._flights[key] = _Flight()
                    break
            flight.finished.wait()
            if not flight.failed:
                return cast("T", flight.value)
        try:
            value = make()
            flight.value, flight.failed = value, False
            self._keep(key, value)
            return value
        finally:
            with self._lock:
                del self._flights[key]
            flight.finished.set()

    def __contains__(self, key: object) -> bool:
        """Would `get` answer at once?"""
        return key in self._entries

    def __len__(self) -> int:
        """How many answers are kept."""
        return len(self._entries)

    @property
    def n_bytes(self) -> int:
        """About how large all answers are together."""
        return self._n_bytes

    def clear(self) -> None:
        """Give everything back."""
        with self._lock:
            self._entries.clear()
            self._traces.clear()
            self._n_bytes = 0

    def drop_unused(self) -> None:
        """Give back what nobody asked for in `kept_s`, though nothing new is kept."""
        with self._lock:
            self._weigh_traces()
            self._give_back()

    def _keep(self, key: Hashable, value: object) -> None:
        n_bytes = approximate_bytes(value)
        with self._lock:
            entry = self._entries[key] = _Entry(value, n_bytes, time.monotonic())
            if isinstance(value, Trace):
                self._traces[key] = entry
            self._n_bytes += n_bytes
            self._weigh_traces()
            self._give_back()

    def _weigh_traces(self) -> None:
        """A trace grows by the tables that analyses derive of it after it was kept."""
        for entry in self._traces.values():
            n_bytes = approximate_bytes(entry.value)
            self._n_bytes += n_bytes - entry.n_bytes
            entry.n_bytes = n_bytes

    def _give_back(self) -> None:
        """What is over the limits, the longest unused first; never the newest."""
        oldest_kept = time.monotonic() - self._kept_s
        while len(self._entries) > 1:
            key, entry = next(iter(self._entries.items()))
            within = len(self._entries) <= self._most_entries and self._n_bytes <= self._most_bytes
            if within and entry.asked_at >= oldest_kept:
                return
            del self._entries[key]
            self._traces.pop(key, None)
            self._n_bytes -= entry.n_bytes


SHARED = Cache()  # of this process: its sessions look at the same files


def approximate_bytes(value: object, depth: int = _DEEPEST) -> int:
    """About how much memory an answer holds, in bytes; long collections are sampled.

    Columns of traces and snapshots are mapped from files and hardly count, what is derived of a
    trace does. What several answers hold together counts in each.
    """
    return _weigher(type(value))(value, depth)  # type: ignore[arg-type]  # types are hashable


_Weigher = Callable[[Any, int], int]


@cache  # each answer has thousands of parts of a few types
def _weigher(kind: type) -> _Weigher:
    """What weighs the values of a type, members up to a depth included."""
    for bases, weigher in _WEIGHERS:
        if issubclass(kind, bases):
            return weigher
    if issubclass(kind, msgspec.Struct):
        return _of_fields(kind.__struct_fields__)
    if dataclasses.is_dataclass(kind):
        return _of_fields(tuple(record_field.name for record_field in dataclasses.fields(kind)))
    return _of_one


def _of_one(value: object, _depth: int) -> int:
    return sys.getsizeof(value)


def _of_mapping(value: Mapping[object, object], depth: int) -> int:
    parts = (part for item in value.items() for part in item)
    return sys.getsizeof(value) + _sampled(parts, 2 * len(value), depth)


def _of_collection(value: Collection[object], depth: int) -> int:
    return sys.getsizeof(value) + _sampled(value, len(value), depth)


def _of_fields(names: tuple[str, ...]) -> _Weigher:
    def weigh(value: object, depth: int) -> int:
        size = sys.getsizeof(value)
        if depth:
            size += sum(approximate_bytes(getattr(value, name), depth - 1) for name in names)
        return size

    return weigh


def _sampled(parts: Iterable[object], n: int, depth: int) -> int:
    sample = list(islice(parts, _SAMPLED)) if depth else []
    if not sample:
        return 0
    size = sum(approximate_bytes(part, depth - 1) for part in sample)
    return round(size * n / len(sample))


# The first that fits.
_WEIGHERS: tuple[tuple[type | tuple[type, ...], _Weigher], ...] = (
    (Trace, lambda trace, _: _MAPPED_BYTES + trace.derived_bytes),
    (MemorySnapshot, lambda _snapshot, _: _MAPPED_BYTES),
    (np.ndarray, lambda array, _: int(array.nbytes)),
    ((pl.DataFrame, pl.Series), lambda columns, _: int(columns.estimated_size())),
    ((str, bytes, int, float), _of_one),
    (Mapping, _of_mapping),
    ((tuple, list, set, frozenset), _of_collection),
)
