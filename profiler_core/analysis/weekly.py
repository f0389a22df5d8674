"""What a weekly review is about: of each named baseline, the newest run of the same thing."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from profiler_core.analysis.trend import question_of, variant_of
from profiler_core.model.history import Baseline, RecordedRun


@dataclass(frozen=True)
class WeeklyReview:
    """One workload this week. candidate None: nothing newer than the baseline was measured."""

    title: str  # "Week 47 · resnet50"
    name: str  # of the baseline
    baseline: RecordedRun
    candidate: RecordedRun | None


def weekly_reviews(
    baselines: Iterable[Baseline], runs: Iterable[RecordedRun], *, today: datetime
) -> tuple[WeeklyReview, ...]:
    """One for each named baseline, by workload and name.

    Like is held against like: workload, shapes, batch, kind of GPU and variant are the
    baseline's own. Two baselines of one workload are told apart by their names.

    Args:
        baselines: all of them.
        runs: of the history, in any order.
        today: names the week, as ISO 8601 counts it.
    """
    run_of_id = {run.run_id: run for run in runs}
    recorded = [
        (baseline, run_of_id[baseline.run_id])
        for baseline in baselines
        if baseline.run_id in run_of_id
    ]
    recorded.sort(key=lambda pair: (pair[1].workload, pair[0].name))
    workloads = [run.workload for _, run in recorded]
    week = f"Week {today.isocalendar().week}"
    reviews = []
    for baseline, run in recorded:
        title = run.workload or run.name or run.run_id
        if workloads.count(run.workload) > 1:
            title = f"{title} ({baseline.name})"
        reviews.append(
            WeeklyReview(f"{week} · {title}", baseline.name, run, _newest(run, run_of_id.values()))
        )
    return tuple(reviews)


def _newest(baseline: RecordedRun, runs: Iterable[RecordedRun]) -> RecordedRun | None:
    alike = [
        run
        for run in runs
        if run.status == "finished"
        and (run.created_at, run.run_id) > (baseline.created_at, baseline.run_id)
        and run.files_deleted_at is None
        and question_of(run) == question_of(baseline)
        and variant_of(run) == variant_of(baseline)
    ]
    return max(alike, key=lambda run: (run.created_at, run.run_id), default=None)
