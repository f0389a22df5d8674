"""Later runs of a run's workload, and what a step gained between two of them."""

import msgspec
from sqlalchemy import case, select

from profiler_core.analysis.difference import difference_of
from profiler_core.model.history import RecordedRun
from profiler_core.model.review import Difference
from profiler_core.model.run import RunRecord
from profiler_core.store.history import places
from profiler_core.store.history.database import reading
from profiler_core.store.history.lines import fill_lines, lines_of
from profiler_core.store.history.query import NOT_DELETED, run
from profiler_core.store.history.rows import run_of
from profiler_core.store.history.tables import runs as table
from profiler_core.store.records import read_record


def later_runs(run_id: str, limit: int = 50) -> tuple[RecordedRun, ...]:
    """Finished runs of the same question that were made later, the newest of its variant first.

    Other variants count, too: what a finding advises may be another mode.

    Raises:
        BadInput: there is no such run.
    """
    fill_lines()
    recorded = run(run_id)
    line = lines_of(recorded)
    query = (
        select(table)
        .where(
            table.c.question == line["question"],
            table.c.question != "",
            table.c.status == "finished",
            table.c.created_at >= recorded.created_at,
            table.c.capture_id != recorded.capture_id,
            NOT_DELETED,
        )
        .order_by(
            case((table.c.line == line["line"], 0), else_=1),
            table.c.created_at.desc(),
            table.c.run_id,
        )
        .limit(limit)
    )
    with reading() as connection:
        return tuple(run_of(row) for row in connection.execute(query))


def difference_between(before_id: str, after_id: str) -> Difference | None:
    """What a step gained from one run to a later one; None where one was not timed.

    Raises:
        BadInput: there is no such run.
    """
    return difference_of(_measured(run(before_id)), _measured(run(after_id)))


def _measured(recorded: RecordedRun) -> RunRecord:
    """With all that was measured, where the files are here; else with its rounds alone."""
    described = recorded.as_record()
    directory = places.directory_of_key(recorded.key)
    if directory is None or not places.has_run(directory):
        return described
    on_disk, problem = read_record(directory, may_be_alive=False)
    if problem is not None or on_disk.run_id not in ("", recorded.run_id):
        return described
    if on_disk.measurement is None or on_disk.measurement.rounds == ():
        return described
    return msgspec.structs.replace(described, measurement=on_disk.measurement)
