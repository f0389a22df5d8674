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
            self._n_bytes = 0

    def drop_unused(self) -> None:
        """Give back what nobody asked for in `kept_s`, though nothing new is kept."""
        with self._lock:
            self._weigh_traces()
            self._give_back()

    def _keep(self, key: Hashable, value: object) -> None:
        n_bytes = approximate_bytes(value)
        with self._lock:
            self._entries[key] = _Entry(value, n_bytes, time.monotonic())
            self._n_bytes += n_bytes
            self._weigh_traces()
            self._give_back()

    def _weigh_traces(self) -> None:
        """A trace grows by the tables that analyses derive of it after it was kept."""
        for entry in self._entries.values():
            if isinstance(entry.value, Trace):
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
            self._n_bytes -= entry.n_bytes


SHARED = Cache()  # of this process: its sessions look at the same files


def approximate_bytes(value: object, depth: int = _DEEPEST) -> int:
    """About how much memory an answer holds, in bytes; long collections are sampled.

    Columns of traces and snapshots are mapped from files and hardly count, what is derived of a
    trace does. What several answers hold together counts in each.
    """
    if isinstance(value, Trace):
        return _MAPPED_BYTES + value.derived_bytes
    if isinstance(value, MemorySnapshot):
        return _MAPPED_BYTES
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, pl.DataFrame | pl.Series):
        return int(value.estimated_size())
    size = sys.getsizeof(value)
    if depth == 0 or isinstance(value, str | bytes | int | float):
        return size
    if isinstance(value, Mapping):
        return size + _sampled(
            (part for item in value.items() for part in item), 2 * len(value), depth
        )
    if isinstance(value, tuple | list | set | frozenset):
        return size + _sampled(value, len(cast("Collection[object]", value)), depth)
    return size + sum(approximate_bytes(part, depth - 1) for part in _fields(value))


def _sampled(parts: Iterable[object], n: int, depth: int) -> int:
    sample = list(islice(parts, _SAMPLED))
    if not sample:
        return 0
    size = sum(approximate_bytes(part, depth - 1) for part in sample)
    return round(size * n / len(sample))


def _fields(value: Any) -> list[object]:
    if isinstance(value, msgspec.Struct):
        return [getattr(value, name) for name in value.__struct_fields__]
    if dataclasses.is_dataclass(value):
        return [getattr(value, record_field.name) for record_field in dataclasses.fields(value)]
    return []
