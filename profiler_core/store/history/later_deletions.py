"""What lies in the trash by a deletion that the database does not know.

So it is where the database was put back as it stood before that deletion: it says that the runs
are there, and what it says of a deletion is the truth.
"""

from contextlib import suppress

from sqlalchemy import select

from profiler_core.errors import BadInput
from profiler_core.store.history import trash_files
from profiler_core.store.history.artifacts import artifacts
from profiler_core.store.history.database import reading
from profiler_core.store.history.query import NOT_DELETED
from profiler_core.store.history.tables import deletions
from profiler_core.store.history.tables import runs as table


def put_back_later_deletions() -> None:
    """Put back the files of runs that the database has; what is no run of it stays in the trash.

    Raises:
        BadInput: the database cannot be reached.
    """
    here = trash_files.ids_here()
    if not here:
        return
    with reading() as connection:
        known = frozenset(connection.scalars(select(deletions.c.deletion_id)))
    for deletion_id in sorted(here - known):
        _put_back(deletion_id)


def _put_back(deletion_id: str) -> None:
    ids = trash_files.runs_of(deletion_id)
    query = select(table.c.artifact).where(
        table.c.run_id.in_(ids), NOT_DELETED, table.c.files_deleted_at.is_(None)
    )
    with reading() as connection:
        artifact_names = connection.scalars(query).all()
    if not artifact_names or trash_files.occupied(deletion_id) is not None:
        return
    with suppress(BadInput):  # another process does just this
        trash_files.put_back(deletion_id)
    store = artifacts()
    if store is not None:
        for name in filter(None, artifact_names):
            store.show(name)
