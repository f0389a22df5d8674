from itertools import pairwise

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from profiler_core.analysis.intervals import (
    clip,
    covered_ns,
    gaps,
    merge,
    union_ns,
    union_ns_by,
)

intervals = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12)


def a_frame(pairs):
    return pl.DataFrame(
        {"ts_ns": [ts for ts, _ in pairs], "dur_ns": [dur for _, dur in pairs]},
        schema={"ts_ns": pl.Int64, "dur_ns": pl.Int64},
    )


def instants(pairs):
    return {t for ts, dur in pairs for t in range(ts, ts + dur)}


def test_overlapping_intervals_count_once():
    assert union_ns(a_frame([(0, 10), (5, 10), (20, 5), (99, 0)])) == 20


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 2)), max_size=12))
def test_intervals_with_other_keys_cover_nothing_of_each_other(rows):
    frame = a_frame([(ts, dur) for ts, dur, _ in rows]).with_columns(
        pl.Series("key", [key for *_, key in rows], pl.Int64)
    )
    by_key = dict(union_ns_by(frame, "key").iter_rows())
    assert by_key == {
        key: len(instants([(ts, dur) for ts, dur, own in rows if own == key]))
        for key in {key for *_, key in rows}
    }


def test_nothing_covers_nothing():
    assert union_ns(a_frame([])) == 0


@given(intervals)
def test_union_counts_the_instants(pairs):
    assert union_ns(a_frame(pairs)) == len(instants(pairs))


@given(intervals, st.integers(0, 40), st.integers(0, 40))
def test_gaps_and_union_sum_to_the_window(pairs, start, length):
    frame, end = a_frame(sorted(pairs)), start + length
    found = gaps(frame, start, end)
    assert found["dur_ns"].sum() + union_ns(clip(frame, start, end)) == length
    assert not instants(found.select("ts_ns", "dur_ns").rows()) & instants(pairs)


@given(intervals, st.integers(0, 40), st.integers(0, 40))
def test_each_gap_carries_the_interval_that_ends_it(pairs, start, length):
    frame = a_frame(sorted(pairs)).with_columns(begin="ts_ns")
    for gap in gaps(frame, start, start + length).iter_rows(named=True):
        end = gap["ts_ns"] + gap["dur_ns"]
        assert end == (start + length if gap["ends_window"] else gap["begin"])


@given(intervals)
def test_merged_intervals_are_disjoint_and_cover_the_same(pairs):
    frame = a_frame(pairs).select(start="ts_ns", end=pl.col("ts_ns") + pl.col("dur_ns"))
    merged = merge(frame).rows()
    assert {t for start, end in merged for t in range(start, end)} == instants(pairs)
    assert all(left[1] < right[0] for left, right in pairwise(merged))


@given(intervals, st.lists(st.integers(0, 90), min_size=1, max_size=9))
def test_covered_time_before_a_point(pairs, points):
    frame = a_frame(pairs).select(start="ts_ns", end=pl.col("ts_ns") + pl.col("dur_ns"))
    points = sorted(points)
    covered = covered_ns(merge(frame), pl.Series(points)).to_list()
    assert covered == [len([t for t in instants(pairs) if t < point]) for point in points]
