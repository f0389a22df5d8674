"""The ledger as a table of device events: where judges, notebooks and SQL start."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.work import device_work
from profiler_core.errors import BadInput
from profiler_core.export.whole_file import written_aside
from profiler_core.model.trace import Trace

if TYPE_CHECKING:
    from profiler_core.session.pair import Pair

# Defined in docs/columns.md.
LEDGER_SCHEMA: dict[str, pl.DataType] = {
    "candidate": pl.String(),
    "side": pl.String(),
    "step": pl.Int32(),
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "name": pl.String(),
    "stream": pl.Int64(),
    "correlation": pl.Int64(),
    "group": pl.Int32(),
    "kind": pl.String(),
    "confidence": pl.String(),
    "operator": pl.String(),
    "module": pl.String(),
    "source": pl.String(),
}
_ENDING = ".parquet"


def ledger_events(
    ledger: FusionLedger, traces: tuple[Trace, Trace], candidate: str = "candidate"
) -> pl.DataFrame:
    """One row for each device event of the profiled steps, the baseline's first.

    The durations of a group's rows on one side sum to the group's time exactly.

    Args:
        ledger: of both.
        traces: that it was made of, the baseline's first.
        candidate: what to call the candidate in the column of that name.
    """
    of_groups = pl.DataFrame(
        {
            "group": range(len(ledger.groups)),
            "kind": [group.kind for group in ledger.groups],
            "confidence": [group.confidence for group in ledger.groups],
            "module": [group.module for group in ledger.groups],
            "source": [
                ", ".join(label for label, _ in group.sources) or None for group in ledger.groups
            ],
        },
        schema={
            key: LEDGER_SCHEMA[key] for key in ("group", "kind", "confidence", "module", "source")
        },
    )
    sides = (
        ("baseline", ledger.baseline_group, ledger.baseline_undecided, ledger.baseline_operator),
        (
            "candidate",
            ledger.candidate_group,
            ledger.candidate_undecided,
            ledger.candidate_operator,
        ),
    )
    tables = [
        _side(trace, side, ledger.operators, group, undecided, operator)
        for trace, (side, group, undecided, operator) in zip(traces, sides, strict=True)
    ]
    events = pl.concat(tables).join(of_groups, on="group", how="left", maintain_order="left")
    return events.with_columns(
        pl.lit(candidate).alias("candidate"),
        pl.when("undecided")
        .then(pl.lit("undecidable"))
        .otherwise("confidence")
        .alias("confidence"),
    ).select(pl.col(name).cast(dtype) for name, dtype in LEDGER_SCHEMA.items())


def _side(
    trace: Trace,
    side: str,
    operators: tuple[str, ...],
    group: npt.NDArray[np.int32],
    undecided: npt.NDArray[np.bool_],
    operator: npt.NDArray[np.int32],
) -> pl.DataFrame:
    names = pl.Series([*operators, None], dtype=pl.String)
    return (
        device_work(trace)
        .with_columns(
            pl.lit(side).alias("side"),
            pl.col("name").cast(pl.String),
            pl.Series("group", group),
            pl.Series("undecided", undecided),
            names.gather(np.where(operator < 0, len(operators), operator)).alias("operator"),
        )
        .filter(pl.col("group") >= 0)
        .select(
            "side", "step", "ts_ns", "dur_ns", "name", "stream", "correlation", "group",
            "undecided", "operator",
        )
    )  # fmt: skip


def events_of_pairs(pairs: Iterable["Pair"]) -> pl.DataFrame:
    """The rows of several candidates, one after the other; the baseline's come with each."""
    tables = []
    for pair in pairs:
        ledger = pair.ledger
        baseline, candidate = (run.material.trace for run in pair.runs)
        if baseline is not None and candidate is not None:  # else there is no ledger
            tables.append(ledger_events(ledger, (baseline, candidate), pair.labels[1]))
    return pl.concat(tables) if tables else pl.DataFrame(schema=LEDGER_SCHEMA)


def as_parquet(events: pl.DataFrame) -> bytes:
    """The table as the bytes of a file."""
    buffer = io.BytesIO()
    events.write_parquet(buffer)
    return buffer.getvalue()


def check_name(path: Path) -> None:
    """Before anything is read.

    Raises:
        BadInput: the file's name has another ending.
    """
    if path.suffix.lower() != _ENDING:
        raise BadInput(
            f"The ending of {path} is not one that --ledger can write.",
            remedy=f"Name a file that ends in {_ENDING}.",
        )


def write_ledger(events: pl.DataFrame, path: Path) -> None:
    """Write the file; it is whole or not there.

    Raises:
        BadInput: it cannot be written.
    """
    with written_aside(path) as aside:
        aside.write_bytes(as_parquet(events))
