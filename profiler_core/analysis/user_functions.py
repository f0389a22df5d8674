"""In which functions of the user's code work is launched, by the Python calls of a trace.

The innermost call of the user's code that is open counts, by the line where its function begins:
the line in it that calls an operator is in no trace.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import polars as pl

from profiler_core.analysis.memory.frames import UserFunction, user_function
from profiler_core.analysis.work import device_work, outermost_operators
from profiler_core.model.trace import Trace

_BORDERS = {"tid": pl.Int64(), "ts_ns": pl.Int64(), "place": pl.String(), "function": pl.String()}


class _Call(NamedTuple):
    """An open call."""

    end_ns: int
    function: UserFunction


def work_in_functions(trace: Trace) -> pl.DataFrame:
    """The work of the profiled steps that is launched in functions of the user's code.

    Returns:
        row (of `device_work`), name, dur_ns, place (`modeling_qwen2.py:68`), function
        (`apply_rotary_pos_emb`) and operator: the outermost one around the launch that the
        function calls itself; null: none. No row without Python calls.
    """
    return trace.derived("work in functions", _work_in_functions)


def _work_in_functions(trace: Trace) -> pl.DataFrame:
    launched = _launched(trace).select("row", "name", "dur_ns", "tid", "at_ns")
    inside = _with_functions(trace, launched, "at_ns").filter(pl.col("place").is_not_null())
    outermost = trace.derived("outermost operators", outermost_operators).select(
        tid="stream",
        begin_ns="ts_ns",
        end_ns=pl.col("ts_ns") + pl.col("dur_ns"),
        operator=pl.col("name").cast(pl.String),
    )
    called = _with_functions(trace, outermost, "begin_ns").rename({"place": "called_in"})
    return (
        inside.sort("at_ns")
        .join_asof(
            called.drop("function").sort("begin_ns"),
            left_on="at_ns",
            right_on="begin_ns",
            by="tid",
            check_sortedness=False,
        )
        .with_columns(
            operator=pl.when(
                pl.col("at_ns") <= pl.col("end_ns"), pl.col("called_in") == pl.col("place")
            ).then("operator")
        )
        .select("row", "name", "dur_ns", "place", "function", "operator")
        .sort("row")
    )


def work_of_operator(trace: Trace, operator: str) -> pl.DataFrame:
    """What calls of an operator start, by the functions of the user's code that call it.

    Returns:
        Rows with dur_ns, place and function, as `work_in_functions` has them; of a call inside
        another of the same operator the outer one counts.
    """
    calls = (
        trace.ops.filter(pl.col("name").cast(pl.String) == operator)
        .select("tid", begin_ns="ts_ns", end_ns=pl.col("ts_ns") + pl.col("dur_ns"))
        .sort("tid", "begin_ns", "end_ns", descending=[False, False, True])
        .filter(
            (pl.col("begin_ns") >= pl.col("end_ns").cum_max().shift(1).over("tid")).fill_null(True)
        )
    )
    return (
        _launched(trace)
        .select("dur_ns", "tid", "at_ns")
        .sort("at_ns")
        .join_asof(
            _with_functions(trace, calls, "begin_ns").sort("begin_ns"),
            left_on="at_ns",
            right_on="begin_ns",
            by="tid",
            check_sortedness=False,
        )
        .filter(pl.col("at_ns") <= pl.col("end_ns"), pl.col("place").is_not_null())
        .select("dur_ns", "place", "function")
    )


def _launched(trace: Trace) -> pl.DataFrame:
    """The work of the steps with the thread and the time of its launch; a CPU's is its own."""
    work = device_work(trace).with_row_index("row").filter(pl.col("step").is_not_null())
    own = not trace.has_device_events
    return work.select(
        "row",
        pl.col("name").cast(pl.String),
        "dur_ns",
        tid=pl.col("stream" if own else "launch_tid").cast(pl.Int64),
        at_ns=pl.col("ts_ns" if own else "launch_ts_ns"),
    ).drop_nulls(["tid", "at_ns"])


def _with_functions(trace: Trace, events: pl.DataFrame, at: str) -> pl.DataFrame:
    """Events with the innermost function of the user's that is open on their thread, or null.

    Args:
        trace: of the events.
        events: with tid.
        at: the column of their times.
    """
    borders = trace.derived("borders of functions", _borders)
    return events.sort(at).join_asof(
        borders.sort("ts_ns"),
        left_on=at,
        right_on="ts_ns",
        by="tid",
        check_sortedness=False,
    )


def _borders(trace: Trace) -> pl.DataFrame:
    """From when on which function of the user's is the innermost open one of its thread."""
    names = trace.python["name"].unique().cast(pl.String).drop_nulls()
    functions = {name: function for name in names if (function := user_function(name)) is not None}
    calls = (
        trace.python.with_columns(pl.col("name").cast(pl.String))
        .filter(pl.col("name").is_in(list(functions)))
        .sort("tid", "ts_ns", "dur_ns", descending=[False, False, True])
    )
    borders: list[tuple[int, int, str | None, str | None]] = []
    for (tid,), of_thread in calls.group_by("tid", maintain_order=True):
        each = of_thread.select("ts_ns", "dur_ns", "name").iter_rows()
        opened = ((ts_ns, ts_ns + dur_ns, functions[name]) for ts_ns, dur_ns, name in each)
        borders.extend(
            (tid, ts_ns, *(function or (None, None))) for ts_ns, function in _innermost(opened)
        )
    # Of several at one moment the last one holds from then on.
    return pl.DataFrame(borders, schema=_BORDERS, orient="row").unique(
        ["tid", "ts_ns"], keep="last", maintain_order=True
    )


def _innermost(
    calls: Iterable[tuple[int, int, UserFunction]],
) -> Iterator[tuple[int, UserFunction | None]]:
    """(time, the function that is the innermost open one from then on), in order of time.

    Args:
        calls: (begin, end, function) of one thread in order of time, outer ones first.
    """
    above: list[_Call] = []
    for begin_ns, end_ns, function in calls:
        yield from _closed(above, begin_ns)
        # Clocks are rounded: a call ends within that which it is made in.
        above.append(_Call(min(end_ns, above[-1].end_ns) if above else end_ns, function))
        yield begin_ns, function
    if above:
        yield from _closed(above, above[0].end_ns)


def _closed(above: list[_Call], until_ns: int) -> Iterator[tuple[int, UserFunction | None]]:
    """Take the calls away that end by then, and say which is the innermost one after each."""
    while above and above[-1].end_ns <= until_ns:
        end_ns = above.pop().end_ns
        yield end_ns, above[-1].function if above else None
