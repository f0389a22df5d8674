"""Operators with what they launched, against loops over every call and every launch."""

import json
from collections import Counter
from dataclasses import replace

import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.finding_rules.op_work import PRODUCTS, op_work, product_work
from profiler_core.analysis.work import device_work
from profiler_core.ingest.open import open_trace
from profiler_core.resources import sample_traces_directory
from tests.builders import a_trace, kernel, launch, op
from tests.reference import ns, read_events


def test_calls_and_times_are_those_of_plain_loops():
    trace = open_trace(sample_traces_directory() / "simplecnn-training/default/trace.json.gz")
    launches = [row for row in device_work(trace).iter_rows(named=True) if row["launch_ts_ns"]]
    expected: Counter[tuple[str, str, int]] = Counter()
    for call in trace.ops.iter_rows(named=True):
        if call["name"] not in PRODUCTS:
            continue
        inside = [
            row
            for row in launches
            if (row["launch_pid"], row["launch_tid"]) == (call["pid"], call["tid"])
            and call["ts_ns"] <= row["launch_ts_ns"] <= call["ts_ns"] + call["dur_ns"]
            and row["step"] is not None
        ]
        if inside:
            longest = max(inside, key=lambda row: row["dur_ns"])
            expected[call["name"], longest["name"], sum(row["dur_ns"] for row in inside)] += 1
    assert len(expected) > 10
    work = product_work(trace)
    assert len(work) < sum(expected.values())  # calls on equal arguments are one item
    assert expected == Counter(
        (item.name, item.kernel, time_ns) for item in work for time_ns in item.times_ns
    )


def test_the_time_of_a_product_has_no_bias_layout_or_workspace():
    """A convolution's 17.2 µs with 5.43 of an added bias and 4.81 of layouts were its 27.5 µs."""
    trace = open_trace(sample_traces_directory() / "customcnn/eager/trace.json.gz")
    rows = categorise(trace)
    launches = rows.filter(pl.col("step").is_not_null(), pl.col("launch_ts_ns").is_not_null())
    beside = ("memcpy", "memset", "copy", "elementwise")
    products = launches.filter(~pl.col("category").is_in(beside))
    n_beside = 0
    for item in product_work(trace):
        calls = trace.ops.filter(pl.col("name").cast(pl.String) == item.name)
        inside = [
            products.filter(
                pl.col("launch_tid") == tid, pl.col("launch_ts_ns").is_between(ts, ts + dur)
            )["dur_ns"].sum()
            for tid, ts, dur, dims in calls.select(
                "tid", "ts_ns", "dur_ns", "input_dims"
            ).iter_rows()
            if json.loads(dims) == [list(dim) for dim in item.dims]
        ]
        times = [ns for ns in inside if ns]
        assert sorted(item.product_times_ns) == sorted(times)
        assert item.product_ns == sum(times) <= item.time_ns
        n_beside += item.product_ns < item.time_ns
        first = item.of_calls([0])
        assert first.product_ns == item.product_times_ns[0]
        assert (first.times_ns, first.rows) == (item.times_ns[:1], item.rows[:1])
        # Of a product of kernels that tell nothing it is the whole time.
        unknown = replace(item, product_times_ns=(0, *item.product_times_ns[1:]))
        assert unknown.product_ns == item.time_ns
    assert n_beside


def test_the_time_of_a_product_has_no_gradient_of_a_bias():
    """A gradient of 37.2 µs at 3.05 TFLOP/s took 56.8 at 2.00, with the sum for the bias."""
    path = sample_traces_directory() / "simplecnn-training/eager/trace.json.gz"
    events = read_events(path)
    calls = [event for event in events if event.get("name") == "aten::convolution_backward"]
    launched_at = {
        event["args"]["correlation"]: (event["tid"], event["ts"])
        for event in events
        if event.get("cat") == "cuda_runtime" and "correlation" in event.get("args", {})
    }
    # Memsets, cuDNN's changes of layout, and the sum of PyTorch's own.
    beside = ("Memset", "nchwToNhwcKernel", "nhwcToNchwKernel", "at::native::reduce_kernel")
    expected: Counter[str] = Counter()
    n_sums = 0
    for event in events:
        at = launched_at.get(event.get("args", {}).get("correlation"))
        if event.get("cat") not in ("kernel", "gpu_memset") or at is None:
            continue
        tid, ts = at
        inside = [
            json.dumps(call["args"]["Input Dims"])
            for call in calls
            if call["tid"] == tid and call["ts"] <= ts <= call["ts"] + call["dur"]
        ]
        n_sums += bool(inside) and beside[-1] in event["name"]
        if not any(name in event["name"] for name in beside):
            expected.update(dict.fromkeys(inside, ns(event["dur"])))
    assert n_sums == len(calls) > 0
    of_backward = [
        item for item in product_work(open_trace(path)) if item.name == "aten::convolution_backward"
    ]
    found: Counter[str] = Counter()
    for item in of_backward:
        found[json.dumps([list(dim) for dim in item.dims])] += item.product_ns
    assert found == expected


