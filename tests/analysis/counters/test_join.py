"""Counters beside a trace's step: kernels that ncu missed, other shapes, several steps."""

import polars as pl
import pytest

from profiler_core.analysis.counters.join import join
from profiler_core.analysis.counters.measured import CounterSums
from profiler_core.model.counters import COUNTERS_SCHEMA, Counters


def work_of(*steps):
    """Kernels per step, as (name, grid, dur_ns)."""
    rows = [
        {"cat": "kernel", "name": name, "grid": grid, "block": "[1,1,1]", "dur_ns": dur,
         "ts_ns": 1000 * number + at, "launch_ts_ns": 1000 * number + at, "step": number}
        for number, step in enumerate(steps)
        for at, (name, grid, dur) in enumerate(step)
    ]  # fmt: skip
    copy = {**rows[0], "cat": "gpu_memcpy", "name": "Memcpy DtoD"} if rows else None
    frame = [copy, *rows] if copy else []
    schema = {
        "cat": pl.String, "name": pl.String, "grid": pl.String, "block": pl.String,
        "dur_ns": pl.Int64, "ts_ns": pl.Int64, "launch_ts_ns": pl.Int64, "step": pl.Int32,
    }  # fmt: skip
    return pl.DataFrame(frame, schema=schema)


def counters_of(*rows):
    """Kernels as (name, grid, bytes read)."""
    frame = pl.DataFrame(
        [
            {"name": name, "grid": grid, "block": "[1,1,1]", "dram_read_bytes": float(read)}
            for name, grid, read in rows
        ],
        schema_overrides=COUNTERS_SCHEMA,
    )
    missing = [
        pl.lit(None, dtype).alias(column)
        for column, dtype in COUNTERS_SCHEMA.items()
        if column not in frame.columns
    ]
    return Counters("x.csv", frame.with_columns(missing).select(*COUNTERS_SCHEMA))


def test_rows_face_kernels_in_order():
    work = work_of([("a", "[1]", 5), ("b", "[1]", 7), ("a", "[2]", 8)])
    joined = join(counters_of(("a", "[1]", 1), ("b", "[1]", 2), ("a", "[2]", 3)), work)
    assert joined.row_of_event.tolist() == [-1, 0, 1, 2]  # the copy has none
    assert joined.matched_time_share == 1
    assert joined.first_step_events == (1, 2, 3)


def test_a_kernel_that_ncu_did_not_see_costs_only_itself():
    """Grids tell which of equal names is missing."""
    work = work_of([("a", "[1]", 10), ("a", "[2]", 20), ("a", "[3]", 70)])
    joined = join(counters_of(("a", "[2]", 2), ("a", "[3]", 3)), work)
    assert joined.row_of_event.tolist() == [-1, -1, 0, 1]
    assert joined.matched_time_share == pytest.approx(0.9)


def test_another_grid_is_the_same_kernel_where_nothing_else_is():
    joined = join(counters_of(("a", "[9]", 2)), work_of([("a", "[1]", 1)]))
    assert joined.matched_time_share == 1


def test_every_equal_step_has_the_rows():
    step = [("a", "[1]", 5), ("b", "[1]", 7)]
    joined = join(counters_of(("a", "[1]", 1), ("b", "[1]", 2)), work_of(step, step, step))
    assert joined.steps == (0, 1, 2)
    assert joined.row_of_event.tolist() == [-1, 0, 1, 0, 1, 0, 1]


def test_the_step_of_the_counters_is_found_among_others():
    work = work_of([("x", "[1]", 5)], [("a", "[1]", 5), ("b", "[1]", 7)], [("y", "[1]", 5)])
    joined = join(counters_of(("a", "[1]", 1), ("b", "[1]", 2)), work)
    assert joined.steps == (1,)
    assert joined.row_of_event.tolist() == [-1, -1, 0, 1, -1]


def test_several_counted_steps_give_one():
    step = [("a", "[1]", 5), ("b", "[1]", 7)]
    rows = [("a", "[1]", 1), ("b", "[1]", 2)] * 3
    joined = join(counters_of(*rows), work_of(step))
    assert joined.n_counted_steps == 3
    assert joined.row_of_event.tolist() == [-1, 0, 1]


def test_steps_are_counted_by_what_ncu_saw_of_one():
    step = [(name, "[1]", 1) for name in "abcdefgh"]
    rows = [(name, "[1]", 1) for name in "bcdefgh"] * 20  # a was never seen
    joined = join(counters_of(*rows), work_of(step))
    assert joined.n_counted_steps == 20
    assert joined.row_of_event.tolist()[1:] == [-1, 0, 1, 2, 3, 4, 5, 6]


def test_counters_of_another_program_match_nothing():
    joined = join(counters_of(("z", "[1]", 1)), work_of([("a", "[1]", 5)]))
    assert joined.matched_time_share == 0
    assert joined.first_step_events == ()


def test_a_trace_without_kernels_has_nothing_to_join():
    assert join(counters_of(("a", "[1]", 1)), work_of()) is None


def test_sums_leave_out_what_was_not_measured():
    sums = CounterSums(counters_of(("a", "[1]", 1), ("b", "[1]", 2)))
    assert sums.total.dram_read_bytes == 3
    assert sums.of([1, 1]).dram_read_bytes == 4
    assert sums.total.dram_write_bytes is None
    assert sums.total.dram_bytes is None
    assert sums.total.n_tensor is None
    assert sums.of([]).dram_read_bytes is None
