"""A run directory into the history: its numbers made once, its files kept, then one row.

The row comes last and in one transaction, so a run is in the history only when it is complete;
whatever a crash leaves behind, `reconciliation.py` finds.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from profiler_core.analysis.run_labels import variant_name
from profiler_core.errors import BadInput, FusionscopeError, NotARun
from profiler_core.ingest.run import open_run
from profiler_core.model.history import METRICS, HeadlineMetrics, RecordedRun
from profiler_core.model.run import RunRecord
from profiler_core.session.run import Run
from profiler_core.store.history import places
from profiler_core.store.history.artifacts import artifacts
from profiler_core.store.history.audit import note
from profiler_core.store.history.claims import (
    may_put_back,
    refuse_another_id,
    refuse_id_of_capture,
    refuse_to_replace,
)
from profiler_core.store.history.copied_in import stored_directory
from profiler_core.store.history.database import HistoryUnavailable, reading, writing
from profiler_core.store.history.files import directory_of
from profiler_core.store.history.integrity import difference, keep_marks, kept_marks
from profiler_core.store.history.lines import lines_of
from profiler_core.store.history.marks import tag
from profiler_core.store.history.meanwhile import (
    FILES,
    WrittenMeanwhile,
    refuse_if_written,
    unless_meanwhile,
)
from profiler_core.store.history.moments import now, utc
from profiler_core.store.history.moments import person as this_person
from profiler_core.store.history.own_artifacts import kept_artifact, refuse_if_gone
from profiler_core.store.history.packing import FileMark, file_marks
from profiler_core.store.history.query import is_deleted, refuse_if_deleted, run_if_recorded
from profiler_core.store.history.query import run as recorded_run
from profiler_core.store.history.regressions import notice_regression
from profiler_core.store.history.rows import kept_rounds, row_of
from profiler_core.store.history.tables import runs as table
from profiler_core.store.history.trash import go_along, restore
from profiler_core.store.history.trash_list import in_trash
from profiler_core.store.history.upsert import insert_or_ignore, insert_or_update
from profiler_core.store.records import LONGEST_ERROR, read_record

METRICS_VERSION = 1  # counted up when a headline number changes its meaning: runs are read anew
_LONGEST_ID = 300
_LONGEST_NAME = 600  # an index of PostgreSQL takes 2 700 bytes, four of them for some characters


def record(
    run_directory: Path,
    *,
    person: str | None = None,
    tags: tuple[str, ...] = (),
    called: str = "",
) -> RecordedRun:
    """Put a finished (or failed, cancelled, lost) run into the history, or find it there.

    Reads the trace and the logs, so it belongs into a process of its own in a server. A directory
    outside of the home is copied into it first. Recording a run again changes none of its
    numbers, unless this version makes better ones.

    Args:
        run_directory: as a capture makes it.
        person: whose it is; by default FUSIONSCOPE_PERSON, else the system's user.
        tags: put on it at once.
        called: what errors call it; by default its directory.

    Raises:
        NotARun: no run.json lies there, or it cannot be understood.
        BadInput: the run is still running, contradicts a run of the same id, or the history
            cannot be written.
    """
    return unless_meanwhile(
        lambda: _record(run_directory, person, tags, called or str(run_directory))
    )


def _record(
    run_directory: Path, person: str | None, tags: tuple[str, ...], called: str
) -> RecordedRun:
    run_record = _ended(run_directory, called)
    marks = file_marks(run_directory)
    own_key = places.key_of(run_directory)
    _put_back_if_deleted(run_id_of(run_record, own_key or ""), marks, own_key, person)
    if own_key is not None:
        refuse_another_id(run_id_of(run_record, own_key), own_key)
    seen = run_if_recorded(run_record.run_id or own_key or "")
    by_id = seen if run_record.run_id else None  # else it is known by its place alone
    same = _same_run(run_directory, run_record, by_id, marks, called, person)
    if same is not None:
        if tags:
            tag(same.run_id, *tags, person=this_person() if person is None else person)
        return recorded_run(same.run_id)
    directory = stored_directory(run_directory, run_record)
    key = places.key_of(directory)
    assert key is not None  # noqa: S101 - stored_directory has just put it below a folder of ours
    if directory != run_directory:
        marks = file_marks(directory, marks)
    try:
        judged, changed = _judged(directory, run_record, seen, key, person, called)
        with kept_artifact(directory, run_record, marks) as artifact:
            run_id = _write(replace(judged, artifact=artifact), changed, seen, tags, marks)
    except BadInput as error:
        if isinstance(error, HistoryUnavailable) or places.has_run(directory):
            raise
        raise BadInput(
            f"{called} was deleted while it was recorded.",
            remedy="Put it back: python -m profiler_core runs trash lists it.",
        ) from error
    go_along(run_id, key)
    return recorded_run(run_id)


def record_artifact(name: str, *, person: str | None = None) -> RecordedRun:
    """Put a run into the history that lies only among the team's artifacts. As `record`."""
    return unless_meanwhile(lambda: _record_artifact(name, person))


