"""What the counters say of some kernels together: bytes, bandwidth, occupancy, tensor pipe."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from profiler_core.model.counters import COUNTERS_SCHEMA, Counters

# Instructions of the tensor pipe a warp. Measured on an H200 (ncu 2025.3): 63 and more in kernels
# that multiply matrices on it, 0 to 9 in all others, FP32 products among them.
_USES_TENSOR_PIPE = 24
_WARP = 32  # threads


@dataclass(frozen=True)
class Measured:
    """Sums over some kernels, each run alone. None: none of them has that counter."""

    n: int  # kernels with a row
    time_ns: float | None  # of the kernels run alone: no trace's time
    dram_read_bytes: float | None
    dram_write_bytes: float | None
    l2_read_bytes: float | None
    l2_write_bytes: float | None
    dram_pct: float | None  # of the memory's peak; this and the next two weighted by time
    occupancy_pct: float | None
    tensor_pct: float | None
    n_tensor: int | None  # kernels that use the tensor pipe

    @property
    def dram_bytes(self) -> float | None:
        """Read and written."""
        if self.dram_read_bytes is None or self.dram_write_bytes is None:
            return None
        return self.dram_read_bytes + self.dram_write_bytes

    @property
    def dram_bytes_per_s(self) -> float | None:
        """Achieved bandwidth."""
        moved, time = self.dram_bytes, self.time_ns
        return moved / (time * 1e-9) if moved is not None and time else None


class CounterSums:
    """Adds up rows of one file of counters; the columns are unpacked once."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    @cached_property
    def _columns(self) -> dict[str, npt.NDArray[np.float64]]:
        frame = self._counters.kernels
        return {
            column: frame[column].to_numpy().astype(np.float64)
            for column, dtype in COUNTERS_SCHEMA.items()
            if dtype.is_numeric()
        }

    def of(self, rows: Iterable[int]) -> Measured:
        """The sums of these rows; a row that is named twice counts twice."""
        row_numbers = np.fromiter(rows, dtype=np.int64)
        columns = {column: values[row_numbers] for column, values in self._columns.items()}
        time = columns["time_ns"]
        return Measured(
            n=len(row_numbers),
            time_ns=_sum(time),
            dram_read_bytes=_sum(columns["dram_read_bytes"]),
            dram_write_bytes=_sum(columns["dram_write_bytes"]),
            l2_read_bytes=_sum(columns["l2_read_bytes"]),
            l2_write_bytes=_sum(columns["l2_write_bytes"]),
            dram_pct=_mean(columns["dram_pct"], time),
            occupancy_pct=_mean(columns["occupancy_pct"], time),
            tensor_pct=_mean(columns["tensor_pct"], time),
            n_tensor=_n_tensor(columns),
        )

    @property
    def total(self) -> Measured:
        """Of the whole file."""
        return self.of(range(self._counters.kernels.height))


def _sum(values: npt.NDArray[np.float64]) -> float | None:
    numbers = values[~np.isnan(values)]
    return float(numbers.sum()) if len(numbers) else None


def _mean(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> float | None:
    has_both = ~np.isnan(values) & ~np.isnan(weights)
    if not has_both.any() or not weights[has_both].sum():
        return None
    return float(np.average(values[has_both], weights=weights[has_both]))


def _n_tensor(columns: dict[str, npt.NDArray[np.float64]]) -> int | None:
    per_warp = columns["tensor_instructions"] * _WARP / np.maximum(columns["n_threads"], 1.0)
    share = columns["tensor_pct"]
    is_measured = ~np.isnan(per_warp) | ~np.isnan(share)
    if not is_measured.any():
        return None
    uses = np.where(np.isnan(per_warp), share > 1.0, per_warp > _USES_TENSOR_PIPE)
    return int(uses[is_measured].sum())
