"""What Nsight Compute measured: one row a kernel that it saw, in the order of the program.

Columns are declared here and nowhere else. Null is "not measured", never 0. Times are those of a
kernel that ran alone, with the profiler around it: never mixed with a trace's times.
"""

from dataclasses import dataclass, field

import polars as pl

from profiler_core.model.tally import Tally

COUNTERS_SCHEMA: dict[str, pl.DataType] = {
    "name": pl.String(),  # as ncu prints it: "at::foo" where Kineto has "at::native::foo<…>"
    "grid": pl.String(),  # "[1568,1,1]", as in a trace
    "block": pl.String(),
    "n_threads": pl.Float64(),
    "time_ns": pl.Float64(),
    "dram_read_bytes": pl.Float64(),
    "dram_write_bytes": pl.Float64(),
    "dram_pct": pl.Float64(),  # of the peak that the memory sustains
    "l2_read_bytes": pl.Float64(),
    "l2_write_bytes": pl.Float64(),
    "occupancy_pct": pl.Float64(),  # active warps of those that an SM can hold
    "tensor_instructions": pl.Float64(),
    "tensor_pct": pl.Float64(),  # of the cycles of the tensor pipe
    "l2_size_bytes": pl.Float64(),
    "device_name": pl.String(),
}


@dataclass(frozen=True)
class Counters:
    """The kernels of one file. The frame is shared between sessions: nobody writes to it."""

    source: str
    kernels: pl.DataFrame
    missing: tuple[str, ...] = ()  # columns of the schema that the file does not have
    tally: Tally = field(default_factory=Tally)

    @property
    def device_name(self) -> str | None:
        """As the driver reports it."""
        return self._first("device_name")

    @property
    def l2_size_bytes(self) -> int | None:
        """Size of the device's L2 cache."""
        size = self._first("l2_size_bytes")
        return None if size is None else int(size)

    def _first(self, column: str) -> str | None:
        values = self.kernels[column].drop_nulls()
        return values[0] if values.len() else None
