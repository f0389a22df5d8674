from dataclasses import replace
from itertools import pairwise

import numpy as np

from profiler_core.analysis.memory.allocations import allocations
from profiler_core.analysis.memory.churn import churn
from profiler_core.analysis.memory.curve import MemoryCurve, decimated, memory_curves
from profiler_core.analysis.memory.live import live_at_peak
from tests.analysis.traces import trace_of
from tests.builders import MAIN, a_trace, kernel, launch, op, step
from tests.larger import LARGER


def event(ts, size, total, address, reserved=1000, device=(1, 0), tid=MAIN):
    return {
        "ts_ns": ts, "bytes": size, "total_allocated_bytes": total, "addr": address, "tid": tid,
        "total_reserved_bytes": reserved, "device_type": device[0], "device_id": device[1],
    }  # fmt: skip


def two_steps():
    """100 B of weights; each step makes 30 for an add, 50 for a kernel; the add's is freed."""
    memory, ops, runtime, device = [], [], [], []
    for n, t in ((0, 0), (1, 100)):
        memory += [
            event(t + 10, 30, 130, 0xA),
            event(t + 40, 50, 180, 0xB, reserved=2000),
            event(t + 60, -30, 150, 0xA),
            event(t + 70, -50, 100, 0xB),
        ]
        ops += [op(t + 5, 20, "aten::add"), op(t + 7, 5, "aten::empty")]
        runtime += [launch(t + 20, 2, 10 * n + 1), launch(t + 50, 2, 10 * n + 2)]
        device += [
            kernel(t + 25, 5, 10 * n + 1, name="add_kernel"),
            kernel(t + 55, 5, 10 * n + 2, name="triton_poi_fused_0"),
        ]
    return a_trace(
        annotations=[step(3, 0, 95), step(4, 100, 95)],
        memory=memory,
        ops=ops,
        runtime=runtime,
        device=device,
    )


def test_a_curve_starts_at_the_level_before_its_first_event():
    (curve,) = memory_curves(two_steps())
    assert curve.ts_ns.tolist()[:4] == [0, 10, 40, 60]
    assert curve.allocated_bytes.tolist() == [100, 130, 180, 150, 100, 130, 180, 150, 100]
    assert (curve.peak_allocated_bytes, curve.peak_reserved_bytes, curve.peak_ts_ns) == (
        180,
        2000,
        40,
    )
    assert curve.step_ts_ns == (0, 100)


def test_the_step_that_holds_the_most_is_drawn_first():
    """dynshape: its peak of 60.4 MB is in step 5, and the line of step 1 ended at 12 MB."""
    (curve,) = memory_curves(two_steps())
    assert curve.peak_step == 0  # the first of equals
    higher = curve.allocated_bytes.copy()
    higher[6] += 1
    assert replace(curve, allocated_bytes=higher).peak_step == 1
    assert replace(curve, step_ts_ns=()).peak_step == 0
    (captured,) = memory_curves(
        trace_of(LARGER / "captures" / "dynshape.default" / "trace.json.gz")
    )
    totals = captured.allocated_bytes
    each = [
        max(totals[(captured.ts_ns >= begin) & (captured.ts_ns < end)])
        for begin, end in pairwise((*captured.step_ts_ns, captured.ts_ns[-1] + 1))
    ]
    assert captured.peak_step == each.index(max(each)) == 4


def test_a_peak_before_the_first_event_counts():
    events = [event(10, -60, 40, 1), event(20, 10, 50, 2)]
    trace = a_trace(memory=events, device=[kernel(1, 1)])
    assert memory_curves(trace)[0].peak_allocated_bytes == 100


def test_events_outside_of_the_steps_do_not_count():
    trace = a_trace(
        annotations=[step(1, 100, 50)],
        memory=[event(10, 500, 500, 1), event(110, 5, 5, 2), event(200, 900, 905, 3)],
        device=[kernel(110, 1)],
    )
    assert memory_curves(trace)[0].peak_allocated_bytes == 5


def several_devices(**tables):
    return a_trace(
        memory=[
            event(1, 999, 999, 1, reserved=0, device=(0, -1)),
            event(2, 10, 10, 2, device=(1, 0)),
            event(3, 20, 20, 3, device=(1, 1)),
        ],
        **tables,
    )


def test_beside_a_gpu_the_hosts_allocator_does_not_count():
    curves = memory_curves(several_devices(device=[kernel(1, 1)]))
    assert [(c.device_type, c.device_id) for c in curves] == [(1, 1), (1, 0)]


def test_allocations_on_a_gpu_tell_of_it_where_its_kernels_are_missing():
    """A file cut short ends before its kernels, and showed the host's few bytes as the peak."""
    assert [c.device_id for c in memory_curves(several_devices())] == [1, 0]


def test_on_the_cpu_there_is_no_pool():
    held = event(1, 999, 999, 1, reserved=0, device=(0, -1))
    (curve,) = memory_curves(a_trace(memory=[held]))
    assert curve.is_of_cpu
    assert curve.peak_reserved_bytes is None


def test_without_events_there_is_no_curve():
    assert memory_curves(a_trace(annotations=[step(1, 0, 5)])) == ()


def test_an_allocation_is_for_its_operator_or_the_next_kernel():
    made = allocations(two_steps(), 1, 0)
    assert made["operator"].to_list() == ["aten::add", None] * 2
    assert made["kernel"].to_list() == ["add_kernel", "triton_poi_fused_0"] * 2
    assert made["freed_ns"].to_list() == [60, 70, 160, 170]
    assert made["step"].to_list() == [0, 0, 1, 1]


