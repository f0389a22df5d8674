"""From which share of a step on a rank is late, and whose host may be blamed: made-up ranks.

Every step takes 10 ms on the device: products, then an all-reduce of 0.1 ms on all ranks.
"""

from dataclasses import replace

import pytest

from profiler_core.analysis.ranks.critical import Lateness
from profiler_core.analysis.ranks.host_bound import as_idle, untold_waiting
from profiler_core.analysis.ranks.job import combine
from profiler_core.analysis.ranks.job_summary import LATE_RANK, OTHER_RANKS, with_job
from profiler_core.analysis.ranks.rank_summary import summarise_rank
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.waterfall import step_shares, waterfall
from profiler_core.analysis.wording.ranks import lateness
from tests.builders import a_trace, kernel, launch, step

US = 1_000
MS = 1_000_000
STEP = 10 * MS
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def trace_of(arrives, extra=0, pause_before=0, host_ns=MS):
    """A rank whose last kernel before the all-reduce ends at `arrives`; the step ends at STEP.

    Args:
        arrives: ns from the step's begin.
        extra: ns of a kernel that other ranks do not have.
        pause_before: ns in which its device waits for the launch of its last product.
        host_ns: of its range of the step.
    """
    product = arrives - extra - pause_before - MS // 2
    launched_at = MS // 2 + pause_before - 2 * US if pause_before else 5 * US
    spans = [
        ("gemm", 0, MS // 2, 0),
        ("gemm", MS // 2 + pause_before, product, launched_at),
        *([("sorting", arrives - extra, extra, 10 * US)] if extra else []),
        (ALL_REDUCE, arrives, STEP - arrives, 20 * US),
    ]
    device = [
        kernel(ts, dur, number, name=name, grid=str(dur))
        for number, (name, ts, dur, _) in enumerate(spans)
    ]
    runtime = [launch(at, US, number) for number, (*_, at) in enumerate(spans)]
    return a_trace(device=device, runtime=runtime, annotations=[step(1, 0, host_ns)])


def job_of(*traces):
    return combine([summarise_rank(trace, rank) for rank, trace in enumerate(traces)])


TOGETHER = STEP - 100 * US


@pytest.mark.parametrize(("share", "late"), [(0.019, False), (0.021, True)])
def test_more_work_is_late_from_two_percent_of_the_step_on(share, late):
    more = round(share * STEP)
    path = job_of(trace_of(TOGETHER - more), trace_of(TOGETHER, extra=more)).critical
    assert path.rank == 1
    assert (path.late is not None) == late
    if late:
        assert path.late.total_work_ns == more


@pytest.mark.parametrize(("share", "late"), [(0.019, False), (0.021, True)])
def test_a_host_is_late_from_two_percent_of_the_step_on(share, late):
    more = round(share * STEP)
    slow = trace_of(TOGETHER, pause_before=more, host_ns=STEP)
    path = job_of(trace_of(TOGETHER - more), slow).critical
    assert path.rank == 1
    assert (path.late is not None) == late
    if late:
        assert path.late.total_idle_ns == pytest.approx(more, abs=US)


def a_job_with_slow_hosts(others_ms, pause=MS):
    """Rank 1 comes `pause` later; the other's host is busy for `others_ms` of the step."""
    traces = (
        trace_of(TOGETHER - pause, host_ns=round(others_ms * MS)),
        trace_of(TOGETHER, pause_before=pause, host_ns=STEP),
    )
    return traces[1], job_of(*traces).critical


@pytest.mark.parametrize(("others_ms", "told"), [(9.4, True), (9.6, False)])
def test_a_host_as_slow_as_the_step_may_be_the_limit_itself(others_ms, told):
    """The step takes 9.5 ms unprofiled."""
    trace, path = a_job_with_slow_hosts(others_ms)
    assert path.late.total_idle_ns == pytest.approx((10 - others_ms) * MS, abs=2 * US)
    unprofiled = round(9.5 * MS)
    shares = step_shares(with_job(summarise(trace), path, path.shown), unprofiled, "unprofiled")
    assert sum(shares.values()) == pytest.approx(unprofiled, abs=10)
    assert (shares.get(f"idle_{LATE_RANK}", 0.0) > 0.2 * MS) == told
    assert (shares.get(f"idle_{LATE_RANK}", 0.0) == 0.0) != told
    host = sum(ns for key, ns in shares.items() if key.startswith("idle_host_"))
    assert (host > 0.4 * MS) != told
    summary = with_job(summarise(trace), path, path.shown)
    notes = waterfall((summary, summary), (unprofiled, unprofiled)).notes
    assert any("which of them is late the traces do not say" in n for n in notes) != told


def test_a_long_pause_of_a_host_is_told_whatever_the_others_need():
    _, path = a_job_with_slow_hosts(9.6, pause=3 * MS)
    assert path.late.stalled_ns == pytest.approx(3 * MS, abs=10 * US)
    assert untold_waiting(path, 9.5 * MS) == {}


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("between_kernels", "between kernels, with the next kernel already queued"),
        ("dependency", "waiting for another stream, with the next kernel already queued"),
        ("host_synchronisation", "a call that waits for the device"),
    ],
)
def test_the_cause_of_longer_idle_time_is_in_an_engineers_words(cause, words):
    late = Lateness(1, {}, {cause: 0.417 * MS}, stalled_ns=0.0)
    assert lateness(late, 0.0, 0.417 * MS) == f"417 µs longer idle, most of it {words}"


