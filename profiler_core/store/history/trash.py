"""Deleting, putting back and emptying: what is deleted can be put back for `keep_trash_days`.

Each deed is written into the database first, with its entry in the audit, in one transaction;
then the files and artifacts follow (`_follow`), and where a process dies in between, `settle`
makes them follow later. Baselines and reviewed runs are never deleted:
where a run becomes one in between, the whole deletion is called off.
"""

import secrets
from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, or_, select, update

from profiler_core.errors import BadInput
from profiler_core.model.history import RecordedRun
from profiler_core.store.history import places, trash_files
from profiler_core.store.history.artifacts import artifacts
from profiler_core.store.history.audit import note
from profiler_core.store.history.claims import is_another_run
from profiler_core.store.history.database import HistoryUnavailable, reading, writing
from profiler_core.store.history.marks import marked_captures
from profiler_core.store.history.moments import now
from profiler_core.store.history.moments import person as this_person
from profiler_core.store.history.needed import RunNeeded, refuse_if_needed
from profiler_core.store.history.own_artifacts import artifacts_of_deletion
from profiler_core.store.history.query import NOT_DELETED, run
from profiler_core.store.history.rows import stored
from profiler_core.store.history.tables import deleted_runs, deletions
from profiler_core.store.history.tables import runs as table
from profiler_core.store.history.trash_list import (
    DELETING,
    DONE,
    EMPTYING,
    FILES,
    LYING,
    RESTORING,
    RUNS,
    Deletion,
    deletions_of,
    in_trash,
)

# Deletions that the files have not followed yet.
_MOVING = select(deletions.c["keys"]).where(deletions.c.state == DELETING)


class _MarkedError(BadInput):
    """A run of the capture is one that retention leaves alone."""


class _GoneError(BadInput):
    """Somebody else deletes it, or has."""


class _ElsewhereError(BadInput):
    """Somebody else put it back, or deleted it for good."""


def delete_run(run_id: str, *, person: str | None = None) -> str:
    """Delete a run with its numbers and files; returns the deletion's id.

    Raises:
        BadInput: there is none, or it is a baseline or part of a review.
    """
    recorded = run(run_id)
    return _delete(RUNS, [recorded.key], [run_id], title=run_id, person=person)


def delete_at(
    keys: Sequence[str], folder: str, title: str, *, person: str | None = None, reason: str = ""
) -> str:
    """Delete a folder of the library with the runs that the history knows in it.

    Args:
        keys: of its runs.
        folder: its own key.
        title: what it is called.
        person: who does it; by default the user of the system.
        reason: the rule of retention that does it; empty: a person.

    Raises:
        BadInput: one of the runs is a baseline or part of a review, somebody else just deletes
            it, or the disk refuses; nothing is deleted then.
    """
    with reading() as connection:
        run_ids = _lying_at(connection, table.c.key.in_(keys))
    return _delete(RUNS, [folder], run_ids, title=title, reason=reason, person=person)


def delete_files_of(
    members: Sequence[RecordedRun], reason: str, *, person: str | None = None
) -> bool:
    """Delete the files of a capture's runs by a rule; their numbers stay.

    Returns:
        False: a run of the capture is tagged, a baseline, reviewed or deleted by now, and nothing
        is deleted.
    """
    keys, run_ids = [member.key for member in members], [member.run_id for member in members]
    title = members[0].workload or members[0].capture_id
    try:
        _delete(FILES, keys, run_ids, title=title, reason=reason, person=person)
    except (_MarkedError, _GoneError):
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
    _decide(deletion, RESTORING, "restore", person)
    _follow(deletion.deletion_id)
    return deletion


def empty(word: str, *, person: str | None = None) -> Deletion:
    """Delete for good what lies in the trash; `word` as for `restore`.

    Raises:
        BadInput: it is not there any more.
    """
    return _empty(in_trash(word), person)


def _empty(deletion: Deletion, person: str | None) -> Deletion:
    _decide(deletion, EMPTYING, "delete for good", person)
    _follow(deletion.deletion_id)
    return deletion


def empty_old(*, at: str | None = None) -> tuple[Deletion, ...]:
    """Delete for good what has been in the trash for `keep_trash_days`, by whichever clock."""
    with reading() as connection:
        query = select(deletions).where(LYING)
        old = [d for d in deletions_of(connection, query, at=at) if d.days_left <= 0]
    emptied = []
    for deletion in old:
        with suppress(_ElsewhereError):  # another server was faster
            emptied.append(_empty(deletion, None))
    return tuple(emptied)


