"""What the kept list answers: pages of comparisons, and lines of menus, filtered in SQL."""
# ruff: noqa: S608 - the questions are put together of the constants here; values are parameters

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from profiler_core.analysis.step_time import step_time_ns
from profiler_core.store import library, sweeps
from profiler_core.store.catalogue.file import transaction
from profiler_core.store.catalogue.keeping import refresh
from profiler_core.store.catalogue.rows import LineOfRun, group_of
from profiler_core.store.library import Comparable, Origin
from profiler_core.store.sweeps import SweepGroup
from profiler_core.typed import ready

_WHOLE = "SELECT c.*, payload FROM captures AS c JOIN payloads USING (key) "
_LINE = "SELECT key, origin, created_at, title, lines, n_readable FROM captures "
_EVERYTHING = 1_000_000


@dataclass(frozen=True)
class Wanted:
    """Which comparisons; without words all of these origins."""

    origins: tuple[Origin, ...] = ("capture", "upload", "sample")
    words: str = ""  # each of them in its names, its variants, its GPU, torch or branch
    phrase: str = ""  # as it is written


@dataclass(frozen=True)
class Page:
    """Some of the comparisons, the newest first."""

    groups: tuple[Comparable, ...]
    n_all: int


@dataclass(frozen=True)
class Line:
    """A comparison in a menu."""

    key: str
    origin: Origin
    title: str
    created_at: str
    runs: tuple[LineOfRun, ...]  # baseline first
    n_readable: int

    @property
    def keys(self) -> tuple[str, ...]:
        """Of its runs, the baseline's first."""
        return tuple(run.key for run in self.runs)


def groups(wanted: Wanted, *, offset: int = 0, limit: int = 25) -> Page:
    """One page; own ones newest first, then the samples."""
    refresh()
    condition, values = _condition(wanted)
    with transaction() as connection:
        n_all = connection.execute(f"SELECT count(*) FROM captures AS c {condition}", values)
        rows = connection.execute(page_query(wanted), (*values, limit, offset)).fetchall()
        return Page(_groups(rows), n_all.fetchone()[0])


def n_groups(wanted: Wanted) -> int:
    """How many there are."""
    refresh()
    condition, values = _condition(wanted)
    with transaction() as connection:
        question = f"SELECT count(*) FROM captures AS c {condition}"
        return int(connection.execute(question, values).fetchone()[0])


def page_query(wanted: Wanted) -> str:
    """The question behind a page, with the values of its filter, a limit and an offset."""
    condition, _ = _condition(wanted)
    # Of one origin the index has the order; of several the own ones come first.
    own = "" if len(wanted.origins) == 1 else "is_own DESC, "
    return f"{_WHOLE}{condition} ORDER BY {own}created_at DESC, key LIMIT ? OFFSET ?"


def group(key: str) -> Comparable | None:
    """The comparison of this key, or that holds the run of this key; None: there is none."""
    refresh()
    with transaction() as connection:
        rows = connection.execute(_WHOLE + "WHERE c.key IN (?, ?)", _keys_around(key)).fetchall()
    return next(iter(_groups(rows)), None)


def newest(limit: int) -> tuple[Line, ...]:
    """The newest own ones, then every sample."""
    refresh()
    order = "ORDER BY created_at DESC, key LIMIT ?"
    with transaction() as connection:
        own = connection.execute(
            f"{_LINE}WHERE is_listed = 1 AND is_own = 1 {order}", (limit,)
        ).fetchall()
        samples = connection.execute(
            f"{_LINE}WHERE is_listed = 1 AND is_own = 0 {order}", (_EVERYTHING,)
        ).fetchall()
    return tuple(map(_line, [*own, *samples]))


def line_of(keys: Sequence[str]) -> Line | None:
    """The comparison that holds all of these runs; None: none does."""
    if not keys:
        return None
    refresh()
    with transaction() as connection:
        rows = connection.execute(
            f"{_LINE}WHERE is_listed AND key IN (?, ?)", _keys_around(keys[0])
        ).fetchall()
    return next((line for line in map(_line, rows) if set(keys) <= set(line.keys)), None)