def test_idle_time_that_the_others_hosts_need_too_is_told_to_be_left_out():
    """17.5 ms stood beside bars of 28.6 and 0.3 ms: the others' hosts were busy meanwhile."""
    words = "beyond what the others' hosts need too"
    _, path = a_job_with_slow_hosts(9.4)
    assert path.late.total_idle_ns + path.late.beyond_host_ns == pytest.approx(MS, abs=2 * US)
    assert lateness(path.late, 0.0, path.late.total_idle_ns).endswith(words)
    _, path = a_job_with_slow_hosts(1.0)
    assert path.late.beyond_host_ns == 0.0
    assert words not in lateness(path.late, 0.0, path.late.total_idle_ns)


def test_standing_still_is_told_from_what_follows_of_it():
    late = Lateness(1, {}, {"host_other": 9.5 * MS}, stalled_ns=8.2 * MS)
    assert lateness(late, 0.0, 9.5 * MS).endswith(
        "(8.20 ms in which its host stands still, 1.30 ms until its device has as much to do again)"
    )
    assert lateness(late, 0.0, 8.25 * MS).endswith("(8.20 ms in which its host stands still)")
    assert "stands still" not in lateness(replace(late, stalled_ns=0.0), 0.0, 9.5 * MS)


def test_waiting_in_turn_is_idle_time_where_the_awaited_device_was_idle_and_both_hosts_are_slow():
    """Two all-reduces: rank 0 comes 1.5 ms later to the first, rank 1 2 ms to the second."""

    def rank(pauses, host_ns):
        device, runtime, at = [], [], 0
        for number, (pause, wait) in enumerate(pauses):
            at += pause
            first = 2 * number
            device += [
                kernel(at, 3 * MS, first, name="gemm", grid="1"),
                kernel(at + 3 * MS, wait + 50 * US, first + 1, name=ALL_REDUCE, grid="24"),
            ]
            runtime += [launch(at - 2 * US if pause else at, US, first)]
            runtime += [launch(at + 2 * US, US, first + 1)]
            at += 3 * MS + wait + 50 * US
        return a_trace(device=device, runtime=runtime, annotations=[step(1, 0, host_ns)])

    hosts_ns = 9 * MS
    both = (
        rank([(1_500 * US, 0), (0, 2 * MS)], hosts_ns),
        rank([(0, 1_500 * US), (2 * MS - US, 0)], hosts_ns),
    )
    path = job_of(*both).critical
    assert path.rank == 1
    assert path.waited_ns == {0: pytest.approx(1_500 * US)}
    assert path.waited_for_hosts_ns == pytest.approx(1_500 * US, abs=5 * US)
    assert OTHER_RANKS not in untold_waiting(path, hosts_ns + 1)
    untold = untold_waiting(path, hosts_ns - 1)
    assert untold[OTHER_RANKS] == path.waited_for_hosts_ns
    idle = {**path.idle_ns, OTHER_RANKS: 1_500 * US, LATE_RANK: path.late.total_idle_ns}
    moved = as_idle(path, idle, untold)
    assert sum(moved.values()) == pytest.approx(sum(idle.values()))
    assert moved.get(OTHER_RANKS, 0.0) == pytest.approx(0.0, abs=5 * US)
