"""The artifact of a run, from its files to the row that names it: neither is without the other.

Who lets a row name an artifact, and who deletes it, wait for each other.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, func, or_, select, true

from profiler_core.errors import BadInput
from profiler_core.model.run import RunRecord
from profiler_core.store.history.artifacts import artifacts, name_of
from profiler_core.store.history.database import HistoryUnavailable, writing
from profiler_core.store.history.meanwhile import WrittenMeanwhile
from profiler_core.store.history.packing import FileMark, hash_of
from profiler_core.store.history.query import NOT_DELETED
from profiler_core.store.history.tables import deleted_runs
from profiler_core.store.history.tables import runs as table


@contextmanager
def kept_artifact(
    directory: Path, run_record: RunRecord, marks: Sequence[FileMark]
) -> Iterator[str | None]:
    """Keep the files of a run; where it is refused after all, they are deleted again.

    Where the history is away they stay, and what lies there is recorded later.

    Args:
        directory: of the run.
        run_record: what its run.json says.
        marks: of its files.

    Yields:
        The artifact's name; None: no artifacts are kept.
    """
    store = artifacts()
    if store is None:
        yield None
        return
    name = name_of(run_record.capture_id or directory.parent.name, hash_of(marks))
    is_new = not store.has(name)
    if is_new:
        store.put(name, directory, marks)
    try:
        yield name
    except HistoryUnavailable:
        raise
    except (BadInput, WrittenMeanwhile):
        if is_new:
            _forget(name)
        raise


def _forget(name: str) -> None:
    """Delete an artifact, unless a row names it."""
    store = artifacts()
    with writing() as connection:
        wait_for_turn(connection, (name,))
        named = connection.execute(select(table.c.run_id).where(table.c.artifact == name)).first()
        if named is None and store is not None:
            store.delete(name)


def refuse_if_gone(connection: Connection, artifact: str | None) -> None:
    """Before a row names an artifact, which may be another's, too, that has the same files.

    Raises:
        WrittenMeanwhile: it was deleted since it was seen.
    """
    store = None if artifact is None else artifacts()
    if artifact is not None and store is not None:
        wait_for_turn(connection, (artifact,))
        if not store.has(artifact):
            raise WrittenMeanwhile


def wait_for_turn(connection: Connection, names: Iterable[str]) -> None:
    """Be alone with these artifacts until the end of the transaction.

    Rows that name them are asked for only afterwards: meanwhile others may have written one.

    Args:
        connection: of a transaction that writes, which SQLite allows only one of anyway.
        names: of artifacts.
    """
    if connection.dialect.name != "postgresql":
        return
    for name in sorted(names):
        lock = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
        connection.execute(select(func.pg_advisory_xact_lock(lock)))


def artifacts_of_deletion(
    connection: Connection, deletion_id: str, *, for_good: bool
) -> tuple[str, ...]:
    """The artifacts of a deletion's runs; without those that another run's files lie in.

    For good, also without those of another run in the trash.
    """
    ids = select(deleted_runs.c.run_id).where(deleted_runs.c.deletion_id == deletion_id)
    own = select(table.c.artifact).where(table.c.run_id.in_(ids), table.c.artifact.is_not(None))
    wait_for_turn(connection, connection.scalars(own).all())
    if for_good:  # a run that two had deleted at once, and that one of them put back, keeps its own
        is_gone = or_(table.c.deleted_at.is_not(None), table.c.files_deleted_at.is_not(None))
        own = own.where(is_gone)
    artifact_names = set(connection.scalars(own))
    if not artifact_names:
        return ()
    others = select(table.c.artifact).where(
        table.c.artifact.in_(artifact_names),
        table.c.run_id.not_in(ids),
        table.c.files_deleted_at.is_(None),
        true() if for_good else NOT_DELETED,
    )
    return tuple(sorted(artifact_names - set(connection.scalars(others))))
