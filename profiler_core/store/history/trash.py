"""Deleting, putting back and emptying: what is deleted can be put back for `keep_trash_days`.

Each deed is written into the database first, with its entry in the audit, in one transaction;
then the files and artifacts follow (`_follow`), and where a process dies in between, `settle`
makes them follow later. Baselines and reviewed runs are never deleted.
"""

import secrets
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, Row, Select, delete, insert, or_, select, true, update

from profiler_core.errors import BadInput
from profiler_core.model.history import RecordedRun
from profiler_core.settings import settings
from profiler_core.store.history import trash_files
from profiler_core.store.history.artifacts import artifacts
from profiler_core.store.history.audit import days_of_audit, note
from profiler_core.store.history.clock import elapsed
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.marks import marked_captures
from profiler_core.store.history.moments import now
from profiler_core.store.history.moments import person as this_person
from profiler_core.store.history.query import run
from profiler_core.store.history.rows import stored
from profiler_core.store.history.tables import (
    baselines,
    deleted_runs,
    deletions,
    review_sides,
)
from profiler_core.store.history.tables import runs as table

RUNS, FILES = "runs", "files"  # what a deletion took: the runs, or their files alone
# What was decided -> what it is once the files of the machine that decided have followed.
_DELETING, _RESTORING, _EMPTYING = "deleting", "restoring", "emptying"
_DONE = {_DELETING: "deleted", _RESTORING: "restored", _EMPTYING: "emptied"}
_LYING = deletions.c.state.in_((_DELETING, _DONE[_DELETING]))


class _MarkedError(BadInput):
    """A run of the capture is one that retention leaves alone."""


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


def delete_run(run_id: str, *, person: str | None = None) -> str:
    """Delete a run with its numbers and files; returns the deletion's id.

    Raises:
        BadInput: there is none, or it is a baseline or part of a review.
    """
    recorded = run(run_id)
    return _delete(RUNS, [recorded.key], [run_id], title=run_id, person=person)


def delete_at(keys: Sequence[str], folder: str, title: str, *, person: str | None = None) -> str:
    """Delete a folder of the library with the runs that the history knows in it.

    Args:
        keys: of its runs.
        folder: its own key.
        title: what it is called.
        person: who does it; by default the user of the system.

    Raises:
        BadInput: one of the runs is a baseline or part of a review, or the disk refuses; nothing
            is deleted then.
    """
    query = select(table.c.run_id).where(table.c.key.in_(keys), table.c.deleted_at.is_(None))
    with reading() as connection:
        run_ids = list(connection.scalars(query))
    return _delete(RUNS, [folder], run_ids, title=title, person=person)


def delete_files_of(
    members: Sequence[RecordedRun], reason: str, *, person: str | None = None
) -> bool:
    """Delete the files of a capture's runs by a rule; their numbers stay.

    Returns:
        False: a run of the capture is tagged, a baseline or reviewed by now, and nothing is
        deleted.
    """
    keys, run_ids = [member.key for member in members], [member.run_id for member in members]
    title = members[0].workload or members[0].capture_id
    try:
        _delete(FILES, keys, run_ids, title=title, reason=reason, person=person)
    except _MarkedError:
        return False
    return True


def restore(word: str, *, person: str | None = None) -> Deletion:
    """Put back what was deleted at once.

    Args:
        word: the deletion's id, or that of a run in it.
        person: who does it; by default the user of the system.

    Raises:
        BadInput: it is not in the trash any more, another run lies at its place, or the disk
            refuses.
    """
    deletion = in_trash(word)
    taken = trash_files.occupied(deletion.deletion_id)
    if taken is not None:
        raise BadInput(
            f"“{deletion.title}” cannot be put back: {taken} lies there again.",
            remedy="Delete or rename that one first.",
        )
    _decide(deletion, _RESTORING, "restore", person)
    _follow(deletion.deletion_id)
    return deletion


def empty(word: str, *, person: str | None = None) -> Deletion:
    """Delete for good what lies in the trash; `word` as for `restore`.

    Raises:
        BadInput: it is not there any more.
    """
    deletion = in_trash(word)
    _decide(deletion, _EMPTYING, "delete for good", person)
    _follow(deletion.deletion_id)
    return deletion