def settle() -> tuple[tuple[str, str], ...]:
    """Let this machine's files and the artifacts follow what the database says.

    Returns:
        Each deletion that they could not follow, by its title, and why; the next time tries again.

    Raises:
        HistoryUnavailable: the database cannot be reached.
    """
    here = trash_files.ids_here()
    with reading() as connection:
        states = {row.deletion_id: row for row in connection.execute(select(deletions))}
    unfinished = {name for name, row in states.items() if row.state in DONE}
    # Decided on another machine, or copied back by hand.
    lying = {name for name, row in states.items() if row.state == DONE[DELETING]}
    returned = {name for name in lying if trash_files.is_any_at(states[name].keys)}
    problems = []
    for deletion_id in sorted((unfinished | returned | (here - lying)) & states.keys()):
        try:
            _follow_or_call_off(deletion_id)
        except HistoryUnavailable:
            raise
        except BadInput as error:  # one folder keeps no other out
            problems.append((states[deletion_id].title, error.problem))
    return tuple(problems)


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
        "deletion_id": deletion_id, "kind": kind, "state": DELETING, "title": title,
        "reason": reason, "keys": list(keys), "n_bytes": trash_files.size_at(keys),
        "deleted_at": moment, "person": actor,
    })  # fmt: skip
    with writing() as connection:
        # In this order, as `_follow` locks them: what is just being moved is waited for.
        connection.execute(_MOVING.with_for_update()).all()
        # Locked, so that none of them is made a baseline, or deleted by another, meanwhile.
        still = NOT_DELETED if kind == RUNS else table.c.files_deleted_at.is_(None)
        ids = select(table.c.run_id).where(table.c.run_id.in_(run_ids), still).with_for_update()
        recorded_ids = list(connection.scalars(ids))
        is_there = recorded_ids or (not run_ids and trash_files.is_any_at(keys))
        if not is_there or _are_just_deleted(connection, keys):
            raise _GoneError(f"“{title}” is deleted already.", remedy="Reload the page.")
        if kind == FILES and marked_captures(connection) & _captures(connection, recorded_ids):
            raise _MarkedError("It is marked.", remedy="Take the mark off first.")
        refuse_if_needed(connection, recorded_ids)
        action = "delete" if kind == RUNS and not reason else "retention"
        detail = {"deletion": deletion_id, "title": title, "reason": reason}
        entries = [
            note(connection, actor, action, subject, **detail) for subject in recorded_ids or keys
        ]
        connection.execute(insert(deletions).values(**values, audit_entry=max(entries)))
        for run_id in recorded_ids:
            connection.execute(insert(deleted_runs).values(deletion_id=deletion_id, run_id=run_id))
        _set(connection, deletion_id, kind, moment)
    try:
        _follow(deletion_id)
    except BadInput:  # what cannot be moved, or is needed by now, is not deleted
        _call_off(deletion_id, actor)
        raise
    return deletion_id


def _follow_or_call_off(deletion_id: str) -> None:
    try:
        _follow(deletion_id)
    except RunNeeded:
        _call_off(deletion_id, None)
        raise


def _call_off(deletion_id: str, person: str | None) -> None:
    _decide(in_trash(deletion_id), RESTORING, "restore", person)
    _follow(deletion_id)


def _are_just_deleted(connection: Connection, keys: Sequence[str]) -> bool:
    """Is a deletion decided, of them or of what they lie in or hold, that no file followed yet?

    The files would go with one of both, and the runs with the other.
    """
    return any(
        f"{key}/".startswith(f"{other}/") or f"{other}/".startswith(f"{key}/")
        for others in connection.scalars(_MOVING)
        for other in others
        for key in keys
    )


def _decide(deletion: Deletion, state: str, action: str, person: str | None) -> None:
    """Write into the database what becomes of a deletion, and who wants it."""
    actor = this_person() if person is None else person
    ids = deletion.deletion_id
    with writing() as connection:
        changed = connection.execute(
            update(deletions).where(deletions.c.deletion_id == ids, LYING).values(state=state)
        )
        if not changed.rowcount:
            raise _ElsewhereError(
                f"“{deletion.title}” does not lie in the trash any more.", remedy="Reload the page."
            )
        for subject in deletion.run_ids or (deletion.title,):
            note(connection, actor, action, subject, deletion=ids, title=deletion.title)
        if state == RESTORING:
            _set(connection, ids, deletion.kind, None)


def _captures(connection: Connection, run_ids: Sequence[str]) -> frozenset[str]:
    query = select(table.c.capture_id).where(table.c.run_id.in_(run_ids))
    return frozenset(connection.scalars(query))


