from profiler_core.timeline.build import build_index
from profiler_core.timeline.event import event
from profiler_core.timeline.index import open_index
from tests.builders import a_trace, kernel, launch, op, step


def a_traced_step(tmp_path):
    trace = a_trace(
        annotations=[step(3, 0, 1000)],
        ops=[
            op(100, 300, "aten::linear"),
            {**op(110, 200, "aten::addmm"), "input_dims": "[[8,4]]", "input_types": '["float"]'},
        ],
        runtime=[launch(150, 20, 1), launch(500, 20, 2, name="cudaGraphLaunch")],
        device=[
            kernel(1200, 400, 1, name="gemm", grid="[4,1,1]", block="[128,1,1]"),
            kernel(1700, 100, 2),
            kernel(1900, 50, 2),
            kernel(5, 3),
        ],
    )
    build_index(trace, tmp_path / "index")
    return trace, open_index(tmp_path / "index")


def test_a_kernel_knows_its_launch_its_operators_and_the_step_that_launched_it(tmp_path):
    trace, index = a_traced_step(tmp_path)
    found = event(trace, index, "device", 1)
    assert found.name == "gemm"
    assert (found.launch_name, found.launch_delay_ns) == ("cudaLaunchKernel", 1200 - 170)
    assert found.operators == ("aten::linear", "aten::addmm")
    assert (found.input_dims, found.input_types) == ("[[8,4]]", '["float"]')
    assert (found.step.name, found.start_in_step_ns) == ("ProfilerStep#3", 1200)
    assert (found.grid, found.block) == ("[4,1,1]", "[128,1,1]")
    (link,) = found.links
    assert (link.from_ns, link.to_ns, link.to_lane) == (170, 1200, found.lane)


def test_a_graph_launch_points_at_all_that_it_launched(tmp_path):
    trace, index = a_traced_step(tmp_path)
    found = event(trace, index, "runtime", 1)
    assert (found.n_launched, found.launched_ns) == (2, 150)
    assert [link.to_ns for link in found.links] == [1700, 1900]


def test_an_operator_knows_what_was_launched_inside_it(tmp_path):
    trace, index = a_traced_step(tmp_path)
    found = event(trace, index, "ops", 0)
    assert (found.n_launched, found.launched_ns) == (1, 400)


def test_a_kernel_without_launch_says_nothing_about_it(tmp_path):
    trace, index = a_traced_step(tmp_path)
    found = event(trace, index, "device", 0)
    assert found.launch_name is found.launch_delay_ns is None
    assert found.operators == ()
    assert found.links == ()


def test_a_row_that_is_not_there_is_no_event(tmp_path):
    trace, index = a_traced_step(tmp_path)
    assert event(trace, index, "device", 99) is None
    assert event(trace, index, "memory", 0) is None


def test_a_device_event_is_in_the_step_that_counts_it_wherever_it_starts(tmp_path):
    """An event from before the profiler was "into step 3", which had begun on the host."""
    trace = a_trace(
        annotations=[step(3, 100, 100), step(4, 210, 90)],
        runtime=[launch(50, 5, 1), launch(150, 5, 2), launch(205, 1, 3), launch(310, 5, 4)],
        device=[
            kernel(120, 5),
            kernel(130, 5, 1),
            kernel(220, 5, 2),
            kernel(230, 5),
            kernel(240, 5, 3),
            kernel(320, 5, 4),
        ],
        gpu_annotations=[{**kernel(220, 5), "name": "ProfilerStep#3"}],
    )
    build_index(trace, tmp_path / "index")
    index = open_index(tmp_path / "index")
    events = [event(trace, index, "device", row) for row in range(6)]
    assert [found.step and found.step.name for found in events] == [
        None,
        None,
        "ProfilerStep#3",  # inside step 4's range
        "ProfilerStep#3",  # without a launch: as the event before it
        "ProfilerStep#3",  # launched between the two
        None,
    ]
    assert [found.uncounted for found in events] == [
        "launched before the trace",
        "launched before the steps",
        None,
        None,
        None,
        "launched after",
    ]
    assert event(trace, index, "gpu_annotations", 0).step is None


def test_without_steps_an_event_from_before_the_profiler_is_not_counted(tmp_path):
    trace = a_trace(
        runtime=[launch(10, 5, 1)], device=[kernel(5, 5), kernel(20, 5, 1), kernel(30, 5)]
    )
    build_index(trace, tmp_path / "index")
    index = open_index(tmp_path / "index")
    events = [event(trace, index, "device", row) for row in range(3)]
    assert [found.step for found in events] == [None] * 3
    assert [found.uncounted for found in events] == ["launched before the trace", None, None]
