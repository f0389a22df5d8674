"""NVTX ranges of a process, in memory: what becomes annotations, operators and steps.

eventType (ENUM_NSYS_EVENT_TYPE, the same numbers in all versions looked at, 2020 to 2026):
59 a push and its pop, 60 a start and its end. Marks, names of threads and domains are not ranges.
"""

import numpy as np
import polars as pl

from profiler_core.ingest.nsight_systems.database import Database, integer, text
from profiler_core.ingest.nsight_systems.host_events import thread
from profiler_core.ingest.nsight_systems.nesting import Ints, Nest
from profiler_core.ingest.nsight_systems.processes import Process, of_threads
from profiler_core.ingest.nsight_systems.strings import Strings
from profiler_core.ingest.nsight_systems.torch_ranges import with_operators

RANGES = "NVTX_EVENTS"
_PUSH_POP, _START_END, _DOMAIN = 59, 60, 75

_FIELDS = {
    "start": integer("start"),
    "end": integer("end"),
    "kind": integer("eventType"),
    "text": text("text"),
    "text_id": integer("textId"),
    "thread": integer("globalTid"),
    "end_thread": integer("endGlobalTid"),
    "domain": integer("domainId"),
}
_SCHEMA: dict[str, pl.DataType] = {
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "pid": pl.Int64(),
    "tid": pl.Int64(),
    "name": pl.String(),
    "sequence_number": pl.Int64(),
    "input_dims": pl.String(),
    "is_operator": pl.Boolean(),
    "by_torch": pl.Boolean(),
    "domain": pl.Int64(),
    "is_crossing": pl.Boolean(),
}


def read_ranges(database: Database, strings: Strings, process: Process | None) -> pl.DataFrame:
    """The ranges, by thread and start, the longer of equal starts first.

    Returns:
        ts_ns, dur_ns (null: never ended), pid, tid, name, sequence_number, input_dims,
        is_operator, by_torch (any record_function), domain (0: the default one), is_crossing (a
        start/end range that does not
        nest with the others of its thread).
    """
    where = of_threads(process) if database.has(RANGES, "globalTid") else ""
    pieces = []
    for frame in database.frames(RANGES, _FIELDS, where):
        kind = pl.col("kind").fill_null(_PUSH_POP)
        with_end = frame.filter(kind.is_in((_PUSH_POP, _START_END)))
        named = with_operators(
            with_end.with_columns(
                text=pl.select(
                    pl.coalesce(with_end["text"], strings.of(with_end["text_id"]))
                ).to_series()
            )
        )
        pieces.append(
            named.select(
                pl.col("start").alias("ts_ns"),
                (pl.col("end") - pl.col("start")).alias("dur_ns"),
                **thread(),
                name="name",
                sequence_number="sequence_number",
                input_dims="input_dims",
                is_operator="is_operator",
                by_torch="by_torch",
                domain=pl.col("domain").fill_null(0),
                # Until it is known to nest; one that ends on another thread cannot.
                is_crossing=pl.col("kind") == _START_END,
                elsewhere=pl.col("end_thread") != pl.col("thread"),
            )
        )
    if not pieces:
        return pl.DataFrame(schema=_SCHEMA)
    ranges = pl.concat(pieces).sort(
        "pid", "tid", "ts_ns", "dur_ns", descending=[False, False, False, True], maintain_order=True
    )
    return _without_false_crossings(ranges).select(list(_SCHEMA))


def nests(ranges: pl.DataFrame) -> dict[int, tuple[Ints, Nest]]:
    """Thread -> (rows in `ranges`, their nest), of ranges that ended and nest."""
    sound = ranges.with_row_index("row").filter(
        pl.col("dur_ns") >= 0,
        ~pl.col("is_crossing").fill_null(value=False),
        pl.col("tid").is_not_null(),
    )
    by_thread = {}
    for (tid,), part in sound.partition_by("tid", as_dict=True, maintain_order=True).items():
        starts = part["ts_ns"].to_numpy()
        rows = part["row"].to_numpy().astype(np.int64)
        by_thread[int(tid)] = (rows, Nest(starts, starts + part["dur_ns"].to_numpy()))
    return by_thread


def _without_false_crossings(ranges: pl.DataFrame) -> pl.DataFrame:
    """Clear `is_crossing` where a start/end range nests with all others of its thread."""
    asynchronous = ranges.with_row_index("row").filter(
        pl.col("is_crossing"), pl.col("dur_ns") >= 0, ~pl.col("elsewhere").fill_null(value=False)
    )
    if not asynchronous.height:
        return ranges
    pushed = nests(ranges)
    nested_rows: list[int] = []
    for (tid,), part in asynchronous.partition_by("tid", as_dict=True, maintain_order=True).items():
        starts, lengths = part["ts_ns"].to_numpy(), part["dur_ns"].to_numpy()
        alone = np.ones(len(starts), dtype=bool)
        if tid in pushed:
            nest = pushed[tid][1]
            last = starts + np.maximum(lengths - 1, 0)
            alone = nest.innermost(starts) == nest.innermost(last)
        open_until: list[int] = []
        rows = part["row"].to_list()
        for row, start, length, is_alone in zip(rows, starts, lengths, alone, strict=True):
            end = int(start + length)
            while open_until and open_until[-1] <= start:
                open_until.pop()
            if is_alone and (not open_until or end <= open_until[-1]):
                open_until.append(end)
                nested_rows.append(row)
    nesting = np.zeros(ranges.height, dtype=bool)
    nesting[nested_rows] = True
    return ranges.with_columns(is_crossing=pl.col("is_crossing") & ~pl.Series(nesting))
