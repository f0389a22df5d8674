"""What a trend is drawn of: charts by question, the telling points of long lines, all in SQL."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, text, update

from profiler_core.model.history import HeadlineMetrics
from profiler_core.store import history
from profiler_core.store.history import database
from profiler_core.store.history.lines import lines_of
from profiler_core.store.history.recording import METRICS_VERSION
from profiler_core.store.history.regressions import notice_regression
from profiler_core.store.history.rows import row_of
from profiler_core.store.history.tables import runs as table
from tests.analysis.test_trend import recorded

ALL = history.RunFilter()
STEP = "step_time_ns"


def run_at(number, value=100.0, **changes):
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    run = recorded(metrics=HeadlineMetrics(step_time_ns=value), **changes)
    created = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    return replace(run, run_id=f"{run.variant}-{number:05}", created_at=created)


def put(*runs):
    with history.writing() as connection:
        rows = [{**row_of(r), **lines_of(r), "metrics_version": METRICS_VERSION} for r in runs]
        connection.execute(insert(table), rows)


def only_question(**narrowed):
    (question,) = history.charts(history.RunFilter(**narrowed), STEP).questions
    return question.digest


def test_a_line_counts_where_a_finished_run_has_one_before_it(home):
    """ "10 runs, none slower" was said of ten lines with a run each."""
    put(run_at(0, workload="a"), run_at(1, workload="b"), run_at(2, workload="b", status="failed"))
    assert history.n_lines_of_several() == 0
    put(run_at(3, workload="a"), run_at(4, workload="a"), run_at(5, workload="b"))
    assert history.n_lines_of_several() == 2


def test_charts_with_a_line_come_first_and_what_is_in_none_is_counted(home):
    put(
        run_at(0, workload="a"),
        run_at(1, workload="a"),
        run_at(2, workload="b"),
        run_at(3, workload="a", status="failed"),
        run_at(4, value=None, workload="a"),
        run_at(5, workload=""),
    )
    charts = history.charts(ALL, STEP)
    assert [question.n_runs for question in charts.questions] == [2, 1]
    assert (charts.n_unfinished, charts.n_without_number, charts.n_without_workload) == (1, 1, 1)
    since = history.RunFilter(since="2026-01-01T02:00:00Z")
    assert [question.n_runs for question in history.charts(since, STEP).questions] == [1]


def test_trials_of_an_experiment_are_on_no_line(home):
    trial = run_at(3, 200.0, workload="a", experiment="20261123-101500-try-a-1a2b")
    put(run_at(0, workload="a"), run_at(1, workload="a"), trial)
    charts = history.charts(ALL, STEP)
    assert [question.n_runs for question in charts.questions] == [2]
    assert (charts.n_without_workload, charts.n_trials) == (0, 1)
    with history.writing() as connection:
        notice_regression(connection, trial)
    assert history.newest_regressions() == ()


def test_all_of_a_short_line_is_drawn(home):
    put(*(run_at(number) for number in range(history.MOST_POINTS)))
    drawn = history.drawn(ALL, STEP, only_question())
    assert len(drawn.run_ids) == drawn.n_runs == history.MOST_POINTS


def test_of_a_long_line_the_ends_and_the_extremes_are_drawn(home):
    values = [100.0 + (number % 7) for number in range(1000)]
    values[333], values[777] = 500.0, 1.0
    put(*(run_at(number, value) for number, value in enumerate(values)))
    drawn = history.drawn(ALL, STEP, only_question(), also="default-00500")
    assert drawn.n_runs == 1000
    assert len(drawn.run_ids) <= 84
    assert {f"default-{number:05}" for number in (0, 333, 500, 777, 999)} <= set(drawn.run_ids)
    assert list(drawn.run_ids) == sorted(drawn.run_ids)
    runs, before = drawn.runs()
    assert [run.run_id for run in runs] == list(drawn.run_ids)
    assert before["default-00333"].run_id == "default-00332"  # which itself is not drawn
    assert "default-00000" not in before


def test_a_period_draws_what_all_of_it_leaves_out(home):
    put(*(run_at(number, 100.0 + number % 7) for number in range(500)))
    moment = run_at(450).created_at
    drawn = history.drawn(history.RunFilter(since=moment), STEP, only_question())
    assert len(drawn.run_ids) == drawn.n_runs == 50


def test_the_table_has_each_run(home):
    put(*(run_at(number, 100.0 + number) for number in range(120)))
    question = only_question()
    rows = [
        row.value
        for offset in (0, 50, 100)
        for row in history.trend_rows(ALL, STEP, question, offset=offset, limit=50)
    ]
    assert rows == [219.0 - number for number in range(120)]


def test_runs_that_an_earlier_version_recorded_get_their_line(home):
    put(run_at(0), run_at(1))
    with history.writing() as connection:
        connection.execute(update(table).values(question=None, line=None, lines_version=None))
    assert [question.n_runs for question in history.charts(ALL, STEP).questions] == [2]


@pytest.mark.parametrize("change", ["tag", "delete"])
def test_a_chart_is_another_version_after_a_change(home, change):
    put(run_at(0), run_at(1))
    question = only_question()
    before = history.drawn(ALL, STEP, question).version
    assert history.drawn(ALL, STEP, question).version == before
    if change == "tag":
        history.tag("default-00001", "weekly")
    else:
        history.delete_run("default-00001")
    assert history.drawn(ALL, STEP, question).version != before


def test_a_look_changes_nothing_that_is_asked_of_runs(home):
    put(run_at(0))
    before = history.version()
    history.note("ada", "look", "run/c/eager")
    assert history.version() == before


def test_of_a_baseline_the_newest_on_its_line_is_asked_for(home):
    put(*(run_at(number) for number in range(3)), run_at(9, variant="eager"))
    baseline = history.set_baseline("main", "default-00000")
    runs = history.baselines_with_newest([baseline])
    assert {run.run_id for run in runs} == {"default-00000", "default-00002"}


def test_long_lists_come_out_of_indexes(home, kind):
    if kind != "sqlite":
        pytest.skip("PostgreSQL reads a table of three rows as a whole")
    put(*(run_at(number) for number in range(3)))
    with database.reading() as connection:

        def plan(question):
            rows = connection.execute(text(f"EXPLAIN QUERY PLAN {question}"))
            return " ".join(row.detail for row in rows)

        assert "ix_runs_lines (question=?)" in plan("SELECT run_id FROM runs WHERE question = 'x'")
        assert "ix_audit_action (action=?)" in plan(
            "SELECT * FROM audit WHERE action = 'look' ORDER BY entry_id DESC LIMIT 50"
        )
        newest = plan("SELECT * FROM runs ORDER BY created_at DESC LIMIT 50")
        assert newest == "SCAN runs USING INDEX ix_runs_created_at"
