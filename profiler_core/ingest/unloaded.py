"""A trace that was read but is not in memory, whatever kind of file it came from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from profiler_core.model.tally import Tally
from profiler_core.model.trace import TABLE_SCHEMAS, Trace


@dataclass(frozen=True)
class Reading:
    """A trace that was read but is not in memory: its tables are made one at a time."""

    source: str
    origin_ns: int
    metadata: dict[str, Any]
    tally: Tally
    table: Callable[[str], pl.DataFrame]  # each once

    def load(self) -> Trace:
        """All tables in memory at once."""
        return Trace(
            source=self.source,
            origin_ns=self.origin_ns,
            metadata=self.metadata,
            tally=self.tally,
            graph_captures=(),
            **{table: self.table(table) for table in TABLE_SCHEMAS},
        )
