"""Biases of convolutions that a generated kernel adds, and eager's convolution adds itself.

Inductor leaves the bias out of the call of cuDNN and adds it in the kernel of what follows. So the
convolution's group is rid of the kernel that added it, and the group of what follows has one that
does more than its own operators.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from profiler_core.analysis.ledger.operators import operator
from profiler_core.analysis.ledger.result import AddedWork, FusionGroup
from profiler_core.analysis.span import Span
from profiler_core.model.inductor import CompiledGraph, GraphNode
from profiler_core.units import format_duration

_Call = tuple[int, int]  # as in `GroupSide.calls`
_BIAS = 2  # its place among the tensors that a convolution is handed


def biases_ns(groups: Sequence[FusionGroup], graphs: Iterable[CompiledGraph]) -> dict[int, float]:
    """What the baseline needs to add the biases that a group's kernels add for other groups.

    Args:
        groups: those of a ledger.
        graphs: what was generated for the candidate, as its log has it.

    Returns:
        Place of a group -> ns per step of the baseline, only where there is such a bias.
    """
    added = _added(groups, graphs)
    return {place: sum(others.values()) for place, others in added.items()}


def with_biases(
    groups: Sequence[FusionGroup], graphs: Iterable[CompiledGraph], span: Span
) -> list[FusionGroup]:
    """The groups, those that add a bias with what they add, all concerned with a note about it."""
    notes: dict[int, list[str]] = {}
    added = _added(groups, graphs)
    for place, others in added.items():
        for other, time_ns in others.items():
            time = f"{format_duration(time_ns)} {span}"
            notes.setdefault(place, []).append(
                f"its kernel adds the bias of {groups[other].title} besides, which takes the "
                f"baseline {time} in that group"
            )
            notes.setdefault(other, []).append(
                f"the bias, which takes the baseline {time} of this, is added by the kernel of "
                f"{groups[place].title} in the candidate"
            )
    return [
        replace(
            group,
            notes=(*notes.get(place, ()), *group.notes),
            adds=tuple(_work(groups[other]) for other in added.get(place, ())),
        )
        for place, group in enumerate(groups)
    ]


def _work(group: FusionGroup) -> AddedWork:
    """The bias of a convolution's group."""
    named = [each.op for each in group.baseline.operators if operator(each.op) == "convolution"]
    works = group.candidate.modules or group.baseline.modules
    modules = dict.fromkeys(module for work in works for module, _ in work.operators)
    time_ns = _adding_kernels_ns(group)
    return AddedWork((*named, group.title)[0], tuple(modules), time_ns, group.sources)


def _added(
    groups: Sequence[FusionGroup], graphs: Iterable[CompiledGraph]
) -> dict[int, dict[int, float]]:
    """Place of a group -> place of each whose bias it adds -> the baseline's ns per step for it."""
    convolutions = {
        call: others
        for number, graph in enumerate(graphs)
        for call, others in _added_for(number, graph)
    }
    place_of = {call: place for place, group in enumerate(groups) for call in group.candidate.calls}
    added: dict[int, dict[int, float]] = {}
    for place, group in enumerate(groups):
        theirs = {
            place_of[other]: None
            for call in group.candidate.calls
            for other in convolutions.get(call, ())
            if place_of.get(other, place) != place
        }
        times = {other: time_ns for other in theirs if (time_ns := _adding_ns(groups[other]))}
        if times:
            added[place] = times
    return added


def added_bias(node: GraphNode) -> str | None:
    """The bias that a convolution is handed, which what follows it may add; None: no convolution.

    Without a bias the argument at its place is another one, that no kernel is handed.
    """
    is_convolution = operator(node.target) == "convolution" and len(node.arguments) > _BIAS
    return node.arguments[_BIAS] if is_convolution else None


def _added_for(number: int, graph: CompiledGraph) -> Iterator[tuple[_Call, tuple[_Call, ...]]]:
    """Generated kernels, and the calls of the convolutions whose biases they add."""
    bias_of = {node.name: bias for node in graph.post_nodes if (bias := added_bias(node))}
    without = [
        (bias, call.index)
        for call in graph.calls
        if call.kind == "library"
        and (bias := bias_of.get(next(iter(call.post_nodes), ""))) is not None
        and bias not in call.arguments
    ]
    for call in graph.calls:
        others = tuple((number, index) for bias, index in without if bias in call.arguments)
        if others and call.kind == "triton":
            yield (number, call.index), others


def _adding_ns(group: FusionGroup) -> float:
    """The baseline's kernels of a convolution that add its bias, ns per step."""
    return group.per_step(_adding_kernels_ns(group), 0)


def _adding_kernels_ns(group: FusionGroup) -> int:
    kernels = (k for k in group.baseline.kernels if k.category == "elementwise")
    return sum(kernel.time_ns for kernel in kernels)
