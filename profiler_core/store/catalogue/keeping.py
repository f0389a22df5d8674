"""When a folder is looked at again, so that the kept list says what the folders say.

At each look (some 0.3 ms): the times of change of the three top folders, which change with
every capture that comes or goes, and the runs of captures that changed a short while ago or still
run. Every `_CHECK_S` at most, the times of change of all captures' folders, which change with
every run that comes or goes. All of it, each run.json, when the server starts and on request.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from profiler_core.home import home_directory
from profiler_core.session.folder import other_ranks
from profiler_core.store import library
from profiler_core.store.catalogue.file import list_path, transaction
from profiler_core.store.catalogue.rows import Seen, digest, group_of, remove, storable, write
from profiler_core.store.listing import changed_ns, stamp_of

try:
    import fcntl
except ImportError:  # Windows: several processes may read the same folders
    fcntl = None  # type: ignore[assignment]

_CHECK_S = 10.0
_SETTLES_S = 600.0  # a folder that did not change for so long is looked at no more
_LOST_SETTLES_S = 3600.0  # a run that seems lost may come back, as its machine wakes up
_EMPTY_SETTLES_S = 24 * 3600.0  # a capture whose first run is still to come
_NEVER = 1e18
_MOST_UNSETTLED = 200  # of which the newest are looked at
_GRANULE_NS = 2_000_000_000  # two changes within it may leave one time
_BATCH = 100  # folders that are read before they are written
_FEW = 20  # are read by whoever comes; more by one process while others go on without
_LONGEST_WAIT_S = 5.0  # for a thread that makes the list for the first time

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_look_of_thread = threading.local()
_checked_at: dict[Path, float] = {}  # home -> when all captures' folders were looked at last


@contextmanager
def one_look() -> Iterator[None]:
    """Inside of it this thread looks at the folders once, however much it asks: one page's run."""
    _look_of_thread.state = "due"
    try:
        yield
    finally:
        _look_of_thread.state = ""


def refresh(*, everything: bool = False) -> None:
    """Bring the list up to date; what another thread is just at is waited for a little.

    Args:
        everything: look at each run.json too, whatever the folders say.
    """
    if not everything and getattr(_look_of_thread, "state", "") == "done":
        return
    if getattr(_look_of_thread, "state", ""):
        _look_of_thread.state = "done"
    if not _lock.acquire(timeout=-1 if everything else _LONGEST_WAIT_S):
        return  # a long list is being made: there is what was read so far
    try:
        _refresh(everything=everything)
    except (OSError, sqlite3.Error) as error:
        _log.warning("The list of runs could not be brought up to date: %s", error)
    finally:
        _lock.release()


@dataclass(frozen=True)
class _Change:
    """What differs between a top folder and the list."""

    changed_ns: int  # of the top folder, before it was looked at
    stale: tuple[Path, ...]
    gone: tuple[str, ...]  # keys


def _refresh(*, everything: bool) -> None:
    roots = library.roots()
    moment, home = time.monotonic(), home_directory()
    is_due = everything or moment - _checked_at.get(home, -_CHECK_S) >= _CHECK_S
    stale = {(prefix, folder.name): folder for prefix, folder in _unsettled(roots)}
    changes: dict[str, _Change] = {}
    with transaction() as connection:
        kept_roots = {row["prefix"]: row for row in connection.execute("SELECT * FROM roots")}
    for prefix, root in roots.items():
        kept = kept_roots.get(prefix)
        if kept is not None and kept["path"] != str(root):  # another installation's samples
            _forget(prefix)
            kept = None
        if is_due or kept is None or kept["changed_ns"] != changed_ns(root):
            changes[prefix] = change = _change(prefix, root, everything=everything)
            stale |= {(prefix, folder.name): folder for folder in change.stale}
    with _alone_for(len(stale)) as is_alone:
        if not is_alone:  # another process reads them
            return
        _read(list(stale.items()), roots)
        _note_roots(changes, roots)
    if is_due:
        _checked_at[home] = moment