def of_a_cpu(*names):
    """Buffers in, in and after an operator of 5 to 25; the next one runs from 50 to 60."""
    held = [event(t, 10, t, t, reserved=0, device=(0, -1)) for t in (10, 24, 25)]
    inner = op(8, 4, "aten::empty")
    operators = [op(5, 20, names[0]), inner, op(50, 10, names[1])]
    return allocations(a_trace(memory=held, ops=operators), 0, -1)


def test_on_a_cpu_an_allocation_is_for_the_operator_around_it_or_the_next_generated_kernel():
    made = of_a_cpu("aten::conv2d", "graph_0_cpp_fused_relu_1")
    assert made["work_row"].to_list() == [0, 0, 1]
    assert made["operator"].to_list() == ["aten::conv2d"] * 2 + ["graph_0_cpp_fused_relu_1"]


def test_on_a_cpu_whose_generated_kernels_have_no_names_the_next_operator_made_nothing_before():
    made = of_a_cpu("aten::conv2d", "aten::addmm")
    assert made["work_row"].to_list() == [0, 0, None]
    assert made["operator"].to_list() == ["aten::conv2d"] * 2 + [None]


def test_a_kernel_of_the_next_step_is_not_what_an_allocation_is_for():
    trace = a_trace(
        annotations=[step(1, 0, 50), step(2, 50, 50)],
        memory=[event(40, 10, 10, 1)],
        runtime=[launch(60, 2, 1)],
        device=[kernel(65, 5, 1)],
    )
    assert allocations(trace, 1, 0)["kernel"].to_list() == [None]


def test_an_address_that_is_used_again_ends_at_its_own_free():
    trace = a_trace(
        memory=[
            event(1, 10, 10, 7),
            event(2, -10, 0, 7),
            event(3, 20, 20, 7),
            event(4, 30, 50, 8),
        ]
    )
    assert allocations(trace, 1, 0)["freed_ns"].to_list() == [2, None, None]


def test_before_and_live_make_up_the_peak():
    trace = two_steps()
    (curve,) = memory_curves(trace)
    live = live_at_peak(trace, curve, allocations(trace, 1, 0))
    assert (live.peak_bytes, live.before_bytes) == (180, 100)
    assert [(row.operator, row.n, row.bytes) for row in live.rows] == [
        ("triton_poi_fused_0", 1, 50),
        ("aten::add", 1, 30),
    ]


def test_python_frames_name_module_and_line():
    frames = [
        op(0, 90, "/home/me/model.py(12): forward"),
        op(1, 80, "nn.Module: Linear_0"),
        op(2, 70, "torch/nn/modules/linear.py(130): forward"),
        op(3, 2, "/home/me/model.py(99): elsewhere"),
    ]
    trace = a_trace(memory=[event(20, 50, 50, 1)], python=frames, device=[kernel(1, 1)])
    (row,) = live_at_peak(trace, memory_curves(trace)[0], allocations(trace, 1, 0)).rows
    assert (row.module, row.source) == ("Linear_0", "model.py:12 forward")


def test_churn_is_a_step_and_its_rows_sum():
    found = churn(allocations(two_steps(), 1, 0), 2)
    assert (found.n, found.bytes) == (2, 80)
    assert [(row.operator, row.n, row.bytes) for row in found.rows] == [
        ("triton_poi_fused_0", 1, 50),
        ("aten::add", 1, 30),
    ]


def test_decimating_keeps_every_extreme():
    chance = np.random.default_rng(0)
    n = 100_000
    curve = MemoryCurve(
        1, 0, np.arange(n), chance.integers(0, 10**9, n), chance.integers(0, 10**9, n), ()
    )
    small = decimated(curve, 3000)
    assert len(small.ts_ns) <= 3000
    assert small.peak_allocated_bytes == curve.peak_allocated_bytes
    assert small.peak_reserved_bytes == curve.peak_reserved_bytes
    assert small.allocated_bytes.min() == curve.allocated_bytes.min()
    assert small.peak_ts_ns == curve.peak_ts_ns
    assert (np.diff(small.ts_ns) > 0).all()
    assert (small.ts_ns[0], small.ts_ns[-1]) == (0, n - 1)
    assert decimated(small, 5000) is small


def test_shared_memory_of_data_loaders_is_no_memory_of_the_allocator():
    """Events as torch 2.15 writes them for a batch that a worker hands over: never allocated."""
    cpu = {"device": (0, -1)}
    events = [
        event(1, 4096, 0, 10, reserved=4096, **cpu),  # mapped
        event(2, -4096, 0, 20, reserved=0, **cpu),  # the batch before, unmapped
        event(3, 64, 64, 30, reserved=0, **cpu),
        event(4, 256, 320, 40, reserved=0, **cpu),
        event(5, -64, 0, 50, reserved=0, **cpu),
        event(6, -256, 64, 40, reserved=0, **cpu),
        event(7, -64, 0, 30, reserved=0, **cpu),  # the allocator's own last one
    ]
    (curve,) = memory_curves(a_trace(memory=events))
    assert curve.reserved_bytes is None
    assert curve.peak_allocated_bytes == 320
    assert curve.allocated_bytes.tolist() == [0, 64, 320, 64, 0]


def test_a_trace_of_shared_memory_alone_has_no_curve():
    events = [event(1, -16384, 0, 10, reserved=0, device=(0, -1))]
    assert memory_curves(a_trace(memory=events)) == ()
