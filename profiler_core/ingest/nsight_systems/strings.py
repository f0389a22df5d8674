"""StringIds: the texts that every other table names by number."""

import polars as pl

from profiler_core.ingest.nsight_systems.database import Database, integer, text


class Strings:
    """All texts of a file, looked up a column at a time."""

    def __init__(self, database: Database) -> None:
        fields = {"id": integer("id"), "value": text("value")}
        pieces = list(database.frames("StringIds", fields))
        table = (
            pl.concat(pieces)
            if pieces
            else pl.DataFrame(schema={"id": pl.Int64, "value": pl.String})
        )
        table = table.drop_nulls().unique("id", keep="first").sort("id")
        self._ids, self._values = table["id"], table["value"]

    def __len__(self) -> int:
        return self._ids.len()

    def of(self, ids: pl.Series) -> pl.Series:
        """The text of each id, null where there is none."""
        if not len(self):
            return pl.Series(ids.name, [None] * ids.len(), dtype=pl.String)
        rows = self._ids.search_sorted(ids.fill_null(-1)).clip(0, len(self) - 1)
        looked_up = pl.DataFrame(
            {"asked": ids, "id": self._ids.gather(rows), "value": self._values.gather(rows)}
        )
        return looked_up.select(
            pl.when(pl.col("asked") == pl.col("id")).then("value").alias(ids.name)
        ).to_series()
