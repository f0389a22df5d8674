"""A capture's folder as rows of the kept list, and back."""

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from profiler_core.model.run import RunRecord
from profiler_core.store.key_parts import encode_part
from profiler_core.store.library import Comparable, Entry, Origin, labels_of
from profiler_core.store.listing import Stamp
from profiler_core.typed import ready

_LONGEST_LINE = 200  # characters of a title or a label in a menu
_LONGEST_WORDS = 4000
_INSERT = f"INSERT OR REPLACE INTO captures VALUES ({', '.join('?' * 18)})"  # noqa: S608


class LineOfRun(msgspec.Struct, frozen=True):
    """A run in a menu."""

    key: str
    label: str  # inside of its comparison
    variant: str
    workload: str  # or its folder's name


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """A run with its record, as in `payloads`."""

    folder: str  # of the run; empty: the capture's folder itself
    run: RunRecord
    problem: str | None


@dataclass(frozen=True)
class Seen:
    """A folder as it was when it was looked at; without a group it holds no run."""

    prefix: str
    folder: Path
    stamp: Stamp | None  # None: it is gone
    folder_changed_ns: int
    runs_now: bool  # a run of it runs, or seems lost
    unsettled_until: float
    group: Comparable | None

    @property
    def key(self) -> str:
        """Of its comparison."""
        return f"{self.prefix}/{encode_part(self.folder.name)}"


def digest(stamp: Stamp | None) -> str:
    """A stamp in few characters; empty for a folder that is gone."""
    if stamp is None:
        return ""
    return hashlib.blake2b(repr(stamp).encode(), digest_size=12).hexdigest()


def write(connection: sqlite3.Connection, seen: Sequence[Seen]) -> None:
    """Put these folders into the list, in place of what it said of them."""
    remove(connection, [look.key for look in seen])
    connection.executemany(_INSERT, [_row(look) for look in seen])
    listed = [(look.key, look.group) for look in seen if look.group is not None]
    connection.executemany(
        "INSERT OR REPLACE INTO payloads VALUES (?, ?)",
        [(key, _payload(group)) for key, group in listed],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, NULL)",
        [
            (entry.key, key, entry.run.run_id or entry.key, _is_ended(entry))
            for key, group in listed
            for entry in group.entries
            if group.origin != "sample"
        ],
    )


def remove(connection: sqlite3.Connection, keys: Sequence[str]) -> None:
    """Take these folders out of the list."""
    several = [(key,) for key in keys]
    connection.executemany("DELETE FROM captures WHERE key = ?", several)
    connection.executemany("DELETE FROM payloads WHERE key = ?", several)
    connection.executemany("DELETE FROM runs WHERE capture = ?", several)


def group_of(row: sqlite3.Row, roots: Mapping[str, Path]) -> Comparable:
    """The comparison behind a row of `captures` with its payload."""
    folder = roots[row["prefix"]] / row["folder"]
    return _decoded(row["key"], row["origin"], folder, row["stamp"], row["payload"])


@lru_cache(maxsize=256)  # of 5 runs each some 100 kB: pages draw the same few again and again
def _decoded(key: str, origin: Origin, folder: Path, stamp: str, payload: bytes) -> Comparable:
    del stamp
    entries = [
        Entry(
            key=f"{key}/{encode_part(kept.folder)}" if kept.folder else key,
            path=folder / kept.folder if kept.folder else folder,
            run=kept.run,
            origin=origin,
            problem=kept.problem,
            is_abridged=True,
        )
        for kept in msgspec.json.decode(payload, type=ready(tuple[_Kept, ...]))
    ]
    created = max(entry.run.created_at or "" for entry in entries)
    return Comparable(key, origin, folder, entries[0], tuple(entries[1:]), created)


def _payload(group: Comparable) -> bytes:
    return msgspec.json.encode([
        _Kept("" if entry.path == group.path else entry.path.name, entry.run, entry.problem)
        for entry in group.entries
    ])  # fmt: skip


def _row(look: Seen) -> tuple[object, ...]:
    group = look.group
    last = (look.folder_changed_ns, digest(look.stamp), look.runs_now, look.unsettled_until)
    if group is None:
        nothing = ("", 0, 0, "", "", "", "[]", None, 0, 0, 0)
        return _storable_row((look.key, look.prefix, look.folder.name, *nothing, *last))
    lines = [
        LineOfRun(
            entry.key,
            label[:_LONGEST_LINE],
            entry.variant[:_LONGEST_LINE],
            (entry.run.workload or entry.path.parent.name)[:_LONGEST_LINE],
        )
        for entry, label in zip(group.entries, labels_of(group.entries), strict=True)
    ]
    point = group.baseline.run.sweep
    return _storable_row((
        look.key, look.prefix, look.folder.name, group.origin, group.origin != "sample", 1,
        group.created_at, group.title, _words(group), msgspec.json.encode(lines).decode(),
        f"{look.prefix}/{encode_part(point.id)}" if point is not None and point.id else None,
        sum(entry.is_readable for entry in group.entries),
        group.is_job,
        group.path == group.baseline.path,
        *last,
    ))  # fmt: skip


def _words(group: Comparable) -> str:
    """What somebody may remember of it: its names, variants, and where it ran."""
    first = group.baseline.run
    texts = [group.key, group.title, *(entry.variant for entry in group.entries)]
    texts += [first.workload or first.name]
    texts += [str(first.environment.get(name) or "") for name in ("gpu", "torch", "git_branch")]
    return " ".join(texts).lower()[:_LONGEST_WORDS]


def _is_ended(entry: Entry) -> bool:
    return entry.run.status != "running" and entry.problem is None


def storable(text: str) -> str:
    """Without half characters, which a name of a file or a record may hold."""
    return text.encode("utf-8", "replace").decode()


def _storable_row(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(storable(value) if isinstance(value, str) else value for value in row)
