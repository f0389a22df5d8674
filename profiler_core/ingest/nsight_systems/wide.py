"""Columns of one table -> the wide rows that the dealer of Kineto's events takes."""

import polars as pl

from profiler_core.ingest.kineto.wide import WIDE_SCHEMA


def wide(frame: pl.DataFrame) -> pl.DataFrame:
    """One row of WIDE_SCHEMA for each row; columns of other names are left out.

    Args:
        frame: with ts_ns and dur_ns, null where the file has none.
    """
    with_columns = frame.with_columns(
        ph=pl.lit("X"), has_ts=pl.col("ts_ns").is_not_null(), has_dur=pl.col("dur_ns").is_not_null()
    )
    return with_columns.select(
        pl.col(column).cast(dtype, strict=False)
        if column in with_columns.columns
        else pl.lit(None, dtype).alias(column)
        for column, dtype in WIDE_SCHEMA.items()
    )
