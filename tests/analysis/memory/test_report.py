"""Peaks of a run that has a run.json alone, and what a run with CUDA graphs cannot say."""

import gzip
import json
import pickle
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from profiler_core.analysis.memory.comparison import Held, MemoryComparison, compare_memory
from profiler_core.analysis.memory.peak import peak_memory
from profiler_core.analysis.memory.report import memory_report
from profiler_core.analysis.memory.segments import Pool
from profiler_core.analysis.span import IN_TRACE
from profiler_core.analysis.wording.memory import amounts, bound, headline, through
from profiler_core.model.run import Measurement
from profiler_core.model.tally import CUT_SHORT
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run
from profiler_core.units import format_bytes
from tests.builders import a_trace, kernel, step

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
CAPTURES = SAMPLES.parent / "tests" / "fixtures" / "captures"


def test_a_peak_that_run_json_alone_knows():
    """A Recorder's run on the CPU has an allocated peak, no reserved one, and no [memory] event."""
    measured = Measurement(peak_allocated_bytes=40_000)
    report = memory_report(None, measurement=measured)
    assert (report.peaks.reserved_bytes, report.peaks.allocated_bytes) == (None, 40_000)
    assert not report.is_empty
    peak = peak_memory(None, measured)
    assert (peak.peak_allocated_bytes, peak.source) == (40_000, "measured")
    assert memory_report(None, measurement=Measurement()).is_empty


def test_a_peak_of_the_profiled_steps_that_run_json_alone_knows():
    """A job that was captured without the memory pass: the page said that nothing is known."""
    measured = Measurement(
        profiled_peak_allocated_bytes=40_000, profiled_peak_reserved_bytes=2_000_000
    )
    report = memory_report(None, measurement=measured)
    assert (report.peaks.reserved_bytes, report.peaks.allocated_bytes) == (2_000_000, 40_000)
    assert not report.is_empty
    peak = peak_memory(None, measured)
    assert (peak.peak_allocated_bytes, peak.peak_reserved_bytes) == (40_000, 2_000_000)
    assert peak.source == "profiled"


def test_a_trace_that_is_cut_is_not_told_to_be_recorded_otherwise():
    """Its events may have been in what is missing."""
    whole = a_trace(annotations=[step(0, 0, 1000)], device=[kernel(10, 5, 0)])
    assert "record it with profile_memory=True" in memory_report(whole).no_curve
    events = [{"ts_ns": 1, "bytes": 4, "device_type": 1, "device_id": 0}]
    without_totals = a_trace(annotations=[step(0, 0, 1000)], memory=events)
    assert "not what was held in all" in memory_report(without_totals).no_curve
    cut = replace(whole, tally=replace(whole.tally, repairs={CUT_SHORT: 1}))
    assert "profile_memory" not in memory_report(cut).no_curve


def test_peaks_of_a_trace_without_steps_are_of_the_whole_trace():
    whole = Run.open(SAMPLES / "simplecnn-training" / "eager").trace
    assert memory_report(whole).peaks.source == "the [memory] events of the profiled steps"
    unmarked = whole.annotations.filter(
        ~pl.col("name").cast(pl.String).str.starts_with("ProfilerStep")
    )
    report = memory_report(replace(whole, annotations=unmarked))
    assert report.peaks.source == "the [memory] events of the whole trace"


def test_a_part_of_a_step_is_not_told_per_step():
    whole = Run.open(SAMPLES / "simplecnn-training" / "eager").trace
    assert memory_report(whole).churn.n > 0
    report = memory_report(replace(whole, tally=replace(whole.tally, repairs={CUT_SHORT: 1})))
    assert report.curve is not None
    assert report.churn is None
    assert [note for note in report.notes if "what a step allocates is not known" in note]


