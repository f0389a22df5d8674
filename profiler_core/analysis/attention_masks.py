"""Whether the attention of a fusion group is handed a mask: by the trace, or as Dynamo traced it.

Compiled attention may be in parts, products and a softmax, so the trace of its run has no operator
of it; the graph that Dynamo traced has the call as the user's code makes it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from profiler_core.analysis.handed_more import MASK_POSITIONS, operators_of_work
from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger
from profiler_core.analysis.operator_arguments import json_list
from profiler_core.analysis.work import device_work
from profiler_core.model.inductor import CompiledGraph, InductorLog
from profiler_core.model.trace import Trace

_WITHOUT = "flash_attention"  # takes none: what stands there are lengths of sequences
_TRACED = "scaled_dot_product_attention"
_POSITION_TRACED = 3
_CONSTANTS = frozenset(("None", "True", "False"))  # printed among the names of arguments


@dataclass(frozen=True)
class Masks:
    """Is the attention handed a mask? None: no file says it, or its calls differ."""

    before: bool | None  # in the baseline
    after: bool | None  # in the candidate


def masks_of(
    ledger: FusionLedger,
    number: int,
    baseline: Trace | None,
    candidate: Trace | None,
    code: InductorLog | None,
) -> Masks:
    """Of one group.

    Args:
        ledger: of the traces.
        number: of the group in it.
        baseline: its trace.
        candidate: its trace.
        code: what Inductor wrote down of the candidate.
    """
    before = _in_trace(baseline, ledger.baseline_group, number)
    after = _in_trace(candidate, ledger.candidate_group, number)
    return Masks(before, _in_graphs(code, ledger.groups[number]) if after is None else after)


def _in_trace(trace: Trace | None, group_of: np.ndarray, number: int) -> bool | None:
    """By the arguments of the operators that launch its kernels."""
    if trace is None or device_work(trace).height != group_of.size:
        return None  # the ledger is of another rank than this trace
    calls = (
        operators_of_work(trace)[np.flatnonzero(group_of == number)]
        .drop_nulls("operator")
        .select("operator", "input_dims", "input_types")
        .unique()
    )
    return _agreed(_is_handed_one(*call) for call in calls.iter_rows())


def _is_handed_one(name: str, dims: str, types: str | None) -> bool | None:
    if _WITHOUT in name:
        return False
    position, shapes, kinds = MASK_POSITIONS.get(name), json_list(dims), json_list(types)
    if position is None or position >= min(len(shapes), len(kinds)):
        return None
    return bool(shapes[position]) or bool(kinds[position])


def _in_graphs(code: InductorLog | None, group: FusionGroup) -> bool | None:
    """By the nodes that its generated calls come from."""
    if code is None:
        return None
    return _agreed(mask is not None for _, _, mask in traced_masks(code, group))


def traced_masks(
    code: InductorLog, group: FusionGroup
) -> Iterator[tuple[int, CompiledGraph, str | None]]:
    """Each attention that a group's generated calls compute, as Dynamo traced it.

    Yields:
        Number of its graph, the graph, and the value handed over as mask; None: it is handed none.
    """
    for graph_number, call in group.candidate.calls:
        graph = code.graphs[graph_number]
        post_nodes = graph.calls[call].post_nodes
        names = {name for node in post_nodes for name in graph.post_to_pre.get(node, ())}
        for node in graph.dynamo_nodes:
            if node.name in names and node.target.endswith(_TRACED):
                given = next(iter(node.arguments[_POSITION_TRACED:]), "None")
                yield graph_number, graph, None if given in _CONSTANTS else given


def _agreed(answers: Iterable[bool | None]) -> bool | None:
    """The one that all give which know; None where none does, or they differ."""
    given = {answer for answer in answers if answer is not None}
    return given.pop() if len(given) == 1 else None
