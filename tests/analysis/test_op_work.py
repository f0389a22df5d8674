"""Operators with what they launched, against loops over every call and every launch."""

from collections import Counter

from profiler_core.analysis.categories import PRODUCT_CATEGORIES, categorise
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


def test_a_kernel_s_own_time_is_known_where_no_other_computes_a_part_of_its_product():
    """The gradients of a convolution are two kernels, unless one of them is not needed."""
    trace = open_trace(sample_traces_directory() / "simplecnn-training/eager/trace.json.gz")
    rows = categorise(trace)
    durations, categories = rows["dur_ns"].to_list(), rows["category"].to_list()
    known = {"aten::convolution": 0, "aten::convolution_backward": 0}
    for item in op_work(trace, known):
        own_ns = sum(durations[row] for row in item.rows)
        if item.kernel_ns is None:
            continue
        known[item.name] += 1
        assert item.kernel_ns == own_ns <= item.time_ns
        assert {categories[row] for row in item.rows} <= set(PRODUCT_CATEGORIES)
    # The first convolution's input needs no gradient, so that its weight's is all of the product.
    assert known == {"aten::convolution": 2, "aten::convolution_backward": 1}
