import pytest

from profiler_core.analysis.compare import compare
from profiler_core.analysis.kernel_calls import kernel_calls
from profiler_core.analysis.kernel_sides import kernel_sides
from profiler_core.analysis.shared_categories import sides_of
from profiler_core.analysis.side import make_side
from profiler_core.analysis.summary import summarise
from tests.builders import a_run, a_trace, kernel, launch, op, step

GEMM_BY_NAME = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_warpgroupsize1x1x1__5x_cublas"


def two_steps(*names, api="cudaLaunchKernel", operator=None, graph=False):
    """Each kernel once a step, 100 ns the first time it occurs in it, 300 ns the second time."""
    device, runtime, ops = [], [], []
    for number in (0, 1):
        start = number * 10_000
        for place, name in enumerate(names):
            correlation = number + 1 if graph else number * 100 + place + 1
            dur = 300 if name in names[:place] else 100
            device.append(
                kernel(start + 500 + place * 400, dur, correlation, name=name, grid="[1,1,1]")
            )
            if not graph or place == 0:
                runtime.append(launch(start + place * 5, 5, correlation, name=api))
        if operator:
            ops.append(op(start, 1_000, operator))
    return a_trace(
        annotations=[step(0, 0, 10_000), step(1, 10_000, 10_000)],
        runtime=runtime,
        device=device,
        ops=ops,
    )


def test_rows_are_per_step_and_join_by_name():
    eager = summarise(two_steps("a", "b", "a"))
    compiled = summarise(two_steps("b", "c"))
    rows = {row.name: row for row in kernel_sides([eager, compiled])}
    assert (rows["a"].n(0), rows["a"].time_ns(0)) == (2, 400)
    assert rows["a"].sides[1] is None
    assert (rows["a"].delta_ns(1), rows["b"].delta_ns(1), rows["c"].delta_ns(1)) == (-400, 0, 100)
    side = rows["a"].sides[0]
    assert (side.mean_ns, side.min_ns, side.max_ns) == (200, 100, 300)


def test_the_longest_on_any_side_comes_first():
    rows = kernel_sides([summarise(two_steps("a")), summarise(two_steps("b", "b"))])
    assert [row.name for row in rows] == ["b", "a"]


def test_the_times_of_a_side_sum_to_its_kernel_time():
    summaries = [summarise(two_steps("a", "b", "a")), summarise(two_steps("c", "b"))]
    rows = kernel_sides(summaries)
    for run, summary in enumerate(summaries):
        total = sum(row.time_ns(run) for row in rows)
        assert total == pytest.approx(summary.kernel_time_ns / summary.n_steps)


def test_a_kernel_of_two_operators_is_one_row_where_it_took_the_most_time():
    trace = a_trace(
        annotations=[step(0, 0, 1_000)],
        runtime=[launch(10, 5, 1), launch(110, 5, 2)],
        device=[kernel(20, 100, 1, name="k"), kernel(200, 300, 2, name="k")],
        ops=[op(5, 20, "aten::mm"), op(105, 20, "aten::convolution")],
    )
    summary = summarise(trace)
    assert {total.category for total in summary.kernels} == {"gemm", "conv"}
    (row,) = kernel_sides([summary])
    side = row.sides[0]
    assert (row.category, side.n, side.time_ns) == ("conv", 2, 400)
    assert (side.mean_ns, side.min_ns, side.max_ns) == (200, 100, 300)


def test_a_replayed_kernel_takes_the_category_that_its_operator_has_elsewhere():
    default = summarise(two_steps(GEMM_BY_NAME, operator="aten::convolution"))
    replayed = summarise(two_steps(GEMM_BY_NAME, api="cudaGraphLaunch", graph=True))
    assert set(replayed.by_category) == {"gemm"}
    comparison = compare(
        make_side(a_run(), default), [make_side(a_run(variant="reduce-overhead"), replayed)]
    )
    eager_side, replay_side = sides_of(comparison)
    assert set(replay_side.summary.by_category) == {"conv"}
    assert replay_side.per_step.category_n == {"conv": 1}
    assert [k.category for k in replay_side.summary.kernels] == ["conv"]
    assert replay_side.summary.device_time_ns == replayed.device_time_ns
    assert eager_side.summary is default


def test_a_run_without_a_trace_has_no_side_to_move():
    comparison = compare(make_side(a_run(), None), [make_side(a_run(), None)])
    assert [side.summary for side in sides_of(comparison)] == [None, None]


def test_the_calls_of_a_kernel_name_their_launch_and_the_longest():
    trace = two_steps("a", "b", "a")
    found = kernel_calls(trace, "a")
    assert sorted(found.dur_ns) == [100, 100, 300, 300]
    assert dict(found.by_launch) == {"cudaLaunchKernel": 4}
    assert dict(found.grids) == {"grid [1,1,1], block ?": 4}
    table, row = found.longest
    assert table == "device"
    assert trace.device.row(row, named=True)["dur_ns"] == 300


def test_an_unknown_kernel_has_no_calls():
    found = kernel_calls(two_steps("a"), "<img src=x>")
    assert (found.n, found.longest, dict(found.by_launch)) == (0, None, {})


def test_the_operator_is_the_one_whose_external_id_the_kernel_carries():
    trace = a_trace(
        annotations=[step(0, 0, 1_000)],
        runtime=[launch(10, 5, 1)],
        device=[kernel(20, 5, 1, external_id=7)],
        ops=[{**op(5, 50, "aten::addmm"), "external_id": 7}],
    )
    assert dict(kernel_calls(trace, "a_kernel").by_operator) == {"aten::addmm": 1}


def test_on_the_cpu_the_longest_call_is_the_operator_itself():
    trace = a_trace(
        annotations=[step(0, 0, 1_000)],
        ops=[op(5, 50, "aten::addmm"), op(100, 80, "aten::addmm")],
    )
    assert kernel_calls(trace, "aten::addmm").longest == ("ops", 1)
