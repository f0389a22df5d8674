"""What an agent may ask of runs that hold more: generated code, sweeps, ranks, counters.

As in `tools.py`, names, docstrings and parameters are what it reads.
"""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from profiler_core.agents.answer import Page, page
from profiler_core.agents.kernel_names import short_names
from profiler_core.agents.runs import compared, path_of
from profiler_core.answers.counters import CountedKernel, CountersTotals, counters_answer
from profiler_core.answers.explanation import NotFusedAnswer, not_fused_answer
from profiler_core.answers.ranks import RanksAnswer, ranks_answer
from profiler_core.answers.sweep import SweepAnswer, sweep_answer
from profiler_core.cli.counters import report_of
from profiler_core.cli.sweep_runs import sweep_at
from profiler_core.session.job import jobs_at

_FEW_ROWS = 10


class CountersPage(CountersTotals, frozen=True, kw_only=True):
    """Totals of the whole file, and a page of its kernels."""

    n: int
    offset: int
    rows: tuple[CountedKernel, ...]
    next_offset: int | UnsetType = UNSET


class NotFusedPage(Page, frozen=True):
    """Pairs of calls, the most expensive first."""

    rows: tuple[NotFusedAnswer, ...]


def not_fused(
    baseline: str, candidate: str, offset: int = 0, limit: int = _FEW_ROWS
) -> NotFusedPage:
    """Which neighbouring calls of the candidate's generated code stayed two kernels, and why.

    Each passes an intermediate through memory: bytes and the bound on the time per step, the
    reason, and the option or rewrite that could change it; most expensive first.
    """
    pairs = compared(baseline, [candidate]).pairs[0].explanation.not_fused
    return page(NotFusedPage, [not_fused_answer(pair) for pair in pairs], offset, limit)


def sweep(run: str) -> SweepAnswer:
    """A sweep over batch size or another option: from which value on compiling pays, each point.

    run: any run of any of its points, or the folder of a sweep.
    """
    return sweep_answer(sweep_at(path_of(run)))


def ranks(run: str) -> RanksAnswer:
    """Who waits for whom among the ranks of a distributed job, and in which collectives.

    run: the id of a run of several ranks, or a folder of rank traces, or a whole capture.
    """
    return ranks_answer(jobs_at(str(path_of(run))))


def counters(run: str, contains: str = "", offset: int = 0, limit: int = _FEW_ROWS) -> CountersPage:
    """What Nsight Compute measured: DRAM and L2 bytes, bandwidth, occupancy, tensor pipe.

    run: one that holds counters, or a CSV file. contains: part of a kernel's name. Sums are of
    the whole file; estimated_bytes is what shapes demand.
    """
    answer = counters_answer(report_of(path_of(run)))
    shown = short_names([kernel.name for kernel in answer.kernels])
    rows = [
        replace(kernel, name=shown[kernel.name])
        for kernel in answer.kernels
        if contains.lower() in kernel.name.lower()
    ]
    return page(CountersPage, rows, offset, limit, answer)


SPECIAL = (not_fused, sweep, ranks, counters)
