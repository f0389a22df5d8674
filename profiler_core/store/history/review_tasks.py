"""Findings that somebody looks after: assign them, close them with a difference, list them.

A task names the version that it was changed on, as a review's verdict does: of two people who
assign one finding at once, the second is told.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import date

import msgspec
from sqlalchemy import Connection, func, select

from profiler_core.errors import BadInput
from profiler_core.model.review import STATES, Difference, FindingState, FindingTask
from profiler_core.store.history.audit import note as audit_note
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.moments import now
from profiler_core.store.history.reviews import ReviewChanged, no_review, signature
from profiler_core.store.history.rows import stored
from profiler_core.store.history.tables import review_findings, review_tasks, reviews
from profiler_core.store.history.upsert import insert_or_update
from profiler_core.typed import ready

UNFINISHED: tuple[FindingState, ...] = ("open", "doing")
LONGEST_OWNER = 200


@dataclass(frozen=True)
class AssignedFinding:
    """A finding of any review, with whoever looks after it."""

    review_id: str
    review: str  # its title
    position: int
    key: str
    title: str
    stake: str
    unit: str
    owner: str
    state: FindingState
    due: str | None
    difference: Difference | None


def assign_finding(
    review_id: str,
    finding: tuple[int, str],
    version: int,
    *,
    owner: str,
    state: FindingState,
    due: str | None,
    person: str,
) -> None:
    """Say who looks after a finding, how far it is, and until when.

    Args:
        review_id: which review.
        finding: position of its candidate, and its key.
        version: of the task that the change was made on; 0: there was none.
        owner: a name or an account; empty: nobody.
        state: a finding that is opened again loses the difference it was closed with.
        due: "2026-12-01"; None: whenever.
        person: who does it.

    Raises:
        ReviewChanged: somebody was faster; nothing is changed then.
        BadInput: there is no such finding, or a word is none.
    """
    values = {"owner": _owner(owner), "state": _state(state), "due": _day(due)}
    with writing() as connection:
        kept = _change(connection, review_id, finding, version, person, values)
        if state in UNFINISHED and kept is not None:
            _keep_difference(connection, review_id, finding, None)
        audit_note(connection, signature(person), "assign", review_id, finding=finding[1], **values)


def close_with(
    connection: Connection,
    review_id: str,
    finding: tuple[int, str],
    version: int,
    difference: Difference,
    *,
    person: str,
) -> None:
    """Close a finding as done; `remeasured.close_finding` says which differences there are.

    Args:
        connection: of the transaction in which the run was seen to be one of them.
        review_id: which review.
        finding: position of its candidate, and its key.
        version: as for `assign_finding`.
        difference: of the run that the finding is about and the later one.
        person: who does it.

    Raises:
        ReviewChanged: somebody was faster; nothing is changed then.
        BadInput: there is no such finding.
    """
    _change(connection, review_id, finding, version, person, {"state": "done"})
    _keep_difference(connection, review_id, finding, difference)
    audit_note(
        connection, signature(person), "close finding", review_id, finding=finding[1],
        before=difference.before_run_id, after=difference.after_run_id,
        before_ns=difference.before_ns, after_ns=difference.after_ns,
    )  # fmt: skip


def assigned_findings(
    states: Collection[FindingState] = UNFINISHED, *, owner: str = "", limit: int = 1000
) -> tuple[AssignedFinding, ...]:
    """Findings of all reviews in these states: what is due first, then of the newest review.

    Args:
        states: a finding that nobody took up is open.
        owner: only this one's; empty: everybody's.
        limit: how many at most.
    """
    state = func.coalesce(review_tasks.c.state, "open").label("state")
    mine = func.coalesce(review_tasks.c.owner, "").label("owner")
    joined = review_findings.join(
        reviews, reviews.c.review_id == review_findings.c.review_id
    ).outerjoin(
        review_tasks,
        (review_tasks.c.review_id == review_findings.c.review_id)
        & (review_tasks.c.position == review_findings.c.position)
        & (review_tasks.c.key == review_findings.c.key),
    )
    of_finding = review_findings.c
    query = (
        select(
            of_finding.review_id, reviews.c.title.label("review"), of_finding.position,
            of_finding.key, of_finding.title, of_finding.stake, of_finding.unit, mine, state,
            review_tasks.c.due, review_tasks.c.difference,
        )
        .select_from(joined)
        .where(state.in_(states))
        .order_by(
            review_tasks.c.due.is_(None), review_tasks.c.due, reviews.c.created_at.desc(),
            of_finding.review_id, of_finding.position, of_finding.place,
        )
        .limit(limit)
    )  # fmt: skip
    if owner:
        query = query.where(mine == owner)
    with reading() as connection:
        rows = connection.execute(query).all()
    return tuple(
        AssignedFinding(**{**row._mapping, "difference": difference_in(row.difference)})
        for row in rows
    )


def tasks_of(connection: Connection, review_id: str) -> tuple[FindingTask, ...]:
    """The tasks of one review."""
    rows = connection.execute(
        select(review_tasks)
        .where(review_tasks.c.review_id == review_id)
        .order_by(review_tasks.c.position, review_tasks.c.key)
    )
    return tuple(
        FindingTask(
            row.position, row.key, row.owner, row.state, row.due, row.changed_at, row.changed_by,
            row.version, difference_in(row.difference),
        )
        for row in rows
    )  # fmt: skip


def difference_in(column: object) -> Difference | None:
    """The record of a column; None where it holds none that this version understands."""
    try:
        return msgspec.convert(column, ready(Difference | None))
    except msgspec.ValidationError:
        return None


def _change(
    connection: Connection,
    review_id: str,
    finding: tuple[int, str],
    version: int,
    person: str,
    values: dict[str, str | None],
) -> FindingTask | None:
    """Write a task; returns what it was before.

    Raises:
        ReviewChanged: it is not of this version any more.
        BadInput: there is no such finding.
    """
    position, key = finding
    # Locked, so that of two who change it at once the second sees what the first wrote.
    about = select(review_findings.c.key).where(
        review_findings.c.review_id == review_id,
        review_findings.c.position == position,
        review_findings.c.key == key,
    )
    if connection.execute(about.with_for_update()).first() is None:
        raise no_review(f"{review_id}, {key}")
    before = next(
        (t for t in tasks_of(connection, review_id) if (t.position, t.key) == finding), None
    )
    if version != (before.version if before else 0):
        changed_by = before.changed_by if before else "Somebody"
        raise ReviewChanged(
            f"{changed_by} changed this finding meanwhile; yours is not saved.",
            remedy="Look at what stands there now, and save again what you want to keep.",
        )
    whole = {
        "owner": before.owner if before else "",
        "due": before.due if before else None,
        **values,
        "review_id": review_id,
        "position": position,
        "key": key,
        "changed_at": now(),
        "changed_by": signature(person),
        "version": version + 1,
    }
    changed = ("owner", "state", "due", "changed_at", "changed_by", "version")
    insert_or_update(connection, review_tasks, whole, changed)
    return before


def _keep_difference(
    connection: Connection, review_id: str, finding: tuple[int, str], difference: Difference | None
) -> None:
    connection.execute(
        review_tasks.update()
        .where(
            review_tasks.c.review_id == review_id,
            review_tasks.c.position == finding[0],
            review_tasks.c.key == finding[1],
        )
        .values(difference=None if difference is None else stored(asdict(difference)))
    )


def _owner(text: str) -> str:
    return " ".join(str(stored(text)).split())[:LONGEST_OWNER]


def _state(word: str) -> FindingState:
    if word not in STATES:
        raise BadInput(
            f"“{word[:60]}” is no state of a finding.", remedy=f"Use {', '.join(STATES)}."
        )
    return word


def _day(text: str | None) -> str | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise BadInput(f"“{text[:60]}” is no date.", remedy="Write it as 2026-12-01.") from error
