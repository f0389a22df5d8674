"""counters.csv -> the kernels that Nsight Compute saw (`ncu --csv --page raw`).

Columns are found by name, and only those are split off that something here asks for: half a
megabyte, a usual file, takes some milliseconds, so it is read where it is needed.
"""

import io
import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from profiler_core.errors import BadInput
from profiler_core.ingest.counters.metrics import METRICS, TEXTS, UNITS
from profiler_core.ingest.counters.tables import RawTable, raw_tables
from profiler_core.model.counters import COUNTERS_SCHEMA, Counters
from profiler_core.model.run import RunFiles
from profiler_core.model.tally import Tally


def read_counters(path: Path) -> Counters:
    """The kernels of a file, in its order.

    A later table of the same kernels fills in what the first did not measure (ncu run twice for
    more metrics); one of other kernels is appended (several programs).

    Raises:
        BadInput: it holds no such table, no kernel, is too large, or cannot be read.
    """
    tables, n_other = raw_tables(path)
    frames: list[pl.DataFrame] = []
    n_lines = sum(len(table.lines) for table in tables)
    n_read = 0
    for table in tables:
        frame = _frame(table)
        n_read += frame.height
        if not frame.height:
            continue
        if frames and frames[-1]["name"].equals(frame["name"]):
            before = frames[-1]
            frames[-1] = before.select(before[c].fill_null(frame[c]) for c in COUNTERS_SCHEMA)
        else:
            frames.append(frame)
    if not frames:
        raise BadInput(
            f"{path.name} has the columns of Nsight Compute, and no kernel in them.",
            remedy="Record one step between torch.cuda.profiler.start() and stop().",
        )
    kernels = pl.concat(frames)
    skipped = {"not a kernel": n_lines - n_read, "other output": n_other}
    return Counters(
        source=path.name,
        kernels=kernels,
        missing=tuple(c for c in COUNTERS_SCHEMA if kernels[c].null_count() == kernels.height),
        tally=Tally(n_lines + n_other, {reason: n for reason, n in skipped.items() if n}),
    )


@dataclass(frozen=True)
class RunCounters:
    """The counters of one run. None: it has none, or `problems` says what is wrong with them."""

    counters: Counters | None = None
    problems: tuple[str, ...] = ()


def read_run_counters(run: RunFiles) -> RunCounters:
    """Of a run; a damaged file takes nothing else with it."""
    if run.counters is None:
        measured = run.record.measurement
        failed = measured.counters.problem if measured and measured.counters else None
        return RunCounters(problems=(f"No hardware counters: {failed}",) if failed else ())
    try:
        return RunCounters(read_counters(run.counters))
    except BadInput as error:
        return RunCounters(problems=(f"No hardware counters: {error.problem}",))


def _frame(table: RawTable) -> pl.DataFrame:
    """Rows with a kernel's name, in the columns of the model."""
    position = {name: index for index, name in reversed(list(enumerate(table.header)))}
    sources: dict[str, tuple[int, float]] = {}
    for column, candidates in METRICS.items():
        for metric, factor in candidates:
            scale = _scale(table, position.get(metric))
            if scale is not None:
                sources[column] = (position[metric], factor * scale)
                break
    texts = {column: position[name] for column, name in TEXTS.items() if name in position}
    indices = sorted({*texts.values(), *(index for index, _ in sources.values())})
    rows = _split(table, indices)
    name_of = dict(zip(indices, rows.columns, strict=True))
    columns = []
    for column, dtype in COUNTERS_SCHEMA.items():
        if column in texts:
            value = pl.col(name_of[texts[column]]).cast(pl.String)
            if column in ("grid", "block"):  # "(1568, 1, 1)" -> "[1568,1,1]", as in a trace
                value = value.str.replace_all(r"[ ,]+", ",").str.replace_all(r"[()]", "")
                value = pl.format("[{}]", value)
        elif column in sources:
            index, factor = sources[column]
            value = _number(pl.col(name_of[index])) * factor
        else:
            value = pl.lit(None)
        columns.append(value.cast(dtype, strict=False).alias(column))
    kernels = rows.select(columns)
    return kernels.filter(pl.col("name").str.strip_chars().str.len_bytes() > 0)


def _scale(table: RawTable, index: int | None) -> float | None:
    """Factor from the unit in the file to the base unit; None: no such column, or unknown unit."""
    if index is None:
        return None
    unit = table.units[index] if index < len(table.units) else ""
    return UNITS.get(unit.strip().lower())


def _number(text: pl.Expr) -> pl.Expr:
    """Without separators of thousands; "n/a", "nan" and negative counts are null."""
    value = text.str.replace_all(",", "").cast(pl.Float64, strict=False)
    return pl.when(value.is_finite() & (value >= 0)).then(value)


# Fields quoted as a whole, or free of quotes; the alternatives share no beginning.
_FIELD = rb'(?:"(?:[^"]|"")*+"|[^",]*+)'
_WELL_FORMED = re.compile(rb"%b(?:,%b)*+" % (_FIELD, _FIELD))


def _split(table: RawTable, indices: list[int]) -> pl.DataFrame:
    """Those columns as text, of all lines that can be split."""
    try:
        return _csv(table, indices)
    except pl.exceptions.PolarsError:  # of a quote in the wrong place: a few lines of many
        table.lines[:] = [line for line in table.lines if _WELL_FORMED.fullmatch(line)]
    try:
        return _csv(table, indices)
    except pl.exceptions.PolarsError:
        return pl.DataFrame(schema={str(index): pl.String() for index in indices})


def _csv(table: RawTable, indices: list[int]) -> pl.DataFrame:
    return pl.read_csv(
        io.BytesIO(b"\n".join([table.header_line, *table.lines])),
        columns=indices,
        infer_schema=False,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
    )
