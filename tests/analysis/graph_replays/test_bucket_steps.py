"""Modules and operators of a server's steps by phase and batch size, against plain JSON."""

import gzip
import json
from bisect import bisect_right
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

from profiler_core.analysis.graph_replays.bucket_steps import bucket_steps
from profiler_core.analysis.graph_replays.join import replayed_calls
from profiler_core.analysis.graph_replays.phases import server_phases
from profiler_core.analysis.work import device_work
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.divided import divided_bucket
from profiler_core.session.run import Run
from tests.analysis.graph_replays.test_own_server import LOOP
from tests.analysis.graph_replays.test_phases import served

BATCHES = (1, 4, 16)


@pytest.fixture(scope="module")
def run() -> Run:
    return Run.open(LOOP)


def device_ns_in_json() -> tuple[Counter[str], Counter[str]]:
    """Device time and number of device events by the annotation of the step that launched them."""
    (path,) = set(LOOP.glob("*.json.gz")) - {LOOP / "truth.json.gz"}
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    steps = sorted(
        (event["ts"], event["name"])
        for event in events
        if event.get("cat") == "user_annotation" and event["name"].startswith("execute_")
    )
    launched = {
        event["args"]["correlation"]: event["ts"]
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and "correlation" in event.get("args", {})
    }
    times: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            ts = launched[event["args"]["correlation"]]
            name = steps[bisect_right(steps, (ts, "~")) - 1][1].split("_")[1]
            times[name] += round(1000 * event["dur"])
            numbers[name] += 1
    return times, numbers


def test_each_batch_has_the_time_and_the_kernels_that_plain_json_has(run: Run) -> None:
    times, numbers = device_ns_in_json()
    assert [bucket for _, bucket in run.server_buckets] == list(BATCHES)
    for batch in BATCHES:
        divided = run.divided_of(("decode", batch))
        root = divided.modules.root.sides[1]
        n_events = root.n_kernels + root.n_copies
        assert (root.time_ns, n_events) == (times[str(batch)], numbers[str(batch)])
        assert sum(row.time_ns[1] for row in divided.operators) == root.time_ns


def test_the_batches_of_each_module_and_operator_sum_to_all_steps(run: Run) -> None:
    parts = [run.divided_of(bucket) for bucket in run.server_buckets]
    for row in run.divided.modules.rows:
        in_parts = [
            other.sides[1]
            for part in parts
            for other in part.modules.rows
            if other.path == row.path
        ]
        assert sum(side.time_ns for side in in_parts) == row.sides[1].time_ns, row.path
        assert sum(side.n_kernels for side in in_parts) == row.sides[1].n_kernels, row.path
    whole = {row.op: row.time_ns[1] for row in run.divided.operators}
    sums: Counter[str] = Counter()
    for part in parts:
        sums.update({row.op: row.time_ns[1] for row in part.operators})
    assert sums == whole
    assert [part.modules.root.n_steps[1] for part in parts] == [3, 4, 5]


def test_a_pair_faces_batch_by_batch(run: Run) -> None:
    pair = Comparison.open([LOOP, LOOP]).pairs[0]
    assert pair.server_buckets == run.server_buckets
    divided = pair.divided_of(("decode", 4))
    before, after = divided.modules.root.sides
    assert (
        before.time_ns
        == after.time_ns
        == run.divided_of(("decode", 4)).modules.root.sides[1].time_ns
    )


def test_steps_that_a_run_lacks_are_refused_with_those_that_it_has(run: Run) -> None:
    with pytest.raises(NothingToAnalyse) as refused:
        divided_bucket((run, run), ("prefill", 8))
    assert "prefill, 8" in refused.value.problem
    assert "decode, 16" in refused.value.remedy


def test_steps_between_those_of_a_batch_are_not_its() -> None:
    small, large = "step[DECODE bs=8]", "step[DECODE bs=16]"
    trace = served([(small, 100, 7, False), (large, 100, 50, False), (small, 100, 9, True)])
    cut = bucket_steps(trace, ("decode", 8))
    assert device_work(cut)["dur_ns"].to_list() == [7, 9]
    assert device_work(cut)["step"].to_list() == [0, 1]
    cut = bucket_steps(trace, ("decode", 16))
    assert device_work(cut).filter(pl.col("step").is_not_null())["dur_ns"].to_list() == [50]


def test_what_is_launched_after_the_last_step_is_of_that_step_as_in_its_phase() -> None:
    trace = served([("step[DECODE bs=8]", 100, 7, False)])
    late = replace(
        trace,
        runtime=trace.runtime.with_columns(ts_ns=pl.lit(500, pl.Int64)),
        device=trace.device.with_columns(ts_ns=pl.lit(600, pl.Int64)),
    )
    (phase,) = server_phases(late)
    assert phase.kernel_ns == 7
    assert device_work(bucket_steps(late, phase.bucket))["step"].to_list() == [0]


def test_replayed_kernels_keep_the_calls_that_all_steps_told_apart(run: Run) -> None:
    trace = run.trace
    assert trace is not None
    n = sum(replayed_calls(bucket_steps(trace, own)).calls.height for own in run.server_buckets)
    assert n == replayed_calls(trace).calls.height > 0