@pytest.mark.parametrize("mode", ["eager", "default", "reduce-overhead"])
def test_what_was_there_before_is_not_told_beside_cuda_graphs(mode):
    """The events of the replaying run know of 5 MB, and 151 MB lie in its graphs' pools."""
    report = Run.open(SAMPLES / "simplecnn-training" / mode).memory
    assert report.live is not None
    if mode == "reduce-overhead":
        assert report.segments.private_bytes > 100e6
        assert (report.before_bytes, report.made_by_step_bytes) == (None, None)
        assert replace(report, replays=False).before_bytes == report.live.before_bytes < 10e6
    else:
        assert report.before_bytes == report.live.before_bytes > 50e6
        assert report.made_by_step_bytes == report.live.peak_bytes - report.live.before_bytes


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_what_moved_to_a_private_pool_has_not_vanished(mode):
    """Of the replaying run's steps, the events hold what lies outside of its graphs alone."""
    eager = Run.open(SAMPLES / "simplecnn-training" / "eager")
    pair = Comparison([eager, Run.open(SAMPLES / "simplecnn-training" / mode)]).pairs[0]
    if mode == "default":
        assert pair.memory.vanished is not None
        assert pair.memory.problem is None
    else:
        assert pair.memory.vanished is None
        assert "moved to a graph's private pool" in pair.memory.problem


def test_what_was_there_before_is_not_told_to_be_the_users_alone():
    """34.6 of the 35.2 MB that breaky holds are workspaces of cuBLAS, which CUDA graphs move."""
    pair = Comparison(
        [Run.open(SAMPLES / "breaky" / variant) for variant in ("eager", "default")]
    ).pairs[0]
    said = bound(pair.memory, ("eager", "default"))[0]
    assert "optimizer state, workspaces of libraries), and fusion does not change it" in said


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (119_510_000, "default reserves as much as eager: 120 MB."),
        (
            117_440_512,
            "default reserves about as much as eager at its peak: 117 MB against 120 MB.",
        ),
        (110_000_000, "default reserves 8 % less at its peak: 110 MB against 120 MB."),
    ],
)
def test_peaks_are_equal_where_they_read_the_same(after, told):
    """120 → 117 MB, −2 % in the table, was "as much: 117 MB" above it."""
    comparison = MemoryComparison(
        "reserved", (119_537_664, after), None, (None, None), 0, None, None
    )
    assert headline(comparison, ("eager", "default")) == told


def test_a_smaller_peak_says_through_which_parts():
    """−37 % was told, and not that eager's activations, workspaces and free segments went."""
    runs = [SAMPLES / "dynshape" / variant for variant in ("eager", "reduce-overhead")]
    opened = [Run.open(run) for run in runs]
    memory_of = [run.memory for run in opened]
    memory = Comparison(opened).pairs[0].memory
    eager, replayed = memory.held
    measured = [json.loads((run / "run.json").read_text())["measurement"] for run in runs]
    reserved = [each["peak_reserved_bytes"] for each in measured]
    for held, peak in zip(memory.held, reserved, strict=True):
        assert held.made_bytes + held.before_bytes + held.free_bytes + held.pool_bytes == peak
    assert eager.made_bytes + eager.before_bytes == measured[0]["peak_allocated_bytes"]
    segments = pickle.loads((runs[1] / "memory_snapshot.pickle").read_bytes())["segments"]
    in_pools = [each for each in segments if tuple(each["segment_pool_id"]) != (0, 0)]
    assert replayed.pool_bytes == sum(each["total_size"] for each in in_pools)
    in_use = sum(each["allocated_size"] for each in segments if each not in in_pools)
    assert replayed.before_bytes == in_use
    shown = amounts(memory_of[1])
    assert shown == (f"{format_bytes(in_use)} outside of pools", "0 B outside of pools")
    assert amounts(memory_of[0]) == ("39.5 MB", "45.2 MB")
    assert through(memory) == (
        "The difference: 45.2 MB less allocated by the step, 34.6 MB less in use since before it "
        "(outside of pools) and 31.4 MB less held free, against 67.1 MB more in private pools of "
        "CUDA graphs."
    )


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (Held(30, 50, 20, 0), ""),  # the same peak
        (Held(20, 49, 20, 0), "The difference: 10 B less allocated by the step and 1 B less in use "
         "since before it."),
        (Held(0, 50, 20, 50), "The difference: 50 B more in private pools of CUDA graphs, against "
         "30 B less allocated by the step."),
        (Held(90, 50, 19, 0), "The difference: 60 B more allocated by the step, against 1 B less "
         "held free."),
        (Held(60_000, 51, 20, 0), "The difference: 60.0 kB more allocated by the step."),  # not 1 B
        (Held(15, 62, 26, 0), "The difference: 12 B more in use since before it and 6 B more held "
         "free, against 15 B less allocated by the step."),  # without the 6 B it is 3 B less
        # bert's pair of bare traces: 94.4 MB more were told of 90.2.
        (Held(30 - 4_194_304, 50, 20 + 94_371_840, 0), "The difference: 94.4 MB more held free, "
         "against 4.19 MB less allocated by the step."),
    ],
)  # fmt: skip
def test_parts_of_a_difference_are_told_the_largest_first(after, told):
    before = Held(30, 50, 20, 0)
    peaks = 100, sum((after.made_bytes, after.before_bytes, after.free_bytes, after.pool_bytes))
    comparison = MemoryComparison(
        "reserved", peaks, None, (None, None), 0, None, None, held=(before, after)
    )
    assert through(comparison) == told


