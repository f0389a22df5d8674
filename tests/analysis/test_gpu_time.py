from hypothesis import given, settings
from hypothesis import strategies as st

from profiler_core.analysis.summary import summarise
from tests.builders import a_trace, kernel, memcpy, memset

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def test_overlapping_streams_count_once():
    summary = summarise(
        a_trace(device=[kernel(0, 10), kernel(5, 10, stream=8), kernel(20, 5), kernel(20, 0)])
    )
    assert (summary.window_ns, summary.busy_ns, summary.idle_ns) == (25, 20, 5)
    assert summary.kernel_time_ns == 25


def test_only_communication_that_nothing_covers_is_exposed():
    summary = summarise(
        a_trace(
            device=[kernel(0, 10), kernel(5, 15, stream=9, name=NCCL), memcpy(18, 7), memset(25, 1)]
        )
    )
    assert summary.compute_ns == 10
    assert summary.exposed_communication_ns == 10  # 10..20
    assert summary.exposed_copy_ns == 6  # 20..26
    assert summary.busy_ns == 26


def test_devices_are_counted_apart_and_the_busiest_speaks():
    summary = summarise(a_trace(device=[kernel(0, 10), kernel(0, 30, device=1), kernel(40, 10)]))
    assert [(d.device, d.busy_ns, d.idle_ns) for d in summary.devices] == [(1, 30, 20), (0, 20, 30)]
    assert (summary.busy_ns, summary.idle_ns, summary.n_kernels) == (30, 20, 3)
    assert any("2 devices" in note for note in summary.notes)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 50), st.integers(0, 20), st.sampled_from("kcmn"), st.integers(7, 9)
        ),
        min_size=1,
        max_size=15,
    )
)
def test_the_parts_sum_to_the_window(events):
    make = {
        "k": kernel,
        "c": memcpy,
        "m": memset,
        "n": lambda ts, dur, **more: kernel(ts, dur, name=NCCL, **more),
    }
    s = summarise(a_trace(device=[make[kind](ts, dur, stream=q) for ts, dur, kind, q in events]))
    assert s.busy_ns + s.idle_ns == s.window_ns
    assert s.compute_ns + s.exposed_communication_ns + s.exposed_copy_ns == s.busy_ns
    assert sum(total.time_ns for total in s.by_category.values()) == s.device_time_ns
    assert sum(total.n for total in s.by_category.values()) == len(events)
    assert sum(k.time_ns for k in s.kernels) == s.kernel_time_ns
    assert sum(k.n for k in s.kernels) == s.n_kernels