def test_what_adds_up_the_parts_of_a_product_is_of_it():
    shapes = {"input_dims": "[[4,8],[8,2]]", "concrete_inputs": '["",""]'}
    reduction = "void cublasLt::splitKreduce_kernel<32, 16, int, float>()"
    trace = a_trace(
        ops=[{**op(100, 60, "aten::mm"), **shapes, "input_types": '["float","float"]'}],
        runtime=[launch(105, 1, 1), launch(110, 1, 2)],
        device=[kernel(110, 20, 1, name="a_gemm"), kernel(130, 7, 2, name=reduction)],
    )
    (product,) = product_work(trace)
    assert product.product_ns == 27


def test_an_operator_that_calls_itself_counts_once():
    """Autocast casts and calls `aten::mm` again: it was two products, and conv2d took its double.

    The inner call is the product, which has the types that are computed in; the outer one is the
    operator, with its casts.
    """
    shapes = {"input_dims": "[[4,8],[8,2]]", "concrete_inputs": '["",""]'}
    calls = [
        {**op(100, 60, "aten::mm"), **shapes, "input_types": '["float","float"]'},
        {**op(120, 30, "aten::mm"), **shapes, "input_types": '["c10::Half","c10::Half"]'},
        {**op(200, 60, "aten::mm"), **shapes, "input_types": '["c10::Half","c10::Half"]'},
    ]
    trace = a_trace(
        ops=calls,
        runtime=[launch(105, 1, 1), launch(125, 1, 2), launch(205, 1, 3)],
        device=[
            kernel(110, 5, 1, name="at::native::unrolled_elementwise_kernel<direct_copy>"),
            kernel(130, 20, 2, name="a_gemm"),
            kernel(210, 20, 3, name="a_gemm"),
        ],
    )
    (product,) = product_work(trace)
    assert (product.times_ns, product.flops) == ((20, 20), 2 * 4 * 8 * 2)
    assert product.in_halves
    assert Counter(ns for item in op_work(trace, ["aten::mm"]) for ns in item.times_ns) == {
        25: 1,
        20: 1,
    }


def test_a_convolution_under_autocast_takes_what_its_outer_call_launches():
    """`aten::conv2d` calls itself on the cast tensors: 1.80 ms of kernels were 3.49 ms."""
    folder = sample_traces_directory() / "resnet50-bf16/eager+bf16-autocast+channels_last"
    (path,) = folder.glob("trace.json*")
    events = read_events(path)
    calls = [event for event in events if event.get("name") == "aten::conv2d"]
    launched_at = {
        event["args"]["correlation"]: (event["tid"], event["ts"])
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and "correlation" in event.get("args", {})
    }
    expected = 0
    for event in events:
        at = launched_at.get(event.get("args", {}).get("correlation"))
        if event.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy") and at is not None:
            tid, ts = at
            expected += ns(event["dur"]) * any(
                call["tid"] == tid and call["ts"] <= ts <= call["ts"] + call["dur"]
                for call in calls
            )
    works = op_work(open_trace(path), ["aten::conv2d"])
    assert sum(item.time_ns for item in works) == expected > 0
    assert 2 * sum(len(item.times_ns) for item in works) == len(calls)


def test_a_product_does_not_read_the_result_that_it_is_handed():
    """breaky's `mm.out` read 262 144 values of its result: at least 2.40 µs with addmm, not 2.19.

    `addmm` is handed as many tensors, and reads all of them.
    """
    rows = [
        ("aten::mm", "[[256,1024],[1024,1024],[256,1024]]", '["float","float","float"]'),
        (
            "aten::addmm",
            "[[1024],[256,1024],[1024,1024],[],[]]",
            '["float","float","float","Scalar","Scalar"]',
        ),
    ]
    trace = a_trace(
        ops=[
            {**op(100 * n, 60, name), "input_dims": dims, "input_types": types}
            for n, (name, dims, types) in enumerate(rows, 1)
        ],
        runtime=[launch(105, 1, 1), launch(205, 1, 2)],
        device=[kernel(110, 5, 1, name="a_gemm"), kernel(210, 5, 2, name="a_gemm")],
    )
    factors = 256 * 1024 + 1024 * 1024
    read = {work.name: work.least_bytes(4) for work in product_work(trace)}
    assert read == {"aten::mm": 4 * factors, "aten::addmm": 4 * (factors + 1024)}