def _record_artifact(name: str, person: str | None) -> RecordedRun:
    store = artifacts()
    if store is None:
        raise BadInput("No artifacts are kept.", remedy="Set FUSIONSCOPE_ARTIFACTS_URL.")
    directory = store.fetch(name)
    run_record = _ended(directory, name, is_copy=True)
    marks = file_marks(directory)
    _put_back_if_deleted(run_record.run_id, marks, None, person)
    key = f"run/{name.removesuffix('.zip')}"
    seen = run_if_recorded(run_record.run_id or key)
    by_id = seen if run_record.run_id else None
    same = _same_run(directory, run_record, by_id, marks, name, person)
    if same is not None:
        return same
    judged, changed = _judged(directory, run_record, seen, key, person, name)
    return recorded_run(_write(replace(judged, artifact=name), changed, seen, (), marks))


def _put_back_if_deleted(
    run_id: str, marks: Sequence[FileMark], key: str | None, person: str | None
) -> None:
    """Take a run out of the trash whose very files come again.

    Raises:
        BadInput: it lies there with other files, together with other runs, or somebody else
            deleted it.
    """
    if not run_id.isprintable() or not is_deleted(run_id):
        return
    kept = kept_marks(run_id)
    if kept is None or difference(kept, marks) != (None, None):
        refuse_if_deleted(run_id)
    deletion = in_trash(run_id)
    if deletion.run_ids != (run_id,) or not may_put_back(deletion.person, key, person):
        refuse_if_deleted(run_id)
    restore(deletion.deletion_id, person=person)


def _ended(run_directory: Path, called: str, *, is_copy: bool = False) -> RunRecord:
    key = places.key_of(run_directory)
    may_be_alive = not is_copy and (key is None or places.origin_of(key) == "capture")
    run_record, problem = read_record(run_directory, may_be_alive=may_be_alive)
    if problem is not None or not places.has_run(run_directory):
        raise NotARun(
            f"{called} is no run: {problem or 'it has no run.json'}",
            remedy="Pass a run directory.",
        )
    if run_record.status == "running":
        raise BadInput(f"The run {called} is still running.", remedy="Record it once it has ended.")
    return run_record


def _same_run(
    run_directory: Path,
    run_record: RunRecord,
    recorded: RecordedRun | None,
    marks: Sequence[FileMark],
    called: str,
    person: str | None,
) -> RecordedRun | None:
    """The recorded run of this id if its files are at hand and the same; else None.

    Raises:
        BadInput: the history knows the id with other rounds, with other files, or as somebody
            else's; or a capture of this server has it.
    """
    key = places.key_of(run_directory)
    if recorded is None:
        refuse_id_of_capture(run_record.run_id, key)
        return None
    rounds = run_record.measurement.rounds if run_record.measurement else ()
    is_timed_alike = kept_rounds(recorded.rounds) == kept_rounds(rounds)
    if recorded.status == run_record.status and not is_timed_alike:
        raise _contradiction(called, recorded, "its rounds were others")
    try:
        directory = directory_of(recorded)
    except FusionscopeError:  # deleted, on another machine, or damaged: this brings them back
        directory = None
    kept = kept_marks(recorded.run_id) if recorded.status == run_record.status else None
    is_itself = directory is not None and directory.resolve() == run_directory.resolve()
    if directory is None and recorded.key != key:
        refuse_to_replace(recorded, key, person)
    if kept is None and directory is not None and not is_itself:
        kept = file_marks(directory)
    if kept is not None:
        name, lacking = difference(kept, marks)
        if name is not None:
            raise _contradiction(called, recorded, f"its {name} was another, or not there")
        if lacking is not None and (directory is None or is_itself):
            raise _contradiction(called, recorded, f"it had {lacking}, too")
    return None if directory is None or is_itself else recorded


def _contradiction(called: str, recorded: RecordedRun, difference: str) -> BadInput:
    return BadInput(
        f"{called} contradicts the run “{recorded.run_id[:200]}”, which the history has "
        f"since {recorded.recorded_at[:10]}: {difference}.",
        remedy="Give it a run_id of its own in run.json; or delete the recorded run first, if that "
        "is the wrong one: runs delete RUN_ID.",
    )


