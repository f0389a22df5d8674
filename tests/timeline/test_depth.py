import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profiler_core.timeline.depth import nested_depths, packed_depths


def columns(*events: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    ordered = sorted(events, key=lambda event: (event[0], -event[1]))
    return np.array([e[0] for e in ordered]), np.array([e[1] for e in ordered])


def overlaps_in_a_row(ts, end, depth) -> bool:
    return any(
        depth[i] == depth[j] and ts[j] < end[i] and ts[i] < end[j]
        for i in range(len(ts))
        for j in range(i)
    )


def test_calls_inside_calls_lie_below_them():
    # step 0..100, an op 10..50 with a launch 20..30 in it, another op that touches the first
    ts, end = columns((0, 100), (10, 50), (20, 30), (50, 90))
    assert nested_depths(ts, end).tolist() == [0, 1, 2, 1]


def test_a_parent_that_begins_with_its_child_is_above_it():
    ts, end = columns((0, 100), (0, 100), (0, 10))
    assert nested_depths(ts, end).tolist() == [0, 1, 2]


def test_an_event_without_length_lies_inside_its_parent():
    ts, end = columns((0, 10), (5, 5), (5, 7))
    assert nested_depths(ts, end).tolist() == [0, 1, 2]


def test_events_that_cross_get_rows_of_their_own():
    ts, end = columns((0, 10), (5, 15), (11, 20))
    depth = nested_depths(ts, end)
    assert not overlaps_in_a_row(ts, end, depth)


def test_kernels_one_after_another_share_a_row():
    ts, end = columns((0, 10), (10, 20), (25, 30))
    assert packed_depths(ts, end).tolist() == [0, 0, 0]


def test_a_kernel_beside_another_takes_the_first_free_row():
    ts, end = columns((0, 10), (5, 15), (12, 20), (30, 40))
    assert packed_depths(ts, end).tolist() == [0, 1, 0, 0]


def test_nothing_has_no_rows():
    nothing = np.zeros(0, np.int64)
    assert nested_depths(nothing, nothing).size == packed_depths(nothing, nothing).size == 0


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=25)


@given(spans)
def test_no_two_events_of_a_row_overlap(spans):
    ts, end = columns(*((start, start + length) for start, length in spans))
    if len(ts):
        assert not overlaps_in_a_row(ts, end, nested_depths(ts, end))
        assert not overlaps_in_a_row(ts, end, packed_depths(ts, end))
