"""Asking the history: one run, those that a filter lets through, and what one can filter by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from shlex import quote
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select

from profiler_core.errors import BadInput
from profiler_core.model.history import ListedRun, RecordedRun
from profiler_core.store.history.database import reading, where
from profiler_core.store.history.lines import ON_A_LINE
from profiler_core.store.history.rows import LISTED, listed_run_of, run_of
from profiler_core.store.history.tables import audit
from profiler_core.store.history.tables import runs as table
from profiler_core.store.history.tables import tags as tag_table

NOT_DELETED = table.c.deleted_at.is_(None)
_MOST = 10_000
_DEEDS = ("record", "delete", "restore", "retention", "tag", "untag")  # that change runs
_MOST_NAMES = 500  # PostgreSQL and SQLite limit how many values a question may hold

# What the page and the command line filter by -> the column.
_COLUMNS = {
    "workload": table.c.workload,
    "variant": table.c.variant,
    "gpu": table.c.gpu,
    "torch": table.c.torch,
    "branch": table.c.git_branch,
    "person": table.c.person,
}


@dataclass(frozen=True)
class RunFilter:
    """Which runs; an empty tuple lets everything through, several values are alternatives."""

    workload: tuple[str, ...] = ()
    variant: tuple[str, ...] = ()
    gpu: tuple[str, ...] = ()
    torch: tuple[str, ...] = ()
    branch: tuple[str, ...] = ()
    person: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    commit: str = ""  # the beginning of a commit's id
    capture_id: str = ""
    since: str = ""  # ISO 8601; runs made then or later


FILTERS = tuple(f.name for f in fields(RunFilter) if f.type == tuple[str, ...])


def runs(run_filter: RunFilter | None = None, *, limit: int = _MOST) -> tuple[RecordedRun, ...]:
    """The newest first, at most `limit`."""
    query = filtered(select(table).where(NOT_DELETED), run_filter or RunFilter())
    with reading() as connection:
        return _with_tags(
            connection, query.order_by(table.c.created_at.desc(), table.c.run_id).limit(limit)
        )


def listed_runs(
    run_filter: RunFilter | None = None, *, limit: int = _MOST
) -> tuple[ListedRun, ...]:
    """As `runs`, without rounds, spec and environment, which are most of what a run has."""
    n_rounds = func.json_array_length(table.c.rounds).label("n_rounds")
    columns = select(*(table.c[name] for name in LISTED), n_rounds).where(NOT_DELETED)
    query = filtered(columns, run_filter or RunFilter())
    with reading() as connection:
        rows = connection.execute(
            query.order_by(table.c.created_at.desc(), table.c.run_id).limit(limit)
        ).all()
        tags = _tags(connection, [row.run_id for row in rows])
    return tuple(listed_run_of(row, tags.get(row.run_id, ())) for row in rows)


def runs_of(run_ids: Sequence[str]) -> tuple[RecordedRun, ...]:
    """The runs of these ids that the history has, in any order."""
    recorded: list[RecordedRun] = []
    for start in range(0, len(run_ids), _MOST_NAMES):
        batch = run_ids[start : start + _MOST_NAMES]
        with reading() as connection:
            recorded += _with_tags(
                connection, select(table).where(table.c.run_id.in_(batch), NOT_DELETED)
            )
    return tuple(recorded)


def run(run_id: str) -> RecordedRun:
    """One run.

    Raises:
        BadInput: the history has none of this id.
    """
    recorded = run_if_recorded(run_id)
    if recorded is None:
        refuse_if_deleted(run_id)
        raise BadInput(
            f"The history has no run “{run_id[:200]}”.",
            remedy="List them: python -m profiler_core runs list.",
        )
    return recorded


def run_if_recorded(run_id: str) -> RecordedRun | None:
    """One run; None: the history has none of this id."""
    if not run_id.isprintable():
        return None  # none is recorded, and PostgreSQL takes no NUL in a question
    with reading() as connection:
        recorded = _with_tags(
            connection, select(table).where(table.c.run_id == run_id, NOT_DELETED)
        )
    return recorded[0] if recorded else None


def is_deleted(run_id: str) -> bool:
    """Does the run lie in the trash?"""
    return _deleted_at(run_id) is not None


def _deleted_at(run_id: str) -> str | None:
    if not run_id.isprintable():
        return None
    query = select(table.c.deleted_at).where(table.c.run_id == run_id)
    with reading() as connection:
        return connection.execute(query).scalar()


def refuse_if_deleted(run_id: str) -> None:
    """Say so where the run lies in the trash.

    Raises:
        BadInput: it does.
    """
    deleted_at = _deleted_at(run_id)
    if deleted_at is not None:
        raise BadInput(
            f"The run “{run_id[:200]}” was deleted on {deleted_at[:10]}, and lies in the trash.",
            remedy=f"Put it back: python -m profiler_core runs restore {quote(run_id[:200])}.",
        )


def known_runs(run_ids: Sequence[str] | None = None) -> Mapping[str, int]:
    """run_id -> version of its headline numbers: of these runs, without a choice of every run."""
    query = select(table.c.run_id, table.c.metrics_version).where(NOT_DELETED)
    if run_ids is None:
        with reading() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}
    versions: dict[str, int] = {}
    askable = [run_id for run_id in run_ids if run_id.isprintable()]  # others are never recorded
    for start in range(0, len(askable), _MOST_NAMES):
        batch = askable[start : start + _MOST_NAMES]
        with reading() as connection:
            rows = connection.execute(query.where(table.c.run_id.in_(batch)))
            versions |= {row[0]: row[1] for row in rows}
    return versions


def recorded_keys(among: Sequence[str] | None = None) -> frozenset[str]:
    """The keys of the runs that are recorded by now, those of deleted ones too.

    Args:
        among: these keys, some hundreds at most; None: every key.
    """
    query = select(table.c.key)
    with reading() as connection:
        return frozenset(
            connection.scalars(query if among is None else query.where(table.c.key.in_(among)))
        )


def run_ids_at(key: str) -> frozenset[str]:
    """The ids of the runs whose files the history has there: one, unless by an old fault."""
    query = select(table.c.run_id).where(
        table.c.key == key, NOT_DELETED, table.c.files_deleted_at.is_(None)
    )
    with reading() as connection:
        return frozenset(connection.scalars(query))


def recorded_places() -> Mapping[str, tuple[str, bool]]:
    """run_id -> its key, and whether the files that the history has there were not deleted."""
    query = select(table.c.run_id, table.c.key, table.c.files_deleted_at).where(NOT_DELETED)
    with reading() as connection:
        return {row.run_id: (row.key, row.files_deleted_at is None) for row in
                connection.execute(query)}  # fmt: skip


def known_artifacts() -> frozenset[str]:
    """Names of all artifacts that the history knows, those of deleted runs too."""
    query = select(table.c.artifact).where(table.c.artifact.is_not(None))
    with reading() as connection:
        return frozenset(str(name) for name in connection.scalars(query))


def choices() -> dict[str, tuple[str, ...]]:
    """Filter -> the values that occur, for the lists of a page; "" is left out."""
    with reading() as connection:
        values = {
            name: _distinct(connection, select(column).where(NOT_DELETED).distinct())
            for name, column in _COLUMNS.items()
        }
        tagged = select(tag_table.c.tag).join(table).where(NOT_DELETED)
        values["tag"] = _distinct(connection, tagged.distinct())
    return values


def version() -> tuple[object, ...]:
    """Differs when a question about runs may be answered otherwise; not by looks.

    Read from an index, so that what was asked before need not be asked again.
    """
    latest = select(func.max(audit.c.entry_id)).where(audit.c.action.in_(_DEEDS))
    # After a restored backup the same number comes again, with another deed.
    deed = select(audit.c.entry_id, audit.c.at, audit.c.person, audit.c.subject)
    with reading() as connection:
        row = connection.execute(deed.where(audit.c.entry_id == latest.scalar_subquery())).first()
    return (where(), *(row or ()))


def n_runs() -> int:
    """How many runs the history has."""
    with reading() as connection:
        return int(connection.execute(select(func.count()).where(NOT_DELETED)).scalar_one())


def n_lines_of_several() -> int:
    """On how many lines of the trends a finished run has another one before it."""
    several = (
        select(table.c.line)
        .where(NOT_DELETED, table.c.status == "finished", ON_A_LINE)
        .group_by(table.c.question, table.c.line)
        .having(func.count() > 1)
    )
    with reading() as connection:
        return int(
            connection.execute(select(func.count()).select_from(several.subquery())).scalar_one()
        )


def _distinct(connection: Connection, query: Select[Any]) -> tuple[str, ...]:
    return tuple(sorted(value for value in connection.scalars(query) if value))


def filtered(query: Select[Any], run_filter: RunFilter) -> Select[Any]:
    """A question about runs, about these alone."""
    conditions: list[ColumnElement[bool]] = []
    for name, column in _COLUMNS.items():
        values: Sequence[str] = getattr(run_filter, name)
        if values:
            conditions.append(column.in_(values))
    if run_filter.tag:
        tagged = select(tag_table.c.run_id).where(tag_table.c.tag.in_(run_filter.tag))
        conditions.append(table.c.run_id.in_(tagged))
    if run_filter.commit:
        conditions.append(table.c.git_commit.startswith(run_filter.commit, autoescape=True))
    if run_filter.capture_id:
        conditions.append(table.c.capture_id == run_filter.capture_id)
    if run_filter.since:
        conditions.append(table.c.created_at >= run_filter.since)
    return query.where(*conditions)


def _with_tags(connection: Connection, query: Select[Any]) -> tuple[RecordedRun, ...]:
    rows = connection.execute(query).all()
    tags = _tags(connection, [row.run_id for row in rows])
    return tuple(run_of(row, tags.get(row.run_id, ())) for row in rows)


def _tags(connection: Connection, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """run_id -> its tags in the order of the alphabet, of those that have any."""
    tags: dict[str, list[str]] = {}
    for start in range(0, len(run_ids), _MOST_NAMES):
        batch = run_ids[start : start + _MOST_NAMES]
        question = select(tag_table.c.run_id, tag_table.c.tag).where(tag_table.c.run_id.in_(batch))
        for run_id, tag in connection.execute(question):
            tags.setdefault(run_id, []).append(tag)
    return {run_id: tuple(sorted(names)) for run_id, names in tags.items()}
