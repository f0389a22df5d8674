"""What a trend is drawn of, reduced in SQL: charts by question, and the telling points of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, case, func, or_, select

from profiler_core.model.history import METRICS, Baseline, RecordedRun
from profiler_core.store.history.database import reading, where
from profiler_core.store.history.lines import ON_A_LINE, digest, fill_lines
from profiler_core.store.history.query import NOT_DELETED, RunFilter, filtered, runs_of
from profiler_core.store.history.tables import runs as table
from profiler_core.store.history.tables import tags

MOST_POINTS = 100  # of one line: a chart of 900 pixels has no room for more marks
_MOST_CHARTS = 500
_SPANS = 40  # that a longer line is cut into, as many runs in each: their extremes are drawn


@dataclass(frozen=True)
class Question:
    """One chart: a workload with its shapes on one kind of GPU."""

    digest: str
    n_runs: int  # that have the number


@dataclass(frozen=True)
class Charts:
    """The charts, and what is in none of them."""

    questions: tuple[Question, ...]
    n_without_number: int  # finished runs that do not have this number
    n_unfinished: int
    n_without_workload: int  # traces: nothing says that two of them ran the same
    n_trials: int  # of experiments, each with a setting of its own


@dataclass(frozen=True)
class Drawn:
    """The points of one chart. `version` is another one where the chart may look otherwise."""

    run_ids: tuple[str, ...]  # oldest first
    before: Mapping[str, str]  # run_id -> that of the run before it on its line, drawn or not
    n_runs: int
    version: str

    def runs(self) -> tuple[tuple[RecordedRun, ...], Mapping[str, RecordedRun]]:
        """The runs themselves, and by run_id the run before each."""
        ids = [*self.run_ids, *self.before.values()]
        by_id = {run.run_id: run for run in runs_of(list(dict.fromkeys(ids)))}
        drawn = tuple(by_id[run_id] for run_id in self.run_ids if run_id in by_id)
        before = {r: by_id[b] for r, b in self.before.items() if b in by_id}
        return drawn, before


@dataclass(frozen=True)
class TrendRow:
    """A run in the table below a chart."""

    run_id: str
    created_at: str
    variant: str
    value: float
    torch: str
    git_commit: str
    person: str


def charts(run_filter: RunFilter, metric: str) -> Charts:
    """The charts: those with a line first, then the newest; 500 at most.

    Args:
        run_filter: which runs.
        metric: a field of `HeadlineMetrics`.
    """
    fill_lines()
    number = _number(metric)
    lines = (
        filtered(
            select(
                table.c.question,
                func.count().label("n"),
                func.max(table.c.created_at).label("newest"),
            ),
            run_filter,
        )
        .where(*_drawable(metric))
        .group_by(table.c.question, table.c.line)
        .subquery()
    )
    grouped = (
        select(lines.c.question, func.sum(lines.c.n).label("n"))
        .group_by(lines.c.question)
        .order_by(
            case((func.max(lines.c.n) > 1, 0), else_=1),
            func.max(lines.c.newest).desc(),
            lines.c.question,
        )
    )
    is_finished = table.c.status == "finished"
    counts = filtered(
        select(
            _count(~is_finished),
            _count(and_(is_finished, number.is_(None))),
            _count(and_(is_finished, number.is_not(None), table.c.workload == "")),
            _count(
                and_(
                    is_finished,
                    number.is_not(None),
                    table.c.question != "",
                    table.c.line == "",
                )
            ),
        ).where(NOT_DELETED),
        run_filter,
    )
    with reading() as connection:
        rows = connection.execute(grouped.limit(_MOST_CHARTS)).all()
        counted = connection.execute(counts).one()
    n_unfinished, n_without_number, n_without_workload, n_trials = counted
    return Charts(
        tuple(Question(row.question, int(row.n)) for row in rows),
        n_without_number or 0,
        n_unfinished or 0,
        n_without_workload or 0,
        n_trials or 0,
    )


def drawn(run_filter: RunFilter, metric: str, question: str, *, also: str | None = None) -> Drawn:
    """The points of a chart.

    All runs of a line with up to `MOST_POINTS`; of a longer one its first, its last, and of each
    of `_SPANS` equal parts the lowest and the highest. The run `also` is drawn in any case.
    """
    query = _reduced(run_filter, metric, question, also or "")
    with reading() as connection:
        rows = connection.execute(query).all()
        tagged = connection.execute(
            select(tags.c.run_id, tags.c.tag).where(tags.c.run_id.in_([row.run_id for row in rows]))
        ).all()
    rests_on = (where(), metric, *map(tuple, rows), *map(tuple, tagged))
    return Drawn(
        tuple(row.run_id for row in rows),
        {row.run_id: row.before_id for row in rows if row.before_id is not None},
        sum({row.line: row.n_line for row in rows}.values()),
        digest(repr(rests_on)),
    )


def trend_rows(
    run_filter: RunFilter, metric: str, question: str, *, offset: int, limit: int
) -> tuple[TrendRow, ...]:
    """The runs of a chart, each of them, the newest first."""
    query = (
        filtered(
            select(
                table.c.run_id, table.c.created_at, table.c.variant, _number(metric).label("value"),
                table.c.torch, table.c.git_commit, table.c.person,
            ),
            run_filter,
        )
        .where(table.c.question == question, *_drawable(metric))
        .order_by(table.c.created_at.desc(), table.c.run_id)
    )  # fmt: skip
    with reading() as connection:
        rows = connection.execute(query.limit(limit).offset(offset)).all()
    return tuple(TrendRow(*row) for row in rows)


def baselines_with_newest(baselines: Sequence[Baseline]) -> tuple[RecordedRun, ...]:
    """The runs of these baselines, and of each the newest finished run on its line."""
    fill_lines()
    ids = [baseline.run_id for baseline in baselines]
    run_ids = list(ids)
    with reading() as connection:
        lines = connection.execute(
            select(table.c.question, table.c.line)
            .where(table.c.run_id.in_(ids), ON_A_LINE)
            .distinct()
        ).all()
        for question, line in lines:
            newest = connection.execute(
                select(table.c.run_id)
                .where(
                    table.c.question == question,
                    table.c.line == line,
                    table.c.status == "finished",
                    table.c.files_deleted_at.is_(None),
                    NOT_DELETED,
                )
                .order_by(table.c.created_at.desc(), table.c.run_id.desc())
                .limit(1)
            ).scalar()
            run_ids += [] if newest is None else [newest]
    return runs_of(list(dict.fromkeys(run_ids)))


def _reduced(run_filter: RunFilter, metric: str, question: str, also: str) -> Select[Any]:
    columns: Any = select(
        table.c.run_id,
        table.c.line,
        table.c.created_at,
        table.c.recorded_at,
        _number(metric).label("value"),
        _along_line(func.lag(table.c.run_id)).label("before_id"),
        _along_line(func.row_number()).label("number"),
        func.count().over(partition_by=table.c.line).label("n_line"),
    )
    every = (
        filtered(columns, run_filter)
        .where(table.c.question == question, *_drawable(metric))
        .subquery()
    )
    span = ((every.c.number - 1) * _SPANS // every.c.n_line).label("span")
    spans = select(every, span).subquery()
    within = (spans.c.line, spans.c.span)
    ranked = select(
        spans,
        func.row_number()
        .over(partition_by=within, order_by=(spans.c.value, spans.c.number))
        .label("from_lowest"),
        func.row_number()
        .over(partition_by=within, order_by=(spans.c.value.desc(), spans.c.number))
        .label("from_highest"),
    ).subquery()
    return (
        select(
            ranked.c.run_id, ranked.c.before_id, ranked.c.value, ranked.c.recorded_at,
            ranked.c.line, ranked.c.n_line,
        )
        .where(
            or_(
                ranked.c.n_line <= MOST_POINTS,
                ranked.c.from_lowest == 1,
                ranked.c.from_highest == 1,
                ranked.c.number == 1,
                ranked.c.number == ranked.c.n_line,
                ranked.c.run_id == also,
            )
        )
        .order_by(ranked.c.created_at, ranked.c.run_id)
    )  # fmt: skip


def _along_line(function: Any) -> Any:
    return function.over(partition_by=table.c.line, order_by=(table.c.created_at, table.c.run_id))


def _number(metric: str) -> Any:
    if metric not in METRICS:
        raise ValueError(f"{metric!r} is no headline metric")
    return table.c[metric]


def _drawable(metric: str) -> tuple[Any, ...]:
    return (
        table.c.status == "finished",
        _number(metric).is_not(None),
        ON_A_LINE,
        NOT_DELETED,
    )


def _count(condition: Any) -> Any:
    return func.sum(case((condition, 1), else_=0))