def test_both_sides_of_a_difference_are_of_the_allocated_peak():
    """26.3 MB less by the step were told, which still makes 602 kB beside its graph.

    The snapshot is taken after the step, when they are free again.
    """
    runs = [Run.open(CAPTURES / f"customcnn_b1.{name}") for name in ("eager", "reduce-overhead")]
    eager, replayed = (run.memory for run in runs)
    assert replayed.replays
    # As the snapshot of that capture has them, which is too large for a fixture.
    free, reserved = 23_660_544, 119_537_664
    segments = replace(
        Run.open(SAMPLES / "dynshape" / "reduce-overhead").memory.segments,
        reserved_bytes=reserved,
        split_free_bytes=free,
        whole_free_bytes=0,
        pools=(Pool("private 0.1", True, 8, 94_371_840, 0),),
    )
    memory = compare_memory(eager, replace(replayed, segments=segments))
    _, after = memory.held
    events = json.loads(gzip.decompress((runs[1].path / "trace.json.gz").read_bytes()))
    made = {
        event["args"]["Bytes"]
        for event in events["traceEvents"]
        if event["name"] == "[memory]" and event["args"]["Bytes"] > 0
    }
    assert {after.made_bytes} == made == {602_112}  # one at a time
    assert after.free_bytes == free - 602_112
    assert after.before_bytes + after.made_bytes == replayed.peaks.allocated_bytes
    assert through(memory) == (
        "The difference: 94.4 MB more in private pools of CUDA graphs and 12.1 MB more held free, "
        "against 34.6 MB less in use since before it (outside of pools) and 25.7 MB less "
        "allocated by the step."
    )


def test_the_most_that_profiled_steps_make_reads_as_in_the_table():
    """ "at most 31.0 MB and 60.5 MB" stood above "Made by the step" 30.9 and 60.4."""
    runs = [
        Run.open(CAPTURES / f"dynshape.{name}").memory for name in ("default", "default+static")
    ]
    said = bound(compare_memory(*runs), ("default", "default+static"))[-1]
    made = [format_bytes(run.made_by_step_bytes) for run in runs]
    assert made == ["60.4 MB", "30.9 MB"]
    assert f"at most {made[0]} in default and {made[1]} in default+static: " in said


