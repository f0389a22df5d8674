"""What Nsight Compute measured, added up over the whole file."""

from typing import Annotated

from profiler_core.analysis.counters.report import CountersReport
from profiler_core.answers.record import Answer, means

_DEVICE = means("name of the file; the GPU and its L2 cache, as the file says them", "bytes")
_DRAM = means("through DRAM", "bytes")
_L2 = means("through the L2 cache", "bytes")
_MEANS = means(
    "of the memory's peak; active warps of the most that fit; cycles of the tensor pipe; means "
    "weighted by time",
    "%",
)


class MeasuredAnswer(Answer, frozen=True):
    """Measures of some kernels together."""

    time_ns: Annotated[
        float | None, means("of the kernels, each run alone: no part of the step time", "ns")
    ]
    dram_read_bytes: Annotated[float | None, _DRAM]
    dram_write_bytes: Annotated[float | None, _DRAM]
    l2_read_bytes: Annotated[float | None, _L2]
    l2_write_bytes: Annotated[float | None, _L2]
    dram_bytes_per_s: Annotated[float | None, means("both DRAM directions over `time_ns`", "B/s")]
    dram_pct: Annotated[float | None, _MEANS]
    occupancy_pct: Annotated[float | None, _MEANS]
    tensor_pct: Annotated[float | None, _MEANS]
    n_tensor: Annotated[int | None, means("kernels that use the tensor pipe", "count")]


class CountedKernel(MeasuredAnswer, frozen=True):
    """One kernel, by name as ncu prints it."""

    name: str
    n: int
    estimated_bytes: float | None


class CountersTotals(MeasuredAnswer, frozen=True):
    """The whole file, added up."""

    source: Annotated[str, _DEVICE]
    device_name: Annotated[str | None, _DEVICE]
    l2_size_bytes: Annotated[int | None, _DEVICE]
    n_kernels: Annotated[int, means("kernels that ncu saw", "count")]
    matched_time_share: Annotated[
        float | None,
        means("share of the trace's kernel time whose kernels have a row; null without a trace"),
    ]
    n_steps: Annotated[
        int | None,
        means("steps that the file holds; sums are of all of them; null without a trace", "count"),
    ]
    notes: Annotated[tuple[str, ...], means("one sentence for each thing that limits the numbers")]


class CountersAnswer(CountersTotals, frozen=True):
    """`counters`."""

    kernels: Annotated[
        tuple[CountedKernel, ...],
        means(
            "by name as ncu prints it, longest first: `name`, `n`, the measures above, "
            "`estimated_bytes` (what shapes demand of the same kernels; null: not known, or no "
            "trace)"
        ),
    ]


def counters_answer(report: CountersReport) -> CountersAnswer:
    """Of one file of counters."""
    return CountersAnswer.of(
        report,
        report.total,
        n_kernels=report.total.n,
        n_steps=None if report.joined is None else report.joined.n_counted_steps,
        kernels=tuple(CountedKernel.of(kernel, kernel.measured) for kernel in report.kernels),
    )
