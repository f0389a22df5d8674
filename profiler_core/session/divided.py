"""The device time of a pair, or of a run alone, by nn.Module and by operator."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.engines import memory_note
from profiler_core.analysis.graph_replays.bucket_steps import bucket_steps
from profiler_core.analysis.graph_replays.phases import Bucket
from profiler_core.analysis.ledger.ledger import fusion_ledger
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.memory.allocations import allocations
from profiler_core.analysis.memory.curve import memory_curves
from profiler_core.analysis.memory.report import replays_graphs
from profiler_core.analysis.memory.vanished import made_by_group
from profiler_core.analysis.modules import ModuleTree, module_tree
from profiler_core.analysis.operators import OperatorRow, operator_rows
from profiler_core.analysis.rows.server import bucket_name
from profiler_core.errors import NothingToAnalyse

if TYPE_CHECKING:
    from profiler_core.session.run import Run


@dataclass(frozen=True)
class Divided:
    """One division of all kernels of the profiled steps, and another; both sum to the ledger's."""

    ledger: FusionLedger
    modules: ModuleTree
    operators: tuple[OperatorRow, ...]


def divided(ledger: FusionLedger, runs: "tuple[Run, Run]") -> Divided:
    """The time, kernels, bytes and memory of a baseline and a candidate.

    Args:
        ledger: of the two.
        runs: the two.
    """
    made = _made(runs[0], ledger.baseline_group), _made(runs[1], ledger.candidate_group)
    return Divided(ledger, module_tree(ledger, made), operator_rows(ledger))


def divided_alone(run: "Run") -> Divided:
    """The same of one run, which is faced with itself: both sides are its own.

    Raises:
        NothingToAnalyse: it has no trace, or one without kernels and operators.
        BadInput: its trace cannot be read.
    """
    run.required_summary()
    run.required_work()
    side = run.material.ledger_side
    if side is None:
        raise NothingToAnalyse(
            f"The run {run.path} has no trace of kernels or operators.",
            remedy="Capture it with the profiled pass.",
        )
    ledger = fusion_ledger(side, side)
    made = _made(run, ledger.candidate_group)
    return Divided(ledger, module_tree(ledger, (made, made)), operator_rows(ledger))


def divided_bucket(runs: "tuple[Run, Run]", bucket: Bucket) -> Divided:
    """The time, kernels and bytes of the steps of one phase and batch size of a server.

    The groups are those of a ledger of these steps, and not of the one of all.

    Args:
        runs: baseline and candidate; twice the same one for a run alone.
        bucket: that both have.

    Raises:
        NothingToAnalyse: one of them has no kernels in such steps.
    """
    sides = []
    for run in dict.fromkeys(runs):
        side, buckets = run.material.ledger_side, run.server_buckets
        if side is None or bucket not in buckets:
            there = "; ".join(map(bucket_name, buckets)) or "none"
            raise NothingToAnalyse(
                f"The run {run.path} has no kernels in steps of a server called "
                f"{bucket_name(bucket)}.",
                remedy=f"Choose among the steps that it has: {there}.",
            )
        sides.append(replace(side, trace=bucket_steps(side.trace, bucket)))
    ledger = fusion_ledger(sides[0], sides[-1])
    return Divided(ledger, module_tree(ledger, (None, None)), operator_rows(ledger))


def _made(run: "Run", group_of_row: npt.NDArray[np.int32]) -> Mapping[int, float] | None:
    """Bytes that each group allocates in the profiled steps; None: no file says it.

    Where steps replay CUDA graphs none does: what a graph's pool holds is in no event.
    Of a job the ledger may be of another rank than the one whose memory is known.
    """
    trace = run.trace if run.shown is run else None
    if trace is None or memory_note(trace) is not None or replays_graphs(trace):
        return None
    curves = memory_curves(trace)
    if not curves:
        return None
    made = allocations(trace, curves[0].device_type, curves[0].device_id)
    return {group: n for group, (_, n) in made_by_group(made, group_of_row).items()}