def _judged(
    directory: Path,
    run_record: RunRecord,
    seen: RecordedRun | None,
    key: str,
    person: str | None,
    called: str,
) -> tuple[RecordedRun, tuple[str, ...]]:
    """What the row of a run says, but for its artifact, and what of it a row that was `seen` lacks.

    Raises:
        NotARun: it has no id that the history takes.
    """
    run_id = run_id_of(run_record, key)
    # An id that is another place's key would stand for the run that lies there, if it has no id.
    is_taken = run_id != key and places.directory_of_key(run_id) is not None
    if not 0 < len(run_id) <= _LONGEST_ID or not run_id.isprintable() or is_taken:
        raise NotARun(f"{called} has no usable run_id.", remedy="Capture it again.")
    described = msgspec.structs.replace(run_record, run_id=run_id)
    recorded = _described(described, key, now(), person)
    if seen is not None and _is_up_to_date(run_id):
        return recorded, FILES
    measured = replace(recorded, metrics=metrics_of(directory, run_record))
    return measured, (*FILES, *METRICS, "metrics_version")


def _write(
    recorded: RecordedRun,
    changed: tuple[str, ...],
    seen: RecordedRun | None,
    tags: tuple[str, ...],
    marks: Sequence[FileMark],
) -> str:
    """Write the row over the one that was `seen` when the files were judged; returns the run's id.

    Of that one only the columns `changed` change.

    Raises:
        WrittenMeanwhile: it is another row by now; nothing is written.
    """
    run_id = recorded.run_id
    with writing() as connection:
        values = {
            **row_of(recorded), **lines_of(recorded), "metrics_version": METRICS_VERSION,
        }  # fmt: skip
        refuse_if_written(connection, run_id, seen)
        refuse_if_gone(connection, recorded.artifact)
        if seen is not None:
            insert_or_update(connection, table, values, changed)
        elif not insert_or_ignore(connection, table, values):
            raise WrittenMeanwhile
        note(connection, recorded.person, "record", run_id, key=recorded.key)
        notice_regression(connection, recorded)
        if recorded.status == "finished":  # of a lost one the process may yet come back
            keep_marks(connection, run_id, marks)
    if tags:
        tag(run_id, *tags, person=recorded.person)
    return run_id


def run_id_of(run_record: RunRecord, key: str) -> str:
    """By what the history knows a run: its own id, or its place where it has none."""
    return run_record.run_id or key


def metrics_of(directory: Path, record: RunRecord) -> HeadlineMetrics:
    """The headline numbers, as far as the files can be read: a damaged trace costs only its own."""
    return Run(msgspec.structs.replace(open_run(directory), record=record)).headline


def _described(run_record: RunRecord, key: str, moment: str, person: str | None) -> RecordedRun:
    environment = run_record.environment

    def text_of(name: str) -> str:
        value = environment.get(name)
        return value[:_LONGEST_ID] if isinstance(value, str) else ""

    return RecordedRun(
        run_id=run_record.run_id,
        capture_id=run_record.capture_id[:_LONGEST_ID] or key.rpartition("/")[0],
        baseline_run_id=(run_record.baseline_run_id or "")[:_LONGEST_ID] or None,
        role=run_record.role,
        name=run_record.name[:_LONGEST_NAME],
        workload=run_record.workload[:_LONGEST_NAME],
        variant=variant_name(run_record)[:_LONGEST_NAME],
        status=run_record.status,
        error=None if run_record.error is None else run_record.error[:LONGEST_ERROR],
        created_at=utc(run_record.created_at, moment),
        recorded_at=moment,
        origin=places.origin_of(key),
        gpu=text_of("gpu") or text_of("cpu"),
        torch=text_of("torch").split("+")[0],
        git_branch=text_of("git_branch"),
        git_commit=text_of("git_commit"),
        host=text_of("host"),
        person=(places.person_of(key) or this_person()) if person is None else person,
        metrics=HeadlineMetrics(),
        rounds=run_record.measurement.rounds if run_record.measurement else (),
        spec=run_record.spec,
        environment=environment,
        key=key,
        artifact=None,
    )


def _is_up_to_date(run_id: str) -> bool:
    with reading() as connection:
        metrics_version = connection.execute(
            table.select()
            .with_only_columns(table.c.metrics_version)
            .where(table.c.run_id == run_id)
        ).scalar()
    return metrics_version is not None and int(metrics_version) >= METRICS_VERSION
