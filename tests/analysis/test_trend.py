"""Trends: what is joined, what is not, the noise, and what changed around a run.

The runs are those of the shipped H200 captures, re-dated and changed in one named place.
"""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from profiler_core.analysis.trend import Change, changes_between, trend
from profiler_core.model.history import HeadlineMetrics, RecordedRun
from profiler_core.model.run import Round, RunRecord
from tests.store.history.samples import SAMPLES


def recorded(sample="bert", variant="default", *, n=0, metrics=None, **changes):
    """The run of a sample as if it had been made on day `n`."""
    raw = (SAMPLES / sample / variant / "run.json").read_bytes()
    record = msgspec.json.decode(raw, type=RunRecord)
    rounds = record.measurement.rounds
    step_ns = float(np.median([r.wall_ns / r.n_steps for r in rounds]))
    environment = {**record.environment, **changes.pop("environment", {})}
    return RecordedRun(
        run_id=f"{sample}-{n}.{variant}",
        capture_id=f"{sample}-{n}",
        baseline_run_id=None,
        role=record.role,
        name=record.name,
        workload=changes.pop("workload", record.workload),
        variant=variant,
        status=changes.pop("status", "finished"),
        error=None,
        created_at=f"2026-11-{n + 1:02d}T12:00:00Z",
        recorded_at="2026-11-30T12:00:00Z",
        origin="capture",
        gpu=changes.pop("gpu", "NVIDIA H200"),
        torch="2.11.0",
        git_branch="",
        git_commit="",
        host="vm",
        person="",
        metrics=metrics or HeadlineMetrics(step_time_ns=step_ns),
        rounds=changes.pop("rounds", rounds),
        spec={**record.spec, **changes},
        environment=environment,
        key="run/x/y",
        artifact=None,
    )


def n_points(chart):
    return sum(len(line.points) for line in chart.lines)


def only_line(runs, metric="step_time_ns"):
    (chart,) = trend(runs, metric).charts
    (line,) = chart.lines
    return line


def test_runs_of_one_variant_are_one_line_in_the_order_of_time():
    runs = [recorded(n=n) for n in (2, 0, 1)]
    line = only_line(runs)
    assert [p.run.capture_id for p in line.points] == ["bert-0", "bert-1", "bert-2"]
    assert [(p.before_id or "").partition(".")[0] or None for p in line.points] == [
        *(None, "bert-0", "bert-1")
    ]


def test_the_variants_of_a_workload_share_a_chart_with_the_baseline_first():
    runs = [recorded(variant=v, n=n) for n in (0, 1) for v in ("reduce-overhead", "eager")]
    (chart,) = trend(runs, "step_time_ns").charts
    assert [(line.variant, line.is_baseline) for line in chart.lines] == [
        *(("eager", True), ("reduce-overhead", False))
    ]
    assert n_points(chart) == 4
    assert chart.facts == ("inference", "fp32", "NVIDIA H200")