def trash_contents() -> tuple[Deletion, ...]:
    """What can be put back, the newest first."""
    with reading() as connection:
        return _deletions(connection, select(deletions).where(_LYING))


def in_trash(word: str) -> Deletion:
    """The deletion of this id, or the latest of the run of this id.

    Raises:
        BadInput: no such thing lies in the trash.
    """
    with_run = select(deleted_runs.c.deletion_id).where(deleted_runs.c.run_id == word)
    named = or_(deletions.c.deletion_id == word, deletions.c.deletion_id.in_(with_run))
    query = select(deletions).where(_LYING, named)
    with reading() as connection:
        matching = _deletions(connection, query)
    if not matching:
        raise BadInput(
            f"“{word[:200]}” does not lie in the trash.",
            remedy="List what does: python -m profiler_core runs trash.",
        )
    return matching[0]


def empty_old(*, at: str | None = None) -> tuple[Deletion, ...]:
    """Delete for good what has been in the trash for `keep_trash_days`, by whichever clock."""
    with reading() as connection:
        query = select(deletions).where(_LYING)
        old = [d for d in _deletions(connection, query, at=at) if d.days_left <= 0]
    return tuple(empty(deletion.deletion_id) for deletion in old)


def settle() -> None:
    """Let this machine's files and the artifacts follow what the database says.

    Raises:
        BadInput: the database cannot be reached.
    """
    here = trash_files.ids_here()
    with reading() as connection:
        states = {row.deletion_id: row for row in connection.execute(select(deletions))}
    unfinished = {name for name, row in states.items() if row.state in _DONE}
    # Decided on another machine, or copied back by hand.
    lying = {name for name, row in states.items() if row.state == _DONE[_DELETING]}
    returned = {name for name in lying if trash_files.is_any_at(states[name].keys)}
    for deletion_id in sorted(unfinished | returned | (here - lying)):
        _follow(deletion_id)


def _delete(
    kind: str,
    keys: Sequence[str],
    run_ids: Sequence[str],
    *,
    title: str,
    reason: str = "",
    person: str | None,
) -> str:
    actor = this_person() if person is None else person
    moment = now()
    deletion_id = f"{moment[:19].replace(':', '').replace('-', '')}-{secrets.token_hex(4)}"
    values = stored({
        "deletion_id": deletion_id, "kind": kind, "state": _DELETING, "title": title,
        "reason": reason, "keys": list(keys), "n_bytes": trash_files.size_at(keys),
        "deleted_at": moment, "person": actor,
    })  # fmt: skip
    with writing() as connection:
        # Locked, so that none of them is made a baseline meanwhile.
        ids = select(table.c.run_id).where(table.c.run_id.in_(run_ids)).with_for_update()
        recorded_ids = list(connection.scalars(ids))
        if kind == FILES and marked_captures(connection) & _captures(connection, recorded_ids):
            raise _MarkedError("It is marked.", remedy="Take the mark off first.")
        for run_id in recorded_ids:
            _refuse_if_needed(connection, run_id)
        action = "delete" if kind == RUNS else "retention"
        detail = {"deletion": deletion_id, "title": title, "reason": reason}
        entries = [
            note(connection, actor, action, subject, **detail) for subject in recorded_ids or keys
        ]
        connection.execute(insert(deletions).values(**values, audit_entry=max(entries)))
        for run_id in recorded_ids:
            connection.execute(insert(deleted_runs).values(deletion_id=deletion_id, run_id=run_id))
        column = table.c.deleted_at if kind == RUNS else table.c.files_deleted_at
        _set(connection, deletion_id, column.name, moment)
    try:
        _follow(deletion_id)
    except BadInput:  # what cannot be moved is not deleted
        _decide(in_trash(deletion_id), _RESTORING, "restore", actor)
        _follow(deletion_id)
        raise
    return deletion_id


