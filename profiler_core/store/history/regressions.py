"""Runs that became slower: kept when a run is recorded, told once by each channel.

A run is held against the run before it on its line of the trends (one workload, shapes, batch,
kind of GPU and variant). Only the newest run of a line is: old runs that are imported later are no
news, but the newest run is held against one that comes to lie directly before it.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import Connection, or_, select, update

from profiler_core.analysis.difference import difference_of, is_regression
from profiler_core.model.history import RecordedRun
from profiler_core.model.review import Difference
from profiler_core.store.history.audit import note as audit_note
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.lines import lines_of
from profiler_core.store.history.moments import now, utc
from profiler_core.store.history.query import NOT_DELETED, runs_of
from profiler_core.store.history.review_tasks import difference_in
from profiler_core.store.history.rows import run_of, stored
from profiler_core.store.history.tables import audit, notices, regressions
from profiler_core.store.history.tables import runs as table
from profiler_core.store.history.upsert import insert_or_ignore

Channel = Literal["webhook", "mail"]

MOST_AN_HOUR = 10  # of one person's runs, by one channel; the others are told together
MOST_TRIES = 8  # over a day and a half
NEWS_DAYS = 7  # a run that was made earlier is shown, and nobody is told
_MOST_AT_ONCE = 200  # that are looked at
_FIRST_PAUSE_S = 600  # doubled with each try; meanwhile the message counts as being sent


@dataclass(frozen=True)
class Regression:
    """A run that takes longer than the run before it."""

    run: RecordedRun
    difference: Difference
    noticed_at: str
    before: RecordedRun | None  # None: it was deleted since


def notice_regression(connection: Connection, recorded: RecordedRun) -> None:
    """Keep that the newest run of this run's line is one; part of what records this run.

    It is this run, or the one that was the newest and has this one directly before it now.
    """
    line = lines_of(recorded)
    if recorded.status != "finished" or not (line["question"] and line["line"]):
        return
    on_line = select(table).where(
        table.c.question == line["question"],
        table.c.line == line["line"],
        table.c.status == "finished",
        table.c.run_id != recorded.run_id,
        NOT_DELETED,
    )
    others = connection.execute(
        on_line.order_by(table.c.created_at.desc(), table.c.run_id.desc()).limit(2)
    ).all()
    n_newer = sum((row.created_at, row.run_id) > _place(recorded) for row in others)
    if not others or n_newer > 1:
        return
    last = run_of(others[0])
    before, newest = (last, recorded) if n_newer == 0 else (recorded, last)
    difference = difference_of(before.as_record(), newest.as_record())
    if difference is None or not is_regression(difference):
        return
    values = {
        "run_id": newest.run_id, "noticed_at": now(), "difference": stored(asdict(difference)),
    }  # fmt: skip
    if insert_or_ignore(connection, regressions, values):
        audit_note(
            connection, newest.person, "regression", newest.run_id,
            before=difference.before_run_id, before_ns=difference.before_ns,
            after_ns=difference.after_ns,
        )  # fmt: skip


def _place(run: RecordedRun) -> tuple[str, str]:
    """By which the runs of a line are in order."""
    return run.created_at, run.run_id


def newest_regressions(limit: int = 20) -> tuple[Regression, ...]:
    """The newest first."""
    query = (
        select(regressions)
        .join(table, table.c.run_id == regressions.c.run_id)
        .where(NOT_DELETED)
        .order_by(table.c.created_at.desc(), table.c.run_id)
        .limit(limit)
    )
    with reading() as connection:
        rows = connection.execute(query).all()
    return _regressions([(row.run_id, row.noticed_at, row.difference) for row in rows])


def waiting_notices(channels: Collection[Channel]) -> tuple[tuple[Regression, Channel], ...]:
    """What is to be told now, the oldest first, and by which of these channels.

    Without the runs of whom enough was told in the last hour: whoever sends many runs fills no
    channel, and takes nobody else's place. Some hundreds at most; the others come with later looks.
    """
    moment = now()
    since = utc((datetime.now(UTC) - timedelta(days=NEWS_DAYS)).isoformat(), "")
    waiting = []
    for channel in channels:
        told = notices.alias()
        query = (
            select(regressions)
            .join(table, table.c.run_id == regressions.c.run_id)
            .outerjoin(told, (told.c.run_id == regressions.c.run_id) & (told.c.channel == channel))
            .where(
                NOT_DELETED,
                table.c.created_at >= since,
                table.c.person.not_in(
                    [person for person, n in recent_notices(channel).items() if n >= MOST_AN_HOUR]
                ),
                or_(
                    told.c.run_id.is_(None),
                    (told.c.state == "waiting") & (told.c.next_at <= moment),
                ),
            )
            .order_by(regressions.c.noticed_at, regressions.c.run_id)
            .limit(_MOST_AT_ONCE)
        )
        with reading() as connection:
            rows = connection.execute(query).all()
        slower = _regressions([(r.run_id, r.noticed_at, r.difference) for r in rows])
        waiting += [(regression, channel) for regression in slower]
    return tuple(waiting)


def recent_notices(channel: Channel) -> Counter[str]:
    """Person -> of how many of their runs was told by a channel in the last hour; by the audit."""
    moment = now()
    since = utc((datetime.fromisoformat(moment) - timedelta(hours=1)).isoformat(), "")
    query = (
        select(audit.c.detail, table.c.person)
        .join(table, table.c.run_id == audit.c.subject)
        .where(audit.c.action == "notice", audit.c.at.between(since, moment))
    )
    with reading() as connection:
        rows = connection.execute(query).all()
    return Counter(row.person for row in rows if row.detail.get("channel") == channel)


def claim_notice(run_id: str, channel: Channel) -> bool:
    """Take it upon this process to tell; False: another one does, or it was told.

    A process that is killed meanwhile leaves it to the next try.
    """
    moment = datetime.now(UTC)
    with writing() as connection:
        of_it = (notices.c.run_id == run_id) & (notices.c.channel == channel)
        values = {
            "run_id": run_id, "channel": channel, "state": "waiting", "n_tries": 0,
            "next_at": now(), "problem": "",
        }  # fmt: skip
        insert_or_ignore(connection, notices, values)
        n_tries = connection.execute(select(notices.c.n_tries).where(of_it)).scalar_one()
        again = (moment + timedelta(seconds=_FIRST_PAUSE_S * 2**n_tries)).isoformat()
        claimed = connection.execute(
            update(notices)
            .where(of_it, notices.c.state == "waiting", notices.c.next_at <= now(),
                   notices.c.n_tries == n_tries)
            .values(n_tries=n_tries + 1, next_at=utc(again, ""))
        )  # fmt: skip
        return bool(claimed.rowcount)


def note_notice(run_id: str, channel: Channel, problem: str = "") -> None:
    """Keep how telling went, and write it into the audit where it ended.

    Args:
        run_id: of the regression.
        channel: by which.
        problem: without any secret; empty: it was sent.
    """
    of_it = (notices.c.run_id == run_id) & (notices.c.channel == channel)
    with writing() as connection:
        n_tries = connection.execute(select(notices.c.n_tries).where(of_it)).scalar_one()
        state = "waiting" if problem else "sent"
        if problem and n_tries >= MOST_TRIES:
            state = "given up"
        connection.execute(
            update(notices).where(of_it).values(state=state, problem=stored(problem)[:500])
        )
        if state != "waiting":
            audit_note(
                connection, "", "notice", run_id, channel=channel, state=state, n_tries=n_tries,
                problem=problem[:500],
            )  # fmt: skip


def _regressions(rows: list[tuple[str, str, object]]) -> tuple[Regression, ...]:
    differences = {run_id: difference_in(column) for run_id, _, column in rows}
    before_ids = [d.before_run_id for d in differences.values() if d is not None]
    by_id = {run.run_id: run for run in runs_of([*differences, *before_ids])}
    return tuple(
        Regression(by_id[run_id], difference, noticed_at, by_id.get(difference.before_run_id))
        for run_id, noticed_at, _ in rows
        if (difference := differences[run_id]) is not None and run_id in by_id
    )