@pytest.mark.parametrize(
    "change",
    [
        {"gpu": "NVIDIA A100"},
        {"workload": "another"},
        {"batch_size": 64},
        {"shapes": [[1, 128]]},
        {"training": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_question_is_another_chart(change):
    found = trend([recorded(n=0), recorded(n=1, **change)], "step_time_ns")
    assert [n_points(chart) for chart in found.charts] == [1, 1]


def test_another_mode_is_another_line():
    (chart,) = trend([recorded(n=0), recorded(n=1, dynamic=True)], "step_time_ns").charts
    assert [len(line.points) for line in chart.lines] == [1, 1]


def test_the_band_holds_ninety_percent_of_the_rounds():
    rounds = tuple(Round(index=i, order=0, n_steps=10, wall_ns=10 * (1000 + i)) for i in range(101))
    (point,) = only_line([recorded(rounds=rounds)]).points
    assert (point.low, point.high) == (1005, 1095)


def test_few_rounds_have_no_band():
    rounds = (Round(index=0, order=0, n_steps=10, wall_ns=10_000),) * 4
    (point,) = only_line([recorded(rounds=rounds)]).points
    assert (point.low, point.high) == (None, None)


def slower(run, factor):
    rounds = tuple(
        msgspec.structs.replace(r, wall_ns=round(r.wall_ns * factor)) for r in run.rounds
    )
    step_ns = run.metrics.step_time_ns * factor
    return replace(run, rounds=rounds, metrics=HeadlineMetrics(step_time_ns=step_ns))


def test_a_slowdown_beyond_the_noise_is_told_from_one_within_it():
    runs = [recorded(n=0), slower(recorded(n=1), 1.0005), slower(recorded(n=2), 1.05)]
    first, same, worse = only_line(runs).points
    assert first.is_beyond_noise is None
    assert same.is_beyond_noise is False
    assert worse.is_beyond_noise is True
    assert worse.ratio == pytest.approx(1.05 / 1.0005)


def test_what_changed_around_a_run_is_said_once():
    runs = [
        recorded(n=0),
        recorded(n=1, environment={"torch": "2.12.0+cu130", "driver": "590.10"}),
        recorded(n=2, environment={"torch": "2.12.0+cu130", "driver": "590.10"}),
    ]
    first, changed, after = only_line(runs).points
    assert first.changes == after.changes == ()
    assert [(c.what, c.before, c.after) for c in changed.changes] == [
        *(("torch", "2.11.0", "2.12.0"), ("driver", "580.159.04", "590.10"))
    ]


def test_clocks_that_moved_are_a_change():
    def at(mhz, n):
        return recorded(n=n, metrics=HeadlineMetrics(step_time_ns=1e6, sm_clock_mhz=mhz))

    _, near, far = only_line([at(1980, 0), at(1940, 1), at(1410, 2)]).points
    assert near.changes == ()
    assert [(c.what, c.after) for c in far.changes] == [("clock (MHz)", "1410")]


def test_what_did_not_finish_or_has_no_number_or_workload_is_left_out():
    runs = [
        recorded(n=0),
        recorded(n=1, status="failed"),
        recorded(n=2, metrics=HeadlineMetrics()),
        recorded(n=3, workload=""),
    ]
    assert [n_points(chart) for chart in trend(runs, "step_time_ns").charts] == [1]


def test_versions_that_differ_in_their_local_part_alone_are_told_apart_by_it():
    """A dotted line "torch 2.11.0" stood where 2.11.0+cu130 became 2.11.0+cu126."""
    builds = ("2.11.0+cu130", "2.11.0+cu126", "2.12.0+cu126")
    first, second, third = (
        recorded(n=n, environment={"torch": torch}) for n, torch in enumerate(builds)
    )
    assert changes_between(first, second) == (Change("torch", "2.11.0+cu130", "2.11.0+cu126"),)
    assert changes_between(second, third) == (Change("torch", "2.11.0", "2.12.0"),)


def test_a_point_is_held_against_the_run_before_it_that_is_not_drawn():
    drawn, between = recorded(n=0), recorded(n=1, torch="2.12.0")
    last = recorded(n=2)
    slower = replace(between, metrics=HeadlineMetrics(step_time_ns=1e6))
    (chart,) = trend([drawn, last], "step_time_ns", {last.run_id: slower}).charts
    point = chart.lines[0].points[-1]
    assert point.before_id == slower.run_id
    assert point.ratio == last.metrics.step_time_ns / 1e6


def test_only_the_largest_moves_of_a_chart_are_held_against_the_noise():
    runs = [
        replace(recorded(n=n), metrics=HeadlineMetrics(step_time_ns=100.0 + n + 50 * (n == 20)))
        for n in range(28)
    ]
    points = only_line(runs).points
    judged = [n for n, point in enumerate(points) if point.is_beyond_noise is not None]
    assert len(judged) == 24
    assert {20, 21} <= set(judged)
    assert not {25, 26, 27} & set(judged)  # the smallest shares of what was before


def test_a_number_of_zero_is_drawn_and_has_no_ratio_after_it():
    runs = [recorded(n=n, metrics=HeadlineMetrics(n_recompiles=v)) for n, v in ((0, 0), (1, 3))]
    first, second = only_line(runs, "n_recompiles").points
    assert (first.value, second.value, second.ratio) == (0, 3, None)


def test_no_runs_no_charts():
    assert trend([], "step_time_ns").charts == ()
    with pytest.raises(ValueError, match="headline"):
        trend([], "luck")
