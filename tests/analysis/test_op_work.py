"""Operators with what they launched, against loops over every call and every launch."""

from collections import Counter

from profiler_core.analysis.finding_rules.op_work import PRODUCTS, op_work
from profiler_core.analysis.work import device_work
from profiler_core.ingest.open import open_trace
from profiler_core.resources import sample_traces_directory


def test_calls_and_times_are_those_of_plain_loops():
    trace = open_trace(sample_traces_directory() / "simplecnn-training/default/trace.json.gz")
    launches = [row for row in device_work(trace).iter_rows(named=True) if row["launch_ts_ns"]]
    expected: Counter[tuple[str, str, int]] = Counter()
    for op in trace.ops.iter_rows(named=True):
        if op["name"] not in PRODUCTS:
            continue
        inside = [
            row
            for row in launches
            if (row["launch_pid"], row["launch_tid"]) == (op["pid"], op["tid"])
            and op["ts_ns"] <= row["launch_ts_ns"] <= op["ts_ns"] + op["dur_ns"]
            and row["step"] is not None
        ]
        if inside:
            longest = max(inside, key=lambda row: row["dur_ns"])
            expected[op["name"], longest["name"], sum(row["dur_ns"] for row in inside)] += 1
    assert len(expected) > 10
    work = op_work(trace, PRODUCTS)
    assert len(work) < sum(expected.values())  # calls on equal arguments are one item
    assert expected == Counter(
        (item.name, item.kernel, time_ns) for item in work for time_ns in item.times_ns
    )
