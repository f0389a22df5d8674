"""The single calls of one kernel, copy or memset: how long each took, and who launched it."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.event_operators import event_operators
from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.work import device_work
from profiler_core.model.trace import Trace


@dataclass(frozen=True)
class KernelCalls:
    """All calls of one name in the window, in order of time."""

    name: str
    dur_ns: tuple[int, ...]
    longest: tuple[str, int] | None  # the longest call: table of the trace, and row in it
    by_launch: Mapping[str, int]  # runtime call -> kernels it started, most first
    by_operator: Mapping[str, int]  # innermost operator around the launch -> kernels
    grids: Mapping[str, int]  # "grid [1568,1,1], block [128,1,1]" -> calls

    @property
    def n(self) -> int:
        """Number of calls."""
        return len(self.dur_ns)


def kernel_calls(trace: Trace, name: str) -> KernelCalls:
    """Look at one kernel, copy or memset. An unknown name has no calls.

    The operator is the one whose External id the kernel carries; a CUDA graph's kernels have that
    of the captured call where the capture is at hand, else only the launch is known.
    """
    work = device_work(trace)
    calls = work.with_row_index("row").filter(
        pl.col("step").is_not_null(),
        per_name(work["name"], lambda kernel_name: kernel_name == name, pl.Boolean),
    )
    called_from = event_operators(trace, calls.select(event="row", external_id="external_id"))
    shapes = calls.filter(pl.col("grid").is_not_null()).select(
        shape=pl.format("grid {}, block {}", "grid", pl.col("block").fill_null("?"))
    )
    return KernelCalls(
        name=name,
        dur_ns=tuple(calls["dur_ns"]),
        longest=_longest(trace, calls),
        by_launch=_counts(calls["launch_name"].drop_nulls().cast(pl.String)),
        by_operator=_counts(called_from["name"]) if trace.has_device_events else {},
        grids=_counts(shapes["shape"]),
    )


def _longest(trace: Trace, calls: pl.DataFrame) -> tuple[str, int] | None:
    if calls.height == 0:
        return None
    call = calls.sort("dur_ns", descending=True, maintain_order=True).row(0, named=True)
    if trace.has_device_events:
        return "device", call["row"]
    matches = trace.ops.with_row_index("row").filter(  # on the CPU the operator is the kernel
        pl.col("ts_ns") == call["ts_ns"],
        pl.col("dur_ns") == call["dur_ns"],
        pl.col("name").cast(pl.String) == call["name"],
    )
    return ("ops", matches["row"][0]) if matches.height else None


def _counts(values: pl.Series) -> dict[str, int]:
    counts = values.alias("value").to_frame().group_by("value").len()
    return dict(counts.sort("len", "value", descending=[True, False]).iter_rows())