def _unsettled(roots: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    """The folders that changed a short while ago and changed again, or may have."""
    with transaction() as connection:
        rows = connection.execute(
            "SELECT prefix, folder, stamp, runs_now FROM captures WHERE unsettled_until > ? "
            "ORDER BY unsettled_until DESC LIMIT ?",
            (time.time(), _MOST_UNSETTLED),
        ).fetchall()
    for row in rows:
        folder = roots[row["prefix"]] / row["folder"]
        if row["runs_now"] or digest(stamp_of(folder)) != row["stamp"]:
            yield row["prefix"], folder


def _change(prefix: str, root: Path, *, everything: bool) -> _Change:
    root_changed_ns = changed_ns(root)
    with transaction() as connection:
        rows = connection.execute(
            "SELECT key, folder, folder_changed_ns, stamp FROM captures WHERE prefix = ?", (prefix,)
        ).fetchall()
    kept = {row["folder"]: row for row in rows}
    stale = []
    for folder in library.folders_in(root):
        row = kept.pop(storable(folder.name), None)
        is_same = row is not None and row["folder_changed_ns"] == changed_ns(folder)
        if is_same and everything:
            is_same = row is not None and digest(stamp_of(folder)) == row["stamp"]
        if not is_same:
            stale.append(folder)
    return _Change(root_changed_ns, tuple(stale), tuple(row["key"] for row in kept.values()))


def _read(stale: Sequence[tuple[tuple[str, str], Path]], roots: Mapping[str, Path]) -> None:
    for start in range(0, len(stale), _BATCH):
        several = stale[start : start + _BATCH]
        seen = [_look(prefix, folder, roots[prefix]) for (prefix, _), folder in several]
        with transaction(writing=True) as connection:
            write(connection, [look for look in seen if look.stamp is not None])
            remove(connection, [look.key for look in seen if look.stamp is None])
            if any(_is_rank(look) for look in seen):
                _hide_ranks(connection, roots)


def _look(prefix: str, folder: Path, root: Path) -> Seen:
    stamp = stamp_of(folder)  # before the reading, so that a change meanwhile is one
    group = library.read_group(prefix, folder, root) if stamp is not None else None
    changed_s = min(stamp.newest_ns / 1e9 if stamp is not None else 0.0, time.time())
    statuses = {entry.run.status for entry in group.entries} if group is not None else set()
    runs_now = bool(statuses & {"running", "lost"})
    if "running" in statuses:
        unsettled_until = _NEVER
    elif group is None:
        unsettled_until = changed_s + _EMPTY_SETTLES_S
    else:
        unsettled_until = changed_s + (_LOST_SETTLES_S if runs_now else _SETTLES_S)
    return Seen(prefix, folder, stamp, changed_ns(folder), runs_now, unsettled_until, group)


def _is_rank(look: Seen) -> bool:
    group = look.group
    return group is not None and group.path == group.baseline.path and group.is_job


def _hide_ranks(connection: sqlite3.Connection, roots: Mapping[str, Path]) -> None:
    """Of ranks of one job that lie beside each other, the lowest stands for all."""
    rows = connection.execute(
        "SELECT key, prefix, origin, folder, stamp, payload "
        "FROM captures JOIN payloads USING (key) WHERE is_alone AND is_job ORDER BY key"
    ).fetchall()
    alone = [group_of(row, roots).baseline for row in rows]
    hidden = other_ranks([(entry.path, entry.run) for entry in alone])
    connection.executemany(
        "UPDATE captures SET is_listed = ? WHERE key = ?",
        [(index not in hidden, row["key"]) for index, row in enumerate(rows)],
    )


def _note_roots(changes: Mapping[str, _Change], roots: Mapping[str, Path]) -> None:
    if not changes:
        return
    # What changes within the clock's granule would leave the same time: it is looked at again.
    latest_ns = time.time_ns() - _GRANULE_NS
    with transaction(writing=True) as connection:
        for prefix, change in changes.items():
            remove(connection, change.gone)
            settled_ns = change.changed_ns if change.changed_ns < latest_ns else -1
            connection.execute(
                "INSERT OR REPLACE INTO roots VALUES (?, ?, ?)",
                (prefix, storable(str(roots[prefix])), settled_ns),
            )
        if any(change.gone for change in changes.values()):
            _hide_ranks(connection, roots)


def _forget(prefix: str) -> None:
    with transaction(writing=True) as connection:
        rows = connection.execute("SELECT key FROM captures WHERE prefix = ?", (prefix,))
        remove(connection, [row["key"] for row in rows.fetchall()])


@contextmanager
def _alone_for(n_folders: int) -> Iterator[bool]:
    """Of several processes one reads a long list; True: this one, or there is little to read."""
    if n_folders <= _FEW or fcntl is None:
        yield True
        return
    try:
        lock = list_path().with_suffix(".lock").open("wb")
    except OSError:  # a home that cannot be written: each for itself
        yield True
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_alone = False
        else:
            is_alone = True
        yield is_alone
