"""The weekly review: like is held against like, and only what is newer than the baseline."""

from dataclasses import replace
from datetime import UTC, datetime

from profiler_core.analysis.weekly import weekly_reviews
from profiler_core.model.history import Baseline, HeadlineMetrics, RecordedRun

TODAY = datetime(2026, 11, 21, tzinfo=UTC)
RUN = RecordedRun(
    run_id="base", capture_id="c", baseline_run_id=None, role="candidate", name="",
    workload="resnet50", variant="default", status="finished", error=None,
    created_at="2026-11-01T00:00:00Z", recorded_at="", origin="capture", gpu="NVIDIA H200",
    torch="2.11.0", git_branch="", git_commit="", host="", person="",
    metrics=HeadlineMetrics(), rounds=(), spec={"batch_size": 32}, environment={},
    key="run/c/default", artifact=None,
)  # fmt: skip
MAIN = Baseline("main", "base", "", "")


def later(run_id, day, **changes):
    return replace(RUN, run_id=run_id, **{"created_at": f"2026-11-{day:02}T00:00:00Z", **changes})


def weekly(*runs, baselines=(MAIN,)):
    return weekly_reviews(baselines, [RUN, *runs], today=TODAY)


def test_the_newest_run_of_the_same_thing_is_the_candidate():
    (week,) = weekly(later("a", 18), later("b", 20), later("c", 19))
    assert week.title == "Week 47 · resnet50"
    assert (week.baseline.run_id, week.candidate.run_id) == ("base", "b")


def test_what_is_not_alike_or_not_newer_is_no_candidate():
    (week,) = weekly(
        later("older", 1, created_at="2026-10-01T00:00:00Z"),
        later("other gpu", 20, gpu="NVIDIA L4"),
        later("other batch", 20, spec={"batch_size": 8}),
        later("other variant", 20, variant="reduce-overhead"),
        later("failed", 20, status="failed"),
        later("without files", 20, files_deleted_at="2026-11-21T00:00:00Z"),
    )
    assert week.candidate is None


def test_two_baselines_of_one_workload_are_told_apart():
    other = later("release", 10)
    weeks = weekly(other, later("new", 20), baselines=(MAIN, Baseline("2.4", "release", "", "")))
    assert [week.title for week in weeks] == [
        "Week 47 · resnet50 (2.4)",
        "Week 47 · resnet50 (main)",
    ]
    assert {week.candidate.run_id for week in weeks} == {"new"}


def test_a_baseline_whose_run_is_gone_is_left_out():
    assert weekly(baselines=(Baseline("gone", "nowhere", "", ""),)) == ()
