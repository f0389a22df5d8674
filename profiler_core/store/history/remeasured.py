"""Later runs of a run's workload, what a step gained, and the finding that this closes."""

from dataclasses import replace

import msgspec
from sqlalchemy import ColumnElement, Select, case, select

from profiler_core.analysis.difference import difference_of
from profiler_core.errors import BadInput
from profiler_core.model.history import RecordedRun
from profiler_core.model.review import Difference, ReviewFinding
from profiler_core.model.run import RunRecord
from profiler_core.store.history import places
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.lines import fill_lines, lines_of
from profiler_core.store.history.query import NOT_DELETED, run
from profiler_core.store.history.review_query import review
from profiler_core.store.history.review_tasks import close_with
from profiler_core.store.history.reviews import no_review
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
        .where(*_is_later(recorded))
        .order_by(
            case((table.c.line == line["line"], 0), else_=1),
            table.c.created_at.desc(),
            table.c.run_id,
        )
        .limit(limit)
    )
    with reading() as connection:
        return tuple(run_of(row) for row in connection.execute(query))


def _is_later(recorded: RecordedRun) -> tuple[ColumnElement[bool], ...]:
    """Finished runs of the same question as this one, of later captures."""
    return (
        table.c.question == lines_of(recorded)["question"],
        table.c.question != "",
        table.c.status == "finished",
        table.c.created_at >= recorded.created_at,
        table.c.capture_id != recorded.capture_id,
        NOT_DELETED,
    )


def close_finding(
    review_id: str, finding: tuple[int, str], version: int, after_id: str, *, person: str
) -> None:
    """Close a finding as done, with what a later run of its workload measured.

    Args:
        review_id: which review.
        finding: position of its candidate, and its key.
        version: of the task that the change was made on; 0: there was none.
        after_id: of the later run.
        person: who does it.

    Raises:
        ReviewChanged: somebody was faster; nothing is changed then.
        BadInput: there is no such finding, the run is none of its later ones, or was not timed.
    """
    reviewed = review(review_id)
    about = next((each for each in reviewed.findings if each.reference == finding), None)
    if about is None:
        raise no_review(f"{review_id}, {finding[1]}")
    before_id = reviewed.sides[about.position].run_id
    fill_lines()
    offered = None if before_id is None else _offered(before_id, after_id)
    with reading() as connection:
        is_offered = offered is not None and connection.execute(offered).first() is not None
    if before_id is None or offered is None or not is_offered:
        raise _not_offered(after_id)
    difference = difference_for(about, before_id, after_id)
    if difference is None:
        raise BadInput("One of the two runs was not timed.", remedy="Choose another run.")
    with writing() as connection:
        # Reading the runs takes a while, and somebody may have deleted it; who deletes waits.
        if connection.execute(offered.with_for_update(read=True)).first() is None:
            raise _not_offered(after_id)
        close_with(connection, review_id, finding, version, difference, person=person)


def _offered(before_id: str, after_id: str) -> Select[tuple[str]] | None:
    """Asks for this run among the later ones; None: it is no name of one."""
    if not after_id.isprintable():
        return None
    return select(table.c.run_id).where(*_is_later(run(before_id)), table.c.run_id == after_id)


def _not_offered(after_id: str) -> BadInput:
    return BadInput(
        f"“{after_id[:200]}” is no later run of this finding's workload.",
        remedy="Choose one from the list: same shapes, batch and device.",
    )


def difference_for(finding: ReviewFinding, before_id: str, after_id: str) -> Difference | None:
    """What a step gained, and what the finding had predicted; None where one was not timed.

    Raises:
        BadInput: there is no such run.
    """
    difference = difference_between(before_id, after_id)
    if difference is None:
        return None
    return replace(difference, predicted_ns=finding.at_stake_ns, is_bound=bool(finding.is_bound))


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
