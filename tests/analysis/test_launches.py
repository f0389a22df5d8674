from profiler_core.analysis.summary import summarise
from tests.builders import a_trace, kernel, launch, memcpy, step


def test_one_graph_launch_with_many_kernels_is_one_launch():
    summary = summarise(
        a_trace(
            annotations=[step(0, 0, 100)],
            runtime=[
                launch(1, 4, 1, name="cudaGraphLaunch"),
                launch(10, 4, 2),
                launch(20, 4, 3, name="cudaMemcpyAsync"),
                launch(30, 4, 4, name="cudaFuncGetAttributes"),  # starts nothing
                launch(40, 4, 5, name="cudaDeviceSynchronize"),
            ],
            device=[kernel(10, 5, 1), kernel(15, 5, 1), kernel(21, 5, 2), memcpy(30, 5, 3)],
        )
    )
    assert (summary.n_launches, summary.n_graph_launches) == (3, 1)
    assert summary.launch.by_api == {
        "cudaGraphLaunch": 1,
        "cudaLaunchKernel": 1,
        "cudaMemcpyAsync": 1,
    }
    assert summary.launch.call_time_ns == 12
    assert (summary.launch.delay_median_ns, summary.launch.n_negative_delays) == (6, 0)


def test_the_queue_holds_what_is_launched_and_not_yet_started():
    summary = summarise(
        a_trace(
            runtime=[launch(t, 1, t) for t in (1, 2, 3, 4)],
            device=[kernel(10, 5, 1), kernel(15, 5, 2), kernel(20, 5, 3), kernel(25, 5, 4)],
        )
    )
    assert summary.launch.max_queue_length == 4


def test_what_starts_at_the_moment_of_a_launch_is_still_queued_then():
    summary = summarise(
        a_trace(
            runtime=[launch(1, 1, 1), launch(10, 1, 2)],
            device=[kernel(10, 5, 1), kernel(20, 5, 2)],
        )
    )
    assert summary.launch.max_queue_length == 2


def test_a_launch_that_is_not_in_the_trace_is_said_and_not_counted():
    summary = summarise(
        a_trace(runtime=[launch(1, 1, 1)], device=[kernel(5, 5, 1), kernel(10, 15, 99)])
    )
    assert (summary.n_kernels, summary.n_launches) == (2, 1)
    assert summary.launch.n_events_unlinked == 1
    assert summary.launch.linked_time_fraction == 0.25
    assert any(note.startswith("1 device event without a launch") for note in summary.notes)


def test_without_any_call_launches_are_unknown_not_zero():
    summary = summarise(a_trace(device=[kernel(5, 5, 1)]))
    assert (summary.n_launches, summary.n_graph_launches, summary.launch) == (None, None, None)
    assert summary.idle_by_cause_ns is None
