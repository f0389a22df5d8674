from profiler_core.analysis.summary import summarise
from profiler_core.analysis.work import device_work
from tests.builders import a_trace, find_window, kernel, launch, memset, op, step


def test_a_host_bound_run_is_as_long_as_its_host_ranges():
    trace = a_trace(
        annotations=[step(3, 100, 50), step(4, 160, 40)],
        runtime=[launch(110, 5, 1), launch(170, 5, 2)],
        device=[kernel(120, 10, 1), kernel(180, 10, 2)],
    )
    window = find_window(trace)
    assert (window.start_ns, window.end_ns, window.n_left_over) == (100, 200, 0)
    assert [(s.name, s.ts_ns, s.dur_ns) for s in window.steps] == [
        ("ProfilerStep#3", 100, 50),
        ("ProfilerStep#4", 150, 50),
    ]
    assert (window.steps[1].host_ts_ns, window.steps[1].host_dur_ns) == (160, 40)


def test_a_device_bound_run_is_as_long_as_the_device_needs_for_its_steps():
    trace = a_trace(
        annotations=[step(3, 0, 10), step(4, 10, 10)],
        runtime=[launch(1, 1, 1), launch(11, 1, 2)],
        device=[
            kernel(0, 25),  # launched before the recording: left over, ends at 25
            kernel(30, 40, 1),
            kernel(70, 40, 2),
        ],
    )
    window = find_window(trace)
    assert (window.start_ns, window.end_ns, window.n_left_over) == (25, 110, 1)
    assert [(s.ts_ns, s.dur_ns) for s in window.steps] == [(25, 45), (70, 40)]


def test_device_events_belong_to_the_step_that_launched_them():
    trace = a_trace(
        annotations=[step(0, 0, 10), step(1, 10, 90)],
        runtime=[launch(5, 1, 1), launch(50, 1, 2)],
        device=[kernel(20, 10, 1), kernel(60, 10, 2)],
    )
    assert [s.dur_ns for s in find_window(trace).steps] == [30, 70]


def test_steps_sum_to_the_window_even_where_one_launches_nothing():
    trace = a_trace(
        annotations=[step(0, 0, 10), step(1, 10, 10), step(2, 20, 10)],
        runtime=[launch(5, 1, 1)],
        device=[kernel(20, 100, 1)],
    )
    window = find_window(trace)
    assert sum(s.dur_ns for s in window.steps) == window.dur_ns == 120
    assert [s.dur_ns for s in window.steps] == [120, 0, 0]


def test_without_steps_the_window_is_the_whole_trace():
    trace = a_trace(
        ops=[op(5, 10, "aten::relu")],
        device=[kernel(20, 5)],
        other=[{"ts_ns": 0, "dur_ns": 999, "ph": "X", "cat": "Trace", "name": "PyTorch Profiler"}],
    )
    window = find_window(trace)
    assert (window.start_ns, window.end_ns) == (5, 25)
    assert (window.steps, window.annotated, window.n_steps) == ((), False, 1)


def test_without_steps_what_ran_before_the_first_launched_event_is_left_over():
    trace = a_trace(
        ops=[op(8, 40, "aten::relu")],
        runtime=[launch(10, 1, 1), launch(20, 1, 2)],
        device=[
            kernel(0, 5),
            memset(6, 9, 99, stream=8),  # ends at 15
            kernel(12, 10, 1),
            kernel(25, 5),  # among the launched ones, and behind them: of no known age
            kernel(30, 5, 2),
            kernel(40, 30, 98, stream=9),
        ],
    )
    window = find_window(trace)
    assert (window.n_left_over, window.start_ns, window.end_ns) == (2, 15, 70)
    assert device_work(trace)["step"].to_list() == [None, None, 0, 0, 0, 0]
    assert (window.annotated, window.n_launched_after, window.steps) == (False, 0, ())
    numbers = summarise(trace)
    assert (numbers.n_kernels, numbers.n_memset, numbers.device_time_ns) == (4, 0, 50)
    assert (
        "2 device events (14 ns) had been launched before the profiler began: not counted here."
        in numbers.notes
    )


def test_without_steps_the_window_begins_with_the_host_where_old_work_ended_before_it():
    trace = a_trace(
        ops=[op(8, 40, "aten::relu")],
        runtime=[launch(10, 1, 1)],
        device=[kernel(0, 5), kernel(12, 10, 1)],
    )
    window = find_window(trace)
    assert (window.n_left_over, window.start_ns, window.end_ns) == (1, 8, 48)


def test_without_steps_and_launches_all_work_counts():
    trace = a_trace(runtime=[launch(10, 1, 1)], device=[kernel(0, 5), kernel(6, 4, 99)])
    window = find_window(trace)
    assert (window.n_left_over, window.start_ns, window.end_ns) == (0, 0, 11)
    assert device_work(trace)["step"].to_list() == [0, 0]


def test_an_empty_trace_has_an_empty_window():
    assert find_window(a_trace()).dur_ns == 0


def test_a_step_cut_by_the_end_of_the_recording_is_no_step():
    trace = a_trace(annotations=[step(0, 0, 10), step(1, 10, 0)])
    assert [s.name for s in find_window(trace).steps] == ["ProfilerStep#0"]


def test_an_unlinked_event_between_linked_ones_belongs_to_its_neighbours():
    trace = a_trace(
        annotations=[step(0, 0, 10)],
        runtime=[launch(1, 1, 1)],
        device=[memset(0, 3), kernel(5, 5, 1), kernel(12, 5, 99)],
    )
    window = find_window(trace)
    assert (window.n_left_over, window.start_ns, window.end_ns) == (1, 3, 17)


def test_work_launched_after_the_last_step_is_in_no_total():
    trace = a_trace(
        annotations=[step(0, 0, 10)],
        runtime=[launch(1, 1, 1), launch(20, 1, 2)],
        device=[kernel(5, 5, 1), kernel(25, 5, 2)],
    )
    window = find_window(trace)
    assert (window.n_launched_after, window.n_left_over, window.end_ns) == (1, 0, 10)


def test_operators_on_the_cpu_after_the_last_step_leave_the_window_alone():
    found = find_window(a_trace(annotations=[step(0, 0, 100)], ops=[op(150, 5, "aten::empty")]))
    assert (found.dur_ns, found.n_left_over, found.n_launched_after) == (100, 0, 1)


def test_what_follows_work_launched_after_the_steps_is_not_left_over_from_before_them():
    """The window began where it ended, and all steps were empty."""
    trace = a_trace(
        annotations=[step(0, 0, 10)],
        runtime=[launch(5, 1, 1), launch(20, 1, 2)],
        device=[kernel(6, 1, 1), kernel(30, 5, 2), kernel(40, 5)],
    )
    window = find_window(trace)
    assert (window.start_ns, window.end_ns) == (0, 10)
    assert (window.n_left_over, window.n_launched_after) == (0, 2)