def first() -> tuple[str, ...]:
    """The runs to show where nothing was chosen; empty: there is nothing.

    The newest own comparison that can be shown, else the most telling sample, else anything.
    """
    refresh()
    order = "ORDER BY created_at DESC, key"
    with transaction() as connection:
        shown = connection.execute(
            f"{_LINE}WHERE is_listed = 1 AND is_own = 1 AND n_readable > 1 {order} LIMIT 1"
        ).fetchone()
        if shown is not None:
            return _line(shown).keys
        samples = connection.execute(
            f"{_WHOLE}WHERE is_listed = 1 AND is_own = 0 AND n_readable > 1 {order}"
        ).fetchall()
        anything = connection.execute(
            f"{_LINE}WHERE is_listed ORDER BY is_own DESC, created_at DESC, key LIMIT 1"
        ).fetchone()
    best = max(_groups(samples), key=_best_ratio, default=None)
    if best is not None:
        return tuple(entry.key for entry in best.entries)
    return () if anything is None else _line(anything).keys


def jobs(limit: int) -> tuple[Comparable, ...]:
    """Comparisons with runs of several ranks: own ones newest first, then samples."""
    refresh()
    with transaction() as connection:
        rows = connection.execute(
            f"{_WHOLE}WHERE is_listed = 1 AND is_job = 1 "
            "ORDER BY is_own DESC, created_at DESC, key LIMIT ?",
            (limit,),
        ).fetchall()
    return _groups(rows)


def sweep_groups(limit: int, *, key: str | None = None) -> tuple[SweepGroup, ...]:
    """The newest sweeps by their newest point, and that of this key whatever its age."""
    refresh()
    with transaction() as connection:
        sweep_rows = connection.execute(
            "SELECT sweep FROM captures WHERE is_listed = 1 AND sweep IS NOT NULL GROUP BY sweep "
            "ORDER BY max(created_at) DESC, sweep LIMIT ?",
            (limit,),
        ).fetchall()
        names = list(dict.fromkeys([*(row[0] for row in sweep_rows), *([key] if key else [])]))
        marks = ", ".join("?" * len(names))
        rows = connection.execute(
            f"{_WHOLE}WHERE is_listed = 1 AND sweep IN ({marks})", names
        ).fetchall()
    return sweeps.sweeps(_groups(rows))


def n_sweeps() -> int:
    """How many sweeps there are."""
    with transaction() as connection:
        question = "SELECT count(DISTINCT sweep) FROM captures WHERE is_listed AND sweep NOT NULL"
        return int(connection.execute(question).fetchone()[0])


def _condition(wanted: Wanted) -> tuple[str, list[str]]:
    marks = ", ".join("?" * len(wanted.origins))
    words = [*wanted.words.lower().split(), *([wanted.phrase.lower()] if wanted.phrase else [])]
    words = [word.encode("utf-8", "replace").decode() for word in words]  # half a character
    likes = "".join(r" AND words LIKE ? ESCAPE '\'" for _ in words)
    condition = f"WHERE c.is_listed = 1 AND c.origin IN ({marks}){likes}"
    return condition, [*wanted.origins, *(f"%{_escaped(word)}%" for word in words)]


def _escaped(word: str) -> str:
    for special in ("\\", "%", "_"):
        word = word.replace(special, f"\\{special}")
    return word


def _keys_around(key: str) -> tuple[str, str]:
    """Of a run its comparison's key: its first two parts, or itself where it stands alone."""
    return key, "/".join(key.split("/")[:2])


def _groups(rows: Sequence[sqlite3.Row]) -> tuple[Comparable, ...]:
    roots: dict[str, Path] = library.roots()
    return tuple(group_of(row, roots) for row in rows)


def _line(row: Any) -> Line:
    return Line(
        row["key"],
        row["origin"],
        row["title"],
        row["created_at"],
        msgspec.json.decode(row["lines"], type=ready(tuple[LineOfRun, ...])),
        row["n_readable"],
    )


def _best_ratio(group: Comparable) -> float:
    """Baseline's step time over that of the fastest candidate; 0.0 where that is not known."""
    baseline, *candidates = (step_time_ns(entry.run.measurement) for entry in group.entries)
    times = [time for time in candidates if time]
    return baseline / min(times) if baseline and times else 0.0