def test_a_peak_of_other_inputs_than_the_profiled_ones_is_told_apart():
    """ "146 MB are made by the step" stood above a table in which the step makes 60.4 MB."""
    runs = [Run.open(SAMPLES / "dynshape" / run).memory for run in ("eager", "default")]
    assert compare_memory(*runs).of_profiled_bytes == (None, None)
    eager, default = runs
    larger = replace(eager.peaks, allocated_bytes=eager.peaks.allocated_bytes + 100_000_000)
    comparison = compare_memory(replace(eager, peaks=larger), default)
    assert comparison.of_profiled_bytes == (eager.made_by_step_bytes, None)
    assert bound(comparison, ("eager", "default"))[-1] == (
        "The profiled steps make at most 45.2 MB in eager: the peak is of steps without the "
        "profiler, which had other inputs."
    )


def test_parts_are_not_told_where_the_snapshot_was_not_taken_at_the_peak():
    runs = [Run.open(SAMPLES / "dynshape" / run) for run in ("eager", "reduce-overhead")]
    eager, replayed = (run.memory for run in runs)
    less = replace(replayed.segments, reserved_bytes=replayed.segments.reserved_bytes - 2**21)
    assert compare_memory(eager, replayed).held is not None
    comparison = compare_memory(eager, replace(replayed, segments=less))
    assert comparison.held is None
    assert through(comparison) == ""


def test_what_a_trace_without_steps_makes_is_not_held_against_a_step():
    """ "353 MB are made by the step" stood above a table that knew no step of that trace."""
    eager, default = (Run.open(SAMPLES / "dynshape" / run).memory for run in ("eager", "default"))
    assert compare_memory(eager, default).held is not None
    comparison = compare_memory(replace(eager, span=IN_TRACE), default)
    assert comparison.held is None
    assert comparison.there_before is None
    assert comparison.of_step_bytes == comparison.of_profiled_bytes == (None, None)
    assert (through(comparison), bound(comparison, ("eager", "default"))) == ("", ())
    assert headline(comparison, ("eager", "default")).startswith("default ")


@pytest.mark.parametrize("is_measured", [True, False])
def test_peaks_of_a_cut_trace_compare_where_the_allocator_measured_them(is_measured):
    """*Memory* said "not compared" where *Overview* compared them."""
    whole = Run.open(CAPTURES / "customcnn_b1.eager").required_trace()
    cut = replace(whole, tally=replace(whole.tally, repairs={CUT_SHORT: 1}))
    measured = Measurement(peak_allocated_bytes=40_000, peak_reserved_bytes=2_000_000)
    report = memory_report(cut, measurement=measured if is_measured else None)
    assert report.peaks.is_least is not is_measured
    assert peak_memory(cut, measured if is_measured else None).is_least is not is_measured
    compared = compare_memory(memory_report(None, measurement=measured), report)
    assert compared.peak_bytes == ((2_000_000, 2_000_000) if is_measured else None)
    assert ("Not compared" in headline(compared, ("one", "other"))) is not is_measured


@pytest.mark.parametrize(
    "folder", sorted(SAMPLES.glob("*/reduce-overhead*")), ids=lambda folder: folder.parent.name
)
def test_what_lies_outside_of_pools_is_the_allocated_peak(folder):
    """By what the allocator measured and by the snapshot as a plain pickle."""
    report = Run.open(folder).memory
    outside = report.outside_pools
    peak = json.loads((folder / "run.json").read_text())["measurement"]["peak_allocated_bytes"]
    assert outside.before_bytes + outside.made_bytes == peak
    segments = pickle.loads((folder / "memory_snapshot.pickle").read_bytes())["segments"]
    in_common = [each for each in segments if tuple(each["segment_pool_id"]) == (0, 0)]
    assert outside.before_bytes == sum(each["allocated_size"] for each in in_common)
    held = sum(each["total_size"] for each in in_common)
    assert held == outside.before_bytes + outside.made_bytes + outside.free_bytes


def test_what_steps_without_events_make_outside_of_pools_is_what_the_peak_has_more():
    report = Run.open(SAMPLES / "dynshape" / "reduce-overhead").memory
    assert report.live is None
    peaks = replace(report.peaks, allocated_bytes=report.outside_pools.before_bytes + 512)
    assert replace(report, peaks=peaks).outside_pools.made_bytes == 512
    assert replace(report, is_cut=True).outside_pools is None
