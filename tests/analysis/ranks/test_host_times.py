"""How long a rank's host is busy in a step, and how long it pauses, from made-up calls."""

from profiler_core.analysis.ranks.rank_summary import summarise_rank
from tests.builders import a_trace, kernel

MS = 1_000_000


def call(ts, dur, name, correlation=None):
    return {"ts_ns": ts, "dur_ns": dur, "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1,
            "correlation": correlation}  # fmt: skip


def test_calls_that_wait_for_the_device_are_no_work_of_the_host():
    """100 ms: 10 and 0.1 synchronising, 5 launching into a full queue, two launches of 10 µs."""
    step = {"ts_ns": 0, "dur_ns": 100 * MS, "name": "ProfilerStep#0", "pid": 1, "tid": 1}
    runtime = [
        call(1 * MS, 10_000, "cudaLaunchKernel", 1),
        call(2 * MS, 10 * MS, "cudaDeviceSynchronize"),
        call(13 * MS, 5 * MS, "cudaLaunchKernel", 2),
        call(95 * MS, 100_000, "cudaStreamSynchronize"),
        call(99 * MS, 10_000, "cudaLaunchKernel", 3),
    ]
    device = [kernel(ts * MS, MS, number) for number, ts in ((1, 3), (2, 19), (3, 100))]
    rank = summarise_rank(a_trace(device=device, runtime=runtime, annotations=[step]), 0)
    assert rank.host_ns == 100 * MS
    assert rank.host_busy_ns == 85 * MS - 100_000
    # Around the stream's synchronisation at 95 ms; what is shorter than 2 ms is work.
    assert rank.host_stalls_ns == 81 * MS - 100_000


def test_a_pause_is_no_shorter_for_a_watchdog_and_counts_where_most_steps_have_it():
    """Three steps with pauses of 6 + 8, 3 + 9 and 3 + 9 ms; the watchdog looks into the last."""
    steps = [
        {"ts_ns": n * 20 * MS, "dur_ns": 20 * MS, "name": f"ProfilerStep#{n}", "pid": 1, "tid": 1}
        for n in range(3)
    ]
    at_ms = [1, 2, 8, 9, 17, 18, *range(21, 30), 38, *range(41, 50), 58, 59]
    runtime = [call(ms * MS, 0, "cudaLaunchKernel", number) for number, ms in enumerate(at_ms, 1)]
    runtime += [call(ms * MS, 10_000, name) for ms, name in
                ((52, "cudaEventQuery"), (54, "cudaThreadExchangeStreamCaptureMode"))]  # fmt: skip
    device = [kernel(ms * MS + 20, 10, number) for number, ms in enumerate(at_ms, 1)]
    rank = summarise_rank(a_trace(device=device, runtime=runtime, annotations=steps), 0)
    assert rank.host_stalls_ns == 12 * MS


def test_a_trace_without_steps_has_no_stall_in_one():
    runtime = [call(n * 900 * MS, 10_000, "cudaLaunchKernel", n) for n in (1, 2)]
    device = [kernel(n * 901 * MS, MS, n) for n in (1, 2)]
    rank = summarise_rank(a_trace(device=device, runtime=runtime), 0)
    assert [step.name for step in rank.steps] == ["whole trace"]
    assert (rank.host_ns, rank.host_stalls_ns) == (0, 0)
