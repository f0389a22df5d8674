"""What people put on recorded runs: tags, and names of baselines."""

import re
from dataclasses import asdict

from sqlalchemy import Connection, delete, select, union

from profiler_core.errors import BadInput
from profiler_core.model.history import Baseline, RecordedRun
from profiler_core.store.history import places
from profiler_core.store.history.audit import note as audit_note
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.integrity import keep_if_missing, refuse_if_changed
from profiler_core.store.history.moments import now
from profiler_core.store.history.moments import person as this_person
from profiler_core.store.history.query import NOT_DELETED, run
from profiler_core.store.history.rows import stored
from profiler_core.store.history.tables import baselines as baseline_table
from profiler_core.store.history.tables import review_sides
from profiler_core.store.history.tables import runs as run_table
from profiler_core.store.history.tables import tags as tag_table
from profiler_core.store.history.upsert import insert_or_ignore, insert_or_update

_NAME = re.compile(r"[\w][\w.\-+/@ ]{0,99}")


def tag(run_id: str, *names: str, person: str | None = None) -> None:
    """Put tags on a run; those that it has already stay as they are.

    Raises:
        BadInput: there is no such run, or a tag is no word.
    """
    actor = this_person() if person is None else person
    for name in names:
        _check(name, "tag")
    with writing() as connection:
        _must_exist(connection, run_id)
        for name in names:
            values = {"run_id": run_id, "tag": name, "set_at": now(), "person": stored(actor)}
            insert_or_ignore(connection, tag_table, values)
        audit_note(connection, actor, "tag", run_id, tags=names)


def untag(run_id: str, *names: str, person: str | None = None) -> None:
    """Take tags off a run; those that it does not have are no error."""
    actor = this_person() if person is None else person
    with writing() as connection:
        connection.execute(
            delete(tag_table).where(tag_table.c.run_id == run_id, tag_table.c.tag.in_(names))
        )
        audit_note(connection, actor, "untag", run_id, tags=names)


def set_baseline(name: str, run_id: str, *, person: str | None = None, note: str = "") -> Baseline:
    """Keep a run as the baseline of this name; a former one of the name is replaced.

    Raises:
        BadInput: there is no such run, it did not finish, its files are not those that were
            recorded, or the name is no word.
    """
    _check(name, "baseline")
    local = places.directory_of_key(run(run_id).key)
    if local is not None and places.has_run(local) and not keep_if_missing(run_id, local):
        refuse_if_changed(run_id, local)
    actor = this_person() if person is None else person
    new_baseline = Baseline(name, run_id, now(), stored(actor), stored(note))
    with writing() as connection:
        status = _must_exist(connection, run_id)
        if status != "finished":
            raise BadInput(
                f"The run {run_id} is {status}, so it cannot be a baseline.",
                remedy="Choose a run that finished.",
            )
        former = connection.execute(
            select(baseline_table.c.run_id).where(baseline_table.c.name == name)
        ).scalar()
        insert_or_update(
            connection, baseline_table, asdict(new_baseline), ("run_id", "set_at", "person", "note")
        )
        audit_note(connection, actor, "baseline", name, run_id=run_id, former=former)
    return new_baseline


def remove_baseline(name: str, *, person: str | None = None) -> None:
    """Forget the name; the run stays.

    Raises:
        BadInput: there is no baseline of this name.
    """
    actor = this_person() if person is None else person
    with writing() as connection:
        deleted = connection.execute(delete(baseline_table).where(baseline_table.c.name == name))
        if not deleted.rowcount:
            raise _no_baseline(name)
        audit_note(connection, actor, "remove baseline", name)


def baselines() -> tuple[Baseline, ...]:
    """All of them, by name."""
    with reading() as connection:
        rows = connection.execute(select(baseline_table).order_by(baseline_table.c.name))
        return tuple(Baseline(r.name, r.run_id, r.set_at, r.person, r.note) for r in rows)


def baseline(name: str) -> RecordedRun:
    """The run kept under this name.

    Raises:
        BadInput: there is no baseline of this name.
    """
    with reading() as connection:
        run_id = connection.execute(
            select(baseline_table.c.run_id).where(baseline_table.c.name == name)
        ).scalar()
    if run_id is None:
        raise _no_baseline(name)
    return run(run_id)


def marked_captures(connection: Connection) -> frozenset[str]:
    """Captures with a tagged run, a baseline or a run that is part of a review."""
    marked = union(
        select(tag_table.c.run_id), select(baseline_table.c.run_id), select(review_sides.c.run_id)
    ).subquery()
    captures = select(run_table.c.capture_id).join(marked, run_table.c.run_id == marked.c.run_id)
    return frozenset(connection.scalars(captures))


def _must_exist(connection: Connection, run_id: str) -> str:
    recorded = select(run_table.c.status).where(run_table.c.run_id == run_id, NOT_DELETED)
    # Locked, so that nobody deletes it meanwhile.
    status = connection.execute(recorded.with_for_update(read=True)).scalar()
    if status is None:
        raise BadInput(
            f"The history has no run “{run_id[:200]}”.",
            remedy="List them: python -m profiler_core runs list.",
        )
    return str(status)


def _no_baseline(name: str) -> BadInput:
    return BadInput(
        f"There is no baseline “{name[:100]}” in the history.",
        remedy="Keep one: python -m profiler_core runs baseline NAME RUN.",
    )


def _check(name: str, kind: str) -> None:
    if not _NAME.fullmatch(name) or name != name.strip():
        raise BadInput(
            f"{name[:100]!r} cannot be the name of a {kind}.",
            remedy="Use letters, digits and . - + / @, at most a hundred of them.",
        )