def _set(connection: Connection, deletion_id: str, kind: str, moment: str | None) -> None:
    column = table.c.deleted_at if kind == RUNS else table.c.files_deleted_at
    ids = select(deleted_runs.c.run_id).where(deleted_runs.c.deletion_id == deletion_id)
    connection.execute(update(table).where(table.c.run_id.in_(ids)).values({column: moment}))


def go_along(run_id: str, key: str) -> None:
    """Let a run that was just recorded follow its files, where somebody deleted them meanwhile.

    Where it is needed by now, its files come back.

    Args:
        run_id: of the run.
        key: of the library, where its files lay when its recording began.
    """
    deletion_id = ""
    try:
        with writing() as connection:
            # What is being moved is waited for; until then the files seem to stay.
            connection.execute(_MOVING.with_for_update()).all()
            if places.has_run(places.directory_of_key(key)):
                return
            lying = select(deletions).where(LYING, deletions.c.kind == RUNS)
            for row in connection.execute(lying.order_by(deletions.c.audit_entry.desc())):
                if any(key == deleted or key.startswith(f"{deleted}/") for deleted in row.keys):
                    deletion_id = row.deletion_id
                    _take_along(connection, row, table.c.run_id == run_id)
                    return
    except RunNeeded:
        with suppress(BadInput):  # somebody else put them back, or `settle` does
            _call_off(deletion_id, None)


def _take_along(
    connection: Connection, deletion: Row[tuple[object, ...]], which: ColumnElement[bool]
) -> None:
    """Add runs to a deletion that were recorded after it was decided.

    Raises:
        RunNeeded: one of them is a baseline or reviewed by now.
    """
    run_ids = _lying_at(connection, which)
    refuse_if_needed(connection, run_ids)
    for run_id in run_ids:
        detail = {"deletion": deletion.deletion_id, "title": deletion.title}
        note(connection, deletion.person, "delete", run_id, **detail)
        values = {"deletion_id": deletion.deletion_id, "run_id": run_id}
        connection.execute(insert(deleted_runs).values(**values))
    _set(connection, deletion.deletion_id, RUNS, deletion.deleted_at)


def _lying_at(connection: Connection, which: ColumnElement[bool]) -> list[str]:
    """Of these runs those at whose place no other run lies here."""
    query = select(table.c.run_id, table.c.person, table.c.key).where(which, NOT_DELETED)
    rows = connection.execute(query).all()
    return [r.run_id for r in rows if not is_another_run(r.run_id, r.person, r.key)]


def _below(keys: Sequence[str]) -> ColumnElement[bool]:
    """The runs whose files lie at these keys of the library."""
    return or_(
        table.c.key.in_(keys),
        *(table.c.key.startswith(f"{key}/", autoescape=True) for key in keys),
    )


def _follow(deletion_id: str) -> None:
    """Bring files and artifacts to where the database says they are; again changes nothing.

    Raises:
        RunNeeded: a run that would go along is needed by now; nothing has moved then.
        BadInput: the disk refuses.
    """
    this = deletions.c.deletion_id == deletion_id
    with writing() as connection:
        row = connection.execute(select(deletions).where(this).with_for_update()).first()
        if row is None:  # of another history: nobody here deleted it
            return
        state = DONE.get(row.state, row.state)
        if row.state == DELETING and row.kind == RUNS:
            _take_along(connection, row, _below(row.keys))
        names = artifacts_of_deletion(connection, deletion_id, for_good=state == DONE[EMPTYING])
        store = artifacts() if names else None
        if state == DONE[DELETING]:
            ids = select(deleted_runs.c.run_id).where(deleted_runs.c.deletion_id == deletion_id)
            trash_files.set_aside(
                deletion_id,
                row.keys,
                connection.scalars(ids).all(),
                is_decided=row.state == DELETING,
                counts_for_owner=not row.reason,
            )
            mark = store.hide if store is not None else None
        elif state == DONE[RESTORING]:
            trash_files.put_back(deletion_id)
            mark = store.show if store is not None else None
        else:
            mark = store.delete if store is not None else None
        if mark is not None and row.state in DONE:
            for name in names:
                mark(name)
        if state != DONE[EMPTYING]:
            connection.execute(update(deletions).where(this).values(state=state))
            return
    # That it goes is decided for ever, so nobody needs to wait while gigabytes do.
    trash_files.destroy(deletion_id)
    with writing() as connection:
        if row.kind == RUNS:
            ids = select(deleted_runs.c.run_id).where(deleted_runs.c.deletion_id == deletion_id)
            of_it = delete(table).where(table.c.run_id.in_(ids), table.c.deleted_at.is_not(None))
            connection.execute(of_it)
        connection.execute(update(deletions).where(this).values(state=state))
