"""What the operators and generated kernels of a fusion group are handed and give, on both sides."""

from collections.abc import Iterator, Sequence

import polars as pl

from profiler_core.analysis.dossier.generated import (
    buffers_of_call,
    calls_of_group,
    roles_of_calls,
)
from profiler_core.analysis.dossier.launches import arguments_of, takes_lists, takes_unsized_lists
from profiler_core.analysis.dossier.record import Arguments
from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.work import device_work
from profiler_core.model.inductor import CompiledGraph, GeneratedCall
from profiler_core.model.trace import Trace
from profiler_core.session.pair import Pair

_LIBRARY = "extern_kernels."


def arguments_of_group(
    pair: Pair, number: int, products: Sequence[Sequence[OpWork]]
) -> tuple[Arguments, ...]:
    """Of both sides, the baseline first: products, other operators, then what the log says.

    Of a generated kernel the trace has all tensors that it is handed, and its code which of them it
    writes. Where the trace has none, or the code does not tell, the log says what it can.

    Args:
        pair: that the group is of.
        number: of the group in its ledger.
        products: matrix products and convolutions of either side of it.
    """
    before, after = (_recorded(pair, number, side, products[side]) for side in (0, 1))
    told = {entry.operator for entry in after if entry.outputs}
    described = [
        entry
        for entry in _described(pair, number)
        if not told & {entry.operator, _recorded_as(entry.operator)}
    ]
    whole = {entry.operator for entry in described if entry.inputs and entry.outputs}
    after = [entry for entry in after if entry.operator not in whole]
    recorded = {entry.operator for entry in after}
    return (*before, *after, *(entry for entry in described if entry.operator not in recorded))


def _recorded_as(call: str) -> str:
    """The operator that a library call of generated code is in a trace: `extern_kernels.mm`."""
    return f"aten::{call.removeprefix(_LIBRARY)}" if call.startswith(_LIBRARY) else call


def _described(pair: Pair, number: int) -> list[Arguments]:
    """What the candidate's log says of the generated calls."""
    entries = (
        Arguments(pair.labels[1], call.name, *buffers_of_call(graph, call))
        for graph, call in _calls(pair, number)
    )
    return [entry for entry in entries if entry.inputs or entry.outputs]


def _calls(pair: Pair, number: int) -> list[tuple[CompiledGraph, GeneratedCall]]:
    """The generated calls of the candidate's side."""
    code = pair.candidate.code
    return calls_of_group(code, pair.ledger.groups[number]) if code is not None else []


def _recorded(pair: Pair, number: int, side: int, products: Sequence[OpWork]) -> list[Arguments]:
    """What the trace of a side has, products first."""
    label, group = pair.labels[side], pair.ledger.groups[number]
    told = [
        Arguments(label, op.name, op.arguments, op.results, group.per_step(len(op.times_ns), side))
        for op in products
        if op.arguments
    ]
    known = {(entry.operator, entry.inputs) for entry in told}
    roles = roles_of_calls(_calls(pair, number)) if side else {}
    for trace, rows in _work_of_group(pair, number, side):
        others = arguments_of(label, trace, rows, group.n_steps[side], roles)
        told += [entry for entry in others if (entry.operator, entry.inputs) not in known]
    return told


def group_takes_lists(pair: Pair, number: int) -> bool:
    """Is an operator of a group handed lists of tensors, whose types no trace has?"""
    works = (work for side in (0, 1) for work in _work_of_group(pair, number, side))
    return any(takes_lists(trace, rows) for trace, rows in works)


def group_takes_unsized_lists(pair: Pair, number: int) -> bool:
    """Is an operator of a group handed lists of tensors that torch records no shapes of?"""
    works = (work for side in (0, 1) for work in _work_of_group(pair, number, side))
    return any(takes_unsized_lists(trace, rows) for trace, rows in works)


def _work_of_group(pair: Pair, number: int, side: int) -> Iterator[tuple[Trace, pl.DataFrame]]:
    """The group's rows of `device_work`; none where the ledger is of another rank."""
    trace, ledger = pair.runs[side].worked_trace, pair.ledger
    group_of = (ledger.baseline_group, ledger.candidate_group)[side]
    if trace is not None and device_work(trace).height == group_of.size:
        yield trace, device_work(trace).filter(group_of == number)