def _decide(deletion: Deletion, state: str, action: str, person: str | None) -> None:
    """Write into the database what becomes of a deletion, and who wants it."""
    actor = this_person() if person is None else person
    ids = deletion.deletion_id
    with writing() as connection:
        changed = connection.execute(
            update(deletions).where(deletions.c.deletion_id == ids, _LYING).values(state=state)
        )
        if not changed.rowcount:
            raise BadInput(
                f"“{deletion.title}” does not lie in the trash any more.", remedy="Reload the page."
            )
        for subject in deletion.run_ids or (deletion.title,):
            note(connection, actor, action, subject, deletion=ids, title=deletion.title)
        if state == _RESTORING:
            column = table.c.deleted_at if deletion.kind == RUNS else table.c.files_deleted_at
            _set(connection, ids, column.name, None)


def _captures(connection: Connection, run_ids: Sequence[str]) -> frozenset[str]:
    query = select(table.c.capture_id).where(table.c.run_id.in_(run_ids))
    return frozenset(connection.scalars(query))


def _set(connection: Connection, deletion_id: str, column: str, value: str | None) -> None:
    ids = select(deleted_runs.c.run_id).where(deleted_runs.c.deletion_id == deletion_id)
    connection.execute(update(table).where(table.c.run_id.in_(ids)).values({column: value}))


def _follow(deletion_id: str) -> None:
    """Bring files and artifacts to where the database says they are; again changes nothing."""
    this = deletions.c.deletion_id == deletion_id
    with writing() as connection:
        row = connection.execute(select(deletions).where(this).with_for_update()).first()
        if row is None:  # of another history: nobody here deleted it
            return
        state = _DONE.get(row.state, row.state)
        names = _own_artifacts(connection, deletion_id, for_good=state == _DONE[_EMPTYING])
        store = artifacts() if names else None
        if state == _DONE[_DELETING]:
            trash_files.set_aside(deletion_id, row.keys, counts_for_owner=not row.reason)
            mark = store.hide if store is not None else None
        elif state == _DONE[_RESTORING]:
            trash_files.put_back(deletion_id)
            mark = store.show if store is not None else None
        else:
            mark = None
        if mark is not None and row.state in _DONE:
            for name in names:
                mark(name)
        if state != _DONE[_EMPTYING]:
            connection.execute(update(deletions).where(this).values(state=state))
            return
    # That it goes is decided for ever, so nobody needs to wait while gigabytes do.
    if store is not None:
        for name in names:
            store.delete(name)
    trash_files.destroy(deletion_id)
    with writing() as connection:
        if row.kind == RUNS:
            ids = select(deleted_runs.c.run_id).where(deleted_runs.c.deletion_id == deletion_id)
            of_it = delete(table).where(table.c.run_id.in_(ids), table.c.deleted_at.is_not(None))
            connection.execute(of_it)
        connection.execute(update(deletions).where(this).values(state=state))


def _own_artifacts(connection: Connection, deletion_id: str, *, for_good: bool) -> tuple[str, ...]:
    """The artifacts of a deletion's runs; without those that another run's files lie in.

    For good, also without those of another run in the trash.
    """
    ids = select(deleted_runs.c.run_id).where(deleted_runs.c.deletion_id == deletion_id)
    own = select(table.c.artifact).where(table.c.run_id.in_(ids), table.c.artifact.is_not(None))
    artifact_names = set(connection.scalars(own))
    if not artifact_names:
        return ()
    others = select(table.c.artifact).where(
        table.c.artifact.in_(artifact_names),
        table.c.run_id.not_in(ids),
        table.c.files_deleted_at.is_(None),
        true() if for_good else table.c.deleted_at.is_(None),
    )
    return tuple(sorted(artifact_names - set(connection.scalars(others))))


def _refuse_if_needed(connection: Connection, run_id: str) -> None:
    name = connection.execute(select(baselines.c.name).where(baselines.c.run_id == run_id)).scalar()
    if name is not None:
        raise BadInput(
            f"The run {run_id} is the baseline “{name}”.",
            remedy="Give that name to another run first, or remove the baseline.",
        )
    review = connection.execute(
        select(review_sides.c.review_id).where(review_sides.c.run_id == run_id)
    ).scalar()
    if review is not None:
        raise BadInput(
            f"The run {run_id} is part of the review {review}.", remedy="Delete the review first."
        )


def _deletions(
    connection: Connection, query: Select[tuple[object, ...]], *, at: str | None = None
) -> tuple[Deletion, ...]:
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
