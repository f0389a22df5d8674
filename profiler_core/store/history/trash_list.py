"""What lies in the trash: each deletion with its runs, its size and the days that are left."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, Row, Select, or_, select

from profiler_core.errors import BadInput
from profiler_core.settings import settings
from profiler_core.store.history.audit import days_of_audit
from profiler_core.store.history.clock import elapsed
from profiler_core.store.history.database import reading
from profiler_core.store.history.moments import now
from profiler_core.store.history.tables import deleted_runs, deletions

RUNS, FILES = "runs", "files"  # what a deletion took: the runs, or their files alone
# What was decided -> what it is once the files of the machine that decided have followed.
DELETING, RESTORING, EMPTYING = "deleting", "restoring", "emptying"
DONE = {DELETING: "deleted", RESTORING: "restored", EMPTYING: "emptied"}
LYING = deletions.c.state.in_((DELETING, DONE[DELETING]))


@dataclass(frozen=True)
class Deletion:
    """What was deleted at once, and can be put back. n_bytes: of the files."""

    deletion_id: str
    kind: str  # RUNS, or FILES: their numbers stayed
    title: str
    reason: str  # the rule of retention; empty where a person did it
    run_ids: tuple[str, ...]  # empty where nothing of it was recorded
    n_bytes: int
    deleted_at: str  # ISO 8601, UTC
    person: str
    days_left: float  # until it goes for good, when the history is brought up to date


def trash_contents() -> tuple[Deletion, ...]:
    """What can be put back, the newest first."""
    with reading() as connection:
        return deletions_of(connection, select(deletions).where(LYING))


def in_trash(word: str) -> Deletion:
    """The deletion of this id, or the latest of the run of this id.

    Raises:
        BadInput: no such thing lies in the trash.
    """
    with_run = select(deleted_runs.c.deletion_id).where(deleted_runs.c.run_id == word)
    named = or_(deletions.c.deletion_id == word, deletions.c.deletion_id.in_(with_run))
    query = select(deletions).where(LYING, named)
    with reading() as connection:
        matching = deletions_of(connection, query)
    if not matching:
        raise BadInput(
            f"“{word[:200]}” does not lie in the trash.",
            remedy="List what does: python -m profiler_core runs trash.",
        )
    return matching[0]


def deletions_of(
    connection: Connection, query: Select[tuple[object, ...]], *, at: str | None = None
) -> tuple[Deletion, ...]:
    """What a question about deletions finds, the newest first.

    Args:
        connection: reads.
        query: for whole rows.
        at: the moment from which the days left are counted, ISO 8601; None: now.
    """
    rows = connection.execute(query.order_by(deletions.c.audit_entry.desc())).all()
    if not rows:
        return ()
    oldest = min(row.audit_entry for row in rows)
    days = days_of_audit(connection, oldest)
    run_ids: dict[str, list[str]] = defaultdict(list)
    these = query.with_only_columns(deletions.c.deletion_id)
    links = select(deleted_runs).where(deleted_runs.c.deletion_id.in_(these))
    for deletion_id, run_id in connection.execute(links.order_by(deleted_runs.c.run_id)):
        run_ids[deletion_id].append(run_id)
    moment = at or now()
    keep = timedelta(days=settings().keep_trash_days)

    def deletion_of(row: Row[tuple[object, ...]]) -> Deletion:
        later = [text for entry, text in days if entry > row.audit_entry]
        age = elapsed([row.deleted_at, *later, moment])
        return Deletion(
            deletion_id=row.deletion_id,
            kind=row.kind,
            title=row.title,
            reason=row.reason,
            run_ids=tuple(run_ids[row.deletion_id]),
            n_bytes=row.n_bytes,
            deleted_at=row.deleted_at,
            person=row.person,
            days_left=(keep - age) / timedelta(days=1),
        )

    return tuple(map(deletion_of, rows))
