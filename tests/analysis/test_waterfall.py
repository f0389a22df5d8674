"""The waterfall adds up exactly, on either clock, and opens into the fusion groups."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from profiler_core.analysis.apportion import apportion
from profiler_core.analysis.opened_bar import what_it_is
from profiler_core.analysis.step_parts import step_parts
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.waterfall import (
    ASSUMED_PACE,
    WORK_CLASSES,
    BarPart,
    GroupPart,
    WaterfallRow,
    open_bar,
    step_shares,
    waterfall,
)
from profiler_core.ingest.run import open_run
from profiler_core.session.comparison import Comparison
from tests.analysis.ledger.pairs import (
    CAPTURES,
    FIXTURES,
    INFERENCE,
    SMALL,
    TRAINING,
    ledger,
    side,
)
from tests.builders import a_trace, kernel, launch, step

CPU_CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"


def test_apportion_keeps_the_sum():
    assert apportion({"a": 1.4, "b": 1.4, "c": 1.2}) == {"a": 2, "b": 1, "c": 1}
    assert (
        apportion({"a": 0.5, "b": -0.5}) == {"a": 0, "b": 0}
        or sum(apportion({"a": 0.5, "b": -0.5}).values()) == 0
    )
    assert apportion({}) == {}
    assert sum(apportion({"a": 10.3, "b": 2.2}, 13).values()) == 13


def check(result) -> None:
    assert sum(row.baseline_ns for row in result.rows) == result.baseline_ns
    assert sum(row.candidate_ns for row in result.rows) == result.candidate_ns
    assert sum(row.delta_ns for row in result.rows) == result.candidate_ns - result.baseline_ns
    for row in result.rows:
        if row.groups:
            assert sum(p.baseline_ns for p in row.groups) == pytest.approx(row.baseline_ns, abs=2)
            assert sum(p.candidate_ns for p in row.groups) == pytest.approx(row.candidate_ns, abs=2)


@pytest.mark.parametrize(("baseline", "candidate"), SMALL)
@pytest.mark.parametrize("times", [None, (7_000_000.4, 6_000_000.5), (50_000.0, 60_000.0)])
def test_sums_exactly(baseline, candidate, times):
    summaries = tuple(summarise(side(FIXTURES / name).trace) for name in (baseline, candidate))
    result = waterfall(summaries, times, ledger(FIXTURES / baseline, FIXTURES / candidate))
    check(result)
    if times is None:
        assert result.clock == "profiled"
        assert not any(row.estimated for row in result.rows)
        assert {row.key for row in result.rows} & {"gemm_conv"}
    else:
        assert (result.baseline_ns, result.candidate_ns) == tuple(map(round, times))


def test_a_step_shorter_than_its_device_work_says_so():
    """A bar of its own, never a lost rest; the note says what was measured, and no cause of it."""
    one = summarise(side(FIXTURES / "bert.eager").trace)
    result = waterfall((one, one), (1_000_000.0, 1_000_000.0))
    check(result)
    (row,) = [row for row in result.rows if row.key == "clocks"]
    assert row.baseline_ns < 0
    assert (
        "The device was busy for longer in the trace than a whole step took unprofiled: its "
        "kernels took longer under the profiler."
    ) in result.notes


def test_the_own_pace_of_the_device_is_assumed_where_launches_came_late():
    """Kernel to kernel costs the same profiled or not; the host's share shrinks with the step.

    Seven launches of the capture's step come late; that their gaps are the device's own without the
    profiler is an assumption, and stood there as measured.
    """
    summaries = tuple(
        summarise(side(FIXTURES / name).trace) for name in ("bert.eager", "bert.default")
    )
    profiled = {row.key: row for row in waterfall(summaries, None).rows}
    busy = [summary.busy_ns for summary in summaries]
    gap = 400_000
    faster = waterfall(summaries, (busy[0] + gap, busy[1] + gap))
    unprofiled = {row.key: row for row in faster.rows}
    key = "idle_between_kernels"
    late = summaries[0].n_late_gaps
    assert summaries[0].n_late_gaps == 7
    assert 900 < summaries[0].own_gap_ns < 1_500  # an H200 needs about 1 µs
    own = profiled[key].baseline_ns + late * summaries[0].own_gap_ns
    assert unprofiled[key].baseline_ns == pytest.approx(min(own, gap), abs=1)
    assert unprofiled[key].estimated and not profiled[key].estimated
    assert ASSUMED_PACE in faster.notes and ASSUMED_PACE not in waterfall(summaries, None).notes
    in_time = tuple(replace(summary, n_late_gaps=0) for summary in summaries)
    measured = waterfall(in_time, (busy[0] + gap, busy[1] + gap))
    assert ASSUMED_PACE not in measured.notes
    (row,) = (row for row in measured.rows if row.key == key)
    assert (row.baseline_ns, row.estimated) == (profiled[key].baseline_ns, False)
    assert what_it_is(row, ("a", "b")).endswith("that were already waiting in the queue.")
    # Less than the trace has: the step idles no longer. Not as measured either.
    cut = waterfall(in_time, (busy[0] + 5_000, busy[1] + gap))
    (row,) = (row for row in cut.rows if row.key == key)
    assert (row.baseline_ns, row.estimated) == (5_000, True)
    assert "a: 199 µs in the trace, of which" in what_it_is(row, ("a", "b"))


BF16 = Path(__file__).resolve().parents[2] / "sample_traces" / "resnet50-bf16"
_TEN_US = 10.0


def judged_gaps(folder):
    """Per step: µs before kernels whose launch had returned, and late gaps; median pause, µs.

    Plain JSON: events of the device in order, each gap with the launch call of what ends it.
    """
    (path,) = folder.glob("trace.json*")
    events = [e for e in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
              if e.get("ph") == "X"]  # fmt: skip
    steps = [e for e in events if e["name"].startswith("ProfilerStep")
             and e["cat"] == "user_annotation"]  # fmt: skip
    returned = {e["args"]["correlation"]: e["ts"] + e["dur"] for e in events
                if e["cat"] in ("cuda_runtime", "cuda_driver")
                and "correlation" in e["args"]}  # fmt: skip
    device = sorted((e["ts"], e["ts"] + e["dur"], e["args"]["correlation"]) for e in events
                    if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"))  # fmt: skip
    end, late, waited = device[0][1], 0, []
    for start, stop, correlation in device[1:]:
        if start > end and returned[correlation] <= end:
            waited.append(start - end)
        elif start > end:
            late += 1
        end = max(end, stop)
    n, pauses = len(steps), [gap for gap in waited if gap <= _TEN_US]
    return sum(min(gap, _TEN_US) for gap in waited) / n, late / n, median(pauses)


def test_the_sentence_says_what_is_measured_and_what_is_assumed_between_kernels():
    """ "Between two kernels that were already waiting": 355 µs, of which the trace has 36.1."""
    folders = [
        BF16 / f"{mode}+bf16-autocast+channels_last" for mode in ("eager", "reduce-overhead")
    ]
    (pair,) = Comparison.open(folders).pairs
    result = pair.explanation.waterfall
    (row,) = (row for row in result.rows if row.key == "idle_between_kernels")
    measured_us, n_late, pause_us = judged_gaps(folders[0])
    assert row.baseline_ns / 1e3 == pytest.approx(measured_us + n_late * pause_us, rel=0.01)
    assert measured_us < 0.2 * row.baseline_ns / 1e3
    assert row.estimated and ASSUMED_PACE in result.notes
    text = what_it_is(row, ("eager", "reduce-overhead"))
    assert "assumed for the step without the profiler" in text
    assert "already waiting in the queue" not in text
    said = re.search(rf"eager: {measured_us:.1f} µs in the trace, and (.*) gaps of 1.02 µs\.", text)
    # With the gap before the first kernel of all, once in five steps.
    assert said is not None and float(said[1]) == pytest.approx(n_late + 0.2, abs=0.05)
    assert "reduce-overhead:" not in text  # it idles for nothing


def test_a_gap_that_the_profiler_made_costs_the_devices_own_gap():
    """Nine gaps of 9 µs wait for a slowed host; unprofiled the step is kernels and 1.2 µs each."""
    n, busy, profiled_gap, own_gap = 10, 20_000, 9_000, 1_200
    starts = [k * (busy + profiled_gap) for k in range(n)]
    summary = summarise(
        a_trace(
            annotations=[step(0, 0, starts[-1] + busy)],
            runtime=[launch(start, 0 if k == 0 else 10, k + 1) for k, start in enumerate(starts)],
            device=[kernel(start, busy, k + 1) for k, start in enumerate(starts)],
        )
    )
    assert (summary.n_late_gaps, summary.own_gap_ns) == (n - 1, own_gap)
    total = n * busy + (n - 1) * own_gap
    shares = step_shares(summary, total, "unprofiled")
    assert shares["idle_between_kernels"] == (n - 1) * own_gap
    assert sum(ns for key, ns in shares.items() if key.startswith("idle_host")) == 0
    # A host that is late without the profiler, too: what is beyond the device's gap is its doing.
    late = step_shares(summary, total + 50_000, "unprofiled")
    assert late["idle_between_kernels"] == (n - 1) * own_gap
    assert sum(ns for key, ns in late.items() if key.startswith("idle_host")) == 50_000
    profiled = step_shares(summary, summary.window_ns, "profiled")
    assert profiled["idle_between_kernels"] == 0


def test_idle_time_that_only_the_unprofiled_step_has_is_called_that():
    """A bare "idle" stood beside "idle: between kernels": kernels in a row, then a longer step."""
    trace = a_trace(
        annotations=[step(0, 0, 21_000)],
        runtime=[launch(0, 10, 1), launch(10, 10, 2)],
        device=[kernel(0, 10_000, 1), kernel(11_000, 10_000, 2)],
    )
    summaries = (summarise(trace),) * 2
    rows = {row.key: row for row in waterfall(summaries, (26_000, 21_000)).rows}
    assert (rows["idle_between_kernels"].baseline_ns, "idle" in rows) == (1_000, False)
    row = rows["idle_beyond_profile"]
    assert (row.label, row.baseline_ns, row.estimated) == (
        "idle: only without the profiler", 5_000, False,
    )  # fmt: skip
    assert "in the profiled steps" in what_it_is(row, ("eager", "default"))


@pytest.mark.parametrize(("baseline", "candidate"), INFERENCE + TRAINING)
def test_sums_exactly_on_the_unprofiled_clock(baseline, candidate):
    records = [open_run(CAPTURES / name).record for name in (baseline, candidate)]
    times = tuple(step_time_ns(record.measurement) for record in records)
    summaries = tuple(
        summarise(side(CAPTURES / name).trace, record.measurement)
        for name, record in zip((baseline, candidate), records, strict=True)
    )
    check(waterfall(summaries, times, ledger(CAPTURES / baseline, CAPTURES / candidate)))


@pytest.mark.parametrize(("baseline", "candidate"), SMALL)
@pytest.mark.parametrize("times", [None, (7_000_000.4, 6_000_000.5)])
def test_bars_open_into_whole_parts(baseline, candidate, times):
    """Every bar of device work opens, and to the nanosecond; a group may be in several bars."""
    summaries = tuple(summarise(side(FIXTURES / name).trace) for name in (baseline, candidate))
    groups = ledger(FIXTURES / baseline, FIXTURES / candidate)
    seen: dict[int, list[int]] = {}
    for row in waterfall(summaries, times, groups).rows:
        parts = open_bar(row)
        if row.key not in WORK_CLASSES:
            assert parts == ()
            continue
        assert sum(part.baseline_ns for part in parts) == row.baseline_ns
        assert sum(part.candidate_ns for part in parts) == row.candidate_ns
        assert all(part.group is not None for part in parts)
        changes = [abs(part.delta_ns) for part in parts]
        assert changes == sorted(changes, reverse=True)
        for part in parts:
            seen.setdefault(part.group, []).append(part.baseline_ns)
    assert set(seen) == set(range(len(groups.groups)))
    for number, shares in seen.items():
        whole = groups.groups[number].baseline.time_ns / groups.n_baseline_steps
        assert sum(shares) == pytest.approx(whole, abs=len(shares))


def test_a_bar_with_work_that_the_ledger_lacks_says_so():
    parts = (GroupPart(0, 10.4, 5.0), GroupPart(1, 10.4, 9.0))
    row = WaterfallRow("pointwise", "", 1021, 14, groups=parts)
    assert open_bar(row)[-1] == BarPart(None, 1000, 0)
    assert sum(part.baseline_ns for part in open_bar(row)) == 1021
    assert open_bar(WaterfallRow("idle", "idle", 5, 6)) == ()


def test_on_a_cpu_the_bars_are_the_profiled_times_brought_to_the_unprofiled_step():
    """The profiler slows operators there: their sum may be longer than a whole unprofiled step."""
    names = ("smallcnn_cpu.eager", "smallcnn_cpu.default")
    summaries = tuple(summarise(side(CPU_CAPTURES / name).trace) for name in names)
    profiled = [summary.window_ns / summary.n_steps for summary in summaries]
    times = (profiled[0] / 4, profiled[1] / 2)
    result = waterfall(summaries, times, ledger(*(CPU_CAPTURES / name for name in names)))
    check(result)
    rows = {row.key: row for row in result.rows}
    assert "clocks" not in rows
    convolutions = summaries[0].by_category["conv"].time_ns / summaries[0].n_steps
    assert rows["gemm_conv"].baseline_ns >= round(convolutions / 4)
    assert rows["idle"].baseline_ns == pytest.approx(
        summaries[0].idle_ns / summaries[0].n_steps / 4, abs=2
    )
    # The overview's bar says the same.
    for summary, step_ns, name in zip(
        summaries, times, ("baseline_ns", "candidate_ns"), strict=True
    ):
        parts = step_parts(summary, step_ns, "unprofiled")
        assert sum(parts.by_category.values()) + parts.idle_ns == pytest.approx(step_ns)
        assert parts.idle_ns == pytest.approx(getattr(rows["idle"], name), abs=2)
        assert parts.idle_ns / step_ns == pytest.approx(1 - summary.busy_fraction)
    assert all(row.estimated for row in result.rows)
    assert "× 0.25 in the baseline and × 0.50 in the candidate" in " ".join(result.notes)


def test_an_unprofiled_step_on_a_cpu_may_take_longer_than_a_profiled_one():
    """smallcnn_cpu: × 1.33 in the baseline, beside “the profiler slows a CPU's operators”."""
    names = ("smallcnn_cpu.eager", "smallcnn_cpu.default")
    summaries = tuple(summarise(side(CPU_CAPTURES / name).trace) for name in names)
    times = tuple(1.33 * summary.window_ns / summary.n_steps for summary in summaries)
    result = waterfall(summaries, times, ledger(*(CPU_CAPTURES / name for name in names)))
    (note,) = (note for note in result.notes if "× 1.33 in the baseline" in note)
    assert note.startswith("A CPU's operators take another time under the profiler")
