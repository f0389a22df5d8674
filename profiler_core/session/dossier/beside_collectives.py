"""Which part of a time lies beside collectives of a job: of groups and of a kernel, in each run."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from profiler_core.analysis.ranks.share_beside import is_cost_unknown
from profiler_core.analysis.wording.groups import beside_sentence
from profiler_core.analysis.work import device_work
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.ledger_runs import LedgerRuns
from profiler_core.session.run import Run


def share_of_groups(
    comparison: Comparison, shown: LedgerRuns, numbers: Sequence[int], n: int
) -> float:
    """`Run.share_beside` of all that groups run in one of the runs; 0 where no trace says it.

    Args:
        comparison: that the runs are of.
        shown: the runs with their ledger.
        numbers: of the groups in it.
        n: place of the run among these.
    """
    run = comparison.runs[shown.runs[n]]
    trace, ledger = run.worked_trace, shown.ledger
    group_of = (ledger.baseline_group, ledger.candidate_group)[shown.sides[n]]
    if trace is None or device_work(trace).height != group_of.size:
        return 0.0  # the ledger is of another rank than this trace
    return run.share_beside(np.flatnonzero(np.isin(group_of, numbers)))


def share_of_kernel(run: Run, name: str) -> float:
    """The same of a kernel's calls in the profiled steps."""
    trace = run.worked_trace
    if trace is None or run.shown_rank is None or not trace.has_device_events:
        return 0.0
    is_call = (pl.col("name").cast(pl.String) == name) & pl.col("step").is_not_null()
    return run.share_beside(device_work(trace).select(is_call.arg_true()).to_series().to_numpy())


def groups_beside(
    comparison: Comparison, shown: LedgerRuns, numbers: Sequence[int]
) -> tuple[str, ...]:
    """Of groups, in which runs collectives hide what they cost alone; () where in none."""
    shares = (share_of_groups(comparison, shown, numbers, n) for n in range(len(shown.runs)))
    return told_beside(dict(zip(shown.labels, shares, strict=True)))


def told_beside(shares: Mapping[str, float]) -> tuple[str, ...]:
    """The same of shares by the labels of their runs."""
    unknown = {label: share for label, share in shares.items() if is_cost_unknown(share)}
    return tuple(filter(None, (beside_sentence(unknown),)))
