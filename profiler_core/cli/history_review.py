"""`runs findings` and `runs regressions`: what somebody looks after, and what became slower."""

import argparse

from profiler_core.answers.history import (
    AssignedFindingAnswer,
    DifferenceAnswer,
    FindingsAnswer,
    RegressionAnswer,
    RegressionsAnswer,
)
from profiler_core.answers.record import Answer
from profiler_core.cli.table import shorten, table
from profiler_core.model.review import STATES, Difference
from profiler_core.store import history
from profiler_core.units import format_change_between, format_duration


def add_arguments(findings: argparse.ArgumentParser, regressions: argparse.ArgumentParser) -> None:
    """Declare what both actions take."""
    findings.add_argument(
        "--state", action="append", choices=STATES,
        help="only in this state; may be repeated (default: open and doing)",
    )  # fmt: skip
    findings.add_argument("--owner", default="", metavar="NAME", help="only this one's")
    regressions.add_argument("--limit", type=int, default=20, help="runs, the newest first")


def list_findings(arguments: argparse.Namespace) -> tuple[Answer, str]:
    """Findings of all reviews, what is due first."""
    rows = history.assigned_findings(arguments.state or history.UNFINISHED, owner=arguments.owner)
    names = history.names_of({row.owner for row in rows})
    answer = FindingsAnswer(
        tuple(AssignedFindingAnswer.of(row, difference=_answer(row.difference)) for row in rows)
    )
    if not rows:
        return answer, "No finding of a review is in this state."
    head = ["review", "finding", "owner", "state", "due", "at stake", "gained"]
    cells = [
        [
            shorten(row.review, 28),
            shorten(row.title, 44),
            names[row.owner] or "–",
            row.state,
            row.due or "–",
            " ".join(filter(None, (row.stake, row.unit))) or "–",
            _gained(row.difference),
        ]
        for row in rows
    ]
    return answer, table(head, cells, n_text=5)


def list_regressions(arguments: argparse.Namespace) -> tuple[Answer, str]:
    """Runs that became slower than the run before them, the newest first."""
    rows = history.newest_regressions(arguments.limit)
    answer = RegressionsAnswer(
        tuple(
            RegressionAnswer.of(
                row.run, noticed_at=row.noticed_at, difference=DifferenceAnswer.of(row.difference)
            )
            for row in rows
        )
    )
    if not rows:
        return answer, "No run became slower than the run before it."
    head = ["run", "workload", "commit", "before", "after", "change"]
    cells = [
        [
            row.run.run_id,
            shorten(row.run.workload, 24),
            row.run.git_commit[:10] or "–",
            format_duration(row.difference.before_ns),
            format_duration(row.difference.after_ns),
            format_change_between(row.difference.before_ns, row.difference.after_ns),
        ]
        for row in rows
    ]
    return answer, table(head, cells, n_text=3)


def _answer(difference: Difference | None) -> DifferenceAnswer | None:
    return None if difference is None else DifferenceAnswer.of(difference)


def _gained(difference: Difference | None) -> str:
    if difference is None:
        return "–"
    return format_duration(difference.before_ns - difference.after_ns)
