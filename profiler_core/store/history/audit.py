"""Who did what to the history: written in the same transaction as the deed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select

from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.moments import now
from profiler_core.store.history.people import names_of, persons_called
from profiler_core.store.history.rows import stored
from profiler_core.store.history.tables import audit

_LONGEST_TEXT, _MOST_VALUES = 500, 50  # of what somebody sends: no entry is ever deleted

_via: ContextVar[str] = ContextVar("via", default="")


@contextmanager
def acting_via(name: str) -> Iterator[None]:
    """All deeds of the block are noted as done by this means, an API token say.

    They are still the person's. Threads that the block waits for take it over.
    """
    before = _via.set(name)
    try:
        yield
    finally:
        _via.reset(before)


def means() -> str:
    """By what means deeds are done now; empty: by the person alone."""
    return _via.get()


def with_means(detail: Mapping[str, Any]) -> dict[str, Any]:
    """The detail of a deed, of a bounded size, and by what means it is done (`acting_via`)."""
    kept: dict[str, Any] = bounded(detail)
    return {**kept, "via": means()} if means() else kept


def bounded(value: Any) -> Any:
    """The same with the beginning of long texts, and the first of many values."""
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]}…"
    if isinstance(value, Mapping):
        few = islice(value.items(), _MOST_VALUES)
        return {bounded(str(key)): bounded(item) for key, item in few}
    if isinstance(value, list | tuple):
        return [bounded(item) for item in value[:_MOST_VALUES]]
    return value


@dataclass(frozen=True)
class AuditEntry:
    """One deed."""

    at: str
    person: str
    action: str
    subject: str
    detail: Mapping[str, Any]
    name: str  # what is shown for the person

    @property
    def detail_text(self) -> str:
        """The detail in a few words."""
        filled = {name: value for name, value in self.detail.items() if value not in (None, "", [])}
        return ", ".join(
            f"{name}: {' '.join(map(str, value)) if isinstance(value, list) else value}"
            for name, value in filled.items()
        )


def note(connection: Connection, person: str, action: str, subject: str, /, **detail: Any) -> int:
    """Add an entry to the transaction; its number grows with each entry."""
    inserted = connection.execute(
        insert(audit).values(
            at=now(),
            person=stored(person),
            action=action,
            subject=stored(bounded(subject)),
            detail=stored(with_means(detail)),
        )
    )
    key = inserted.inserted_primary_key
    assert key is not None  # noqa: S101 - a single row was inserted
    return int(key[0])


def note_alone(person: str, action: str, subject: str, /, **detail: Any) -> None:
    """Add an entry about a deed that changed nothing in the database itself.

    Raises:
        HistoryUnavailable: it could not be written.
    """
    with writing() as connection:
        note(connection, person, action, subject, **detail)


def entries(
    limit: int = 200,
    *,
    subject: str | None = None,
    person: str | None = None,
    action: str | None = None,
    offset: int = 0,
) -> tuple[AuditEntry, ...]:
    """The newest first; each word given narrows them down.

    Args:
        limit: how many at most.
        offset: so many of the newest are left out.
        subject: what it was done to.
        person: an account, or the address or name by which a person is shown.
        action: what was done.
    """
    query = _narrowed(select(audit), subject, person, action)
    query = query.order_by(audit.c.entry_id.desc()).limit(limit).offset(offset)
    with reading() as connection:
        rows = connection.execute(query).all()
    names = names_of(row.person for row in rows)
    return tuple(
        AuditEntry(row.at, row.person, row.action, row.subject, row.detail, names[row.person])
        for row in rows
    )


def n_entries(*, person: str | None = None, action: str | None = None) -> int:
    """How many there are; each word given narrows them down, as for `entries`."""
    query = _narrowed(select(func.count()).select_from(audit), None, person, action)
    with reading() as connection:
        return int(connection.execute(query).scalar_one())


def _narrowed(
    query: Select[Any], subject: str | None, person: str | None, action: str | None
) -> Select[Any]:
    if subject is not None:
        query = query.where(audit.c.subject == subject)
    if action is not None:
        query = query.where(audit.c.action == action)
    if person is not None:
        query = query.where(audit.c.person.in_(persons_called(person)))
    return query


def days_of_audit(connection: Connection, since: int = 0) -> list[tuple[int, str]]:
    """(number of its first entry, date) of each day, in the order in which the days appeared.

    Args:
        connection: of a transaction.
        since: the number from which entries are looked at.
    """
    first, day = func.min(audit.c.entry_id), func.substr(audit.c.at, 1, 10).label("day")
    query = select(first, day).where(audit.c.entry_id >= since).group_by("day").order_by(first)
    return [(int(number), str(text)) for number, text in connection.execute(query)]


def words_of() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(people, actions) that occur, for the lists of a page."""
    with reading() as connection:
        people = connection.scalars(select(audit.c.person).distinct().order_by(audit.c.person))
        names = tuple(name for name in people if name)
        actions = connection.scalars(select(audit.c.action).distinct().order_by(audit.c.action))
        return names, tuple(actions)
