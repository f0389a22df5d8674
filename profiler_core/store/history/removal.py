"""Taking runs out of the history, with their files; baselines and reviewed runs stay.

The rows go in one transaction; the files are renamed out of sight before it is committed, and
deleted after. What a crash leaves hidden, `reconciliation.py` sweeps away.
"""

import secrets
import shutil
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, delete, select
from sqlalchemy.exc import IntegrityError

from profiler_core import run_directory as names
from profiler_core.errors import BadInput
from profiler_core.model.history import RecordedRun
from profiler_core.store.history import places
from profiler_core.store.history.artifacts import artifacts
from profiler_core.store.history.audit import note
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.moments import person as this_person
from profiler_core.store.history.query import run
from profiler_core.store.history.tables import baselines, review_sides
from profiler_core.store.history.tables import runs as table

DELETED = ".deleted-"


def delete_run(run_id: str, *, person: str | None = None) -> None:
    """Delete a run, its numbers and its files, for good.

    Raises:
        BadInput: there is none, or it is a baseline or part of a review.
    """
    recorded = run(run_id)
    with forgetting([run_id], person=person):
        remove_files(recorded)


@contextmanager
def forgetting(run_ids: Sequence[str], *, person: str | None = None) -> Iterator[None]:
    """Around the deletion of files: the rows go when it went well, and stay when it did not.

    Raises:
        BadInput: one of the runs is a baseline or part of a review; nothing is deleted then.
    """
    actor = this_person() if person is None else person
    try:
        with writing() as connection:
            for run_id in run_ids:
                _refuse_if_needed(connection, run_id)
                deleted = connection.execute(delete(table).where(table.c.run_id == run_id))
                if deleted.rowcount:
                    note(connection, actor, "delete", run_id)
            yield
    except IntegrityError as error:  # somebody named it in this very moment
        raise BadInput(
            "A run of these was just made a baseline, or put into a review.",
            remedy="Reload, and check whether it can still be deleted.",
        ) from error


@contextmanager
def forgetting_places(keys: Sequence[str], *, person: str | None = None) -> Iterator[None]:
    """As `forgetting`, for the runs that the history knows at these keys of the library.

    Their artifacts are deleted too; what is recorded from another place stays.
    """
    with reading() as connection:
        rows = connection.execute(
            select(table.c.run_id, table.c.artifact).where(table.c.key.in_(keys))
        ).all()
    run_ids = [row.run_id for row in rows]
    with forgetting(run_ids, person=person):
        yield
        _delete_artifacts({row.artifact for row in rows if row.artifact is not None}, run_ids)


def remove_files(recorded: RecordedRun) -> None:
    """Delete the run's directory of this machine and its artifact; gone is no error.

    A capture's folder goes with its last run.
    """
    directory = places.directory_of_key(recorded.key)
    if directory is not None:
        remove_directory(directory)
    if recorded.artifact is not None:
        _delete_artifacts({recorded.artifact}, [recorded.run_id])


def remove_directory(directory: Path) -> None:
    """Delete a run directory of ours, and the capture's folder with its last run."""
    if directory.is_symlink():
        directory.unlink()  # a link is not followed: only the entry in our own folder goes
    elif directory.is_dir():
        _delete_out_of_sight(directory)
        capture = directory.parent
        if capture not in places.roots().values() and not list(capture.glob(f"*/{names.RUN_JSON}")):
            _delete_out_of_sight(capture)


def _delete_artifacts(artifact_names: Set[str], run_ids: Sequence[str]) -> None:
    """Delete the artifacts of these runs; one that another run's files lie in stays."""
    artifact_store = artifacts() if artifact_names else None
    if artifact_store is None:
        return
    of_other_runs = select(table.c.artifact).where(
        table.c.artifact.in_(artifact_names),
        table.c.run_id.not_in(run_ids),
        table.c.files_deleted_at.is_(None),
    )
    with reading() as connection:
        shared = frozenset(connection.scalars(of_other_runs))
    for name in sorted(artifact_names - shared):
        artifact_store.delete(name)


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


def _delete_out_of_sight(directory: Path) -> None:
    hidden = directory.parent / f"{DELETED}{directory.name}-{secrets.token_hex(4)}"
    try:
        directory.rename(hidden)
    except OSError as error:
        raise BadInput(
            f"{directory} could not be deleted: {error.strerror}.",
            remedy="Check the permissions of the folder.",
        ) from error
    shutil.rmtree(hidden, ignore_errors=True)
