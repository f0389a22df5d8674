"""What a generated call does for an operator that another call computes, in words.

It writes what a later call of the operator reads (a converted weight, a copy in another layout), or
goes on with what an earlier one wrote (the second half of a split reduction, a bias). Which of
these is read off the buffers, and what is done off the kernel's source; else nothing is said.
"""

import re
from collections.abc import Mapping, Sequence
from operator import or_

from profiler_core.analysis.ledger.buffers import NO_BUFFER, Memory, memory_of
from profiler_core.analysis.ledger.fragments import definition_of
from profiler_core.analysis.ledger.ownership import Ownership
from profiler_core.analysis.wording.sentence import listed
from profiler_core.model.inductor import CompiledGraph, GeneratedCall

_VALUE = re.compile(r"^\s*tmp\d+ = (?P<made>.+)$", re.MULTILINE)
_CONVERTED = re.compile(r"tmp\d+\.to\([\w.]+\)")
_PARAMETERS = re.compile(r"^def \w+\((?P<names>[^()]*)\)", re.MULTILINE)
_IN_PLACE = "in_out_ptr"
_NAMESPACES = ("torch.ops.", ".")


def works_for(graph: CompiledGraph, owned: Ownership) -> dict[int, str]:
    """Call that follows an origin -> what it does for it, a clause.

    For instance: an input of extern_kernels.convolution for torch.conv2d (out_3) is converted to
    bf16 by triton_poi_fused__to_copy_6. Calls that do the same for an origin
    have one clause together, as they are in one group.

    Args:
        graph: a generated module with its graphs.
        owned: which calls compute which of its origins.
    """
    memory = memory_of(graph.code)
    targets = {node.name: node.target for node in (*graph.post_nodes, *graph.dynamo_nodes)}
    alike: dict[tuple[str, str, str], list[int]] = {}
    told: dict[int, str] = {}
    for index, origin in owned.follows.items():
        call = graph.calls[index]
        owners = [graph.calls[owner] for owner in owned.owners.get(origin, ()) if owner != index]
        reader, done = _input_of(graph, memory, call, owners)
        other = reader or _goes_on_with(graph, memory, call, owners)
        if other is not None and (reader is None or reader.kind != "library"):
            first, last = sorted((call, other), key=lambda each: each.index)
            operator = _named(origin, targets)
            told[index] = (
                f"the result of {operator} is begun by {first.name} and finished by {last.name}"
            )
        elif reader is not None:
            alike.setdefault((origin, done, reader.name), []).append(index)
    for (origin, done, owner), calls in alike.items():
        names = listed(list(dict.fromkeys(graph.calls[index].name for index in calls)))
        inputs = "an input" if len(calls) == 1 else f"{len(calls)} inputs"
        verb = f"{'is' if len(calls) == 1 else 'are'} {done}"
        clause = f"{inputs} of {owner} for {_named(origin, targets)} {verb} by {names}"
        told.update(dict.fromkeys(calls, clause))
    return told


def _named(origin: str, targets: Mapping[str, str]) -> str:
    """The operator with its name in the graph: "aten.sum.dim_IntList (sum_1)"."""
    target = targets.get(origin, "")
    for namespace in _NAMESPACES:
        target = target.removeprefix(namespace)
    return f"{target} ({origin})" if target else origin


def _input_of(
    graph: CompiledGraph, memory: Memory, call: GeneratedCall, owners: Sequence[GeneratedCall]
) -> tuple[GeneratedCall | None, str]:
    """The first of the owners that reads what a call writes, and what is done to it: "copied"."""
    written = _written(graph, memory, call)
    for owner in owners:
        handed = written & _buffers(memory, owner.arguments)
        if owner.index > call.index and handed:
            return owner, _done(graph, call, handed)
    return None, ""


def _goes_on_with(
    graph: CompiledGraph, memory: Memory, call: GeneratedCall, owners: Sequence[GeneratedCall]
) -> GeneratedCall | None:
    """The last of the owners that wrote what a call reads."""
    read = _buffers(memory, call.arguments) | _in_place(graph, memory, call)
    before = (owner for owner in reversed(owners) if owner.index < call.index)
    return next((owner for owner in before if _written(graph, memory, owner) & read), None)


def _buffers(memory: Memory, names: Sequence[str]) -> set[str]:
    buffers = (memory.name(name) for name in names if name not in NO_BUFFER)
    return {buffer for buffer in buffers if buffer.startswith("buf")}


def _in_place(graph: CompiledGraph, memory: Memory, call: GeneratedCall) -> set[str]:
    """Buffers whose content a call changes, by the names under which others wrote it."""
    printed = graph.kernels.get(call.name)
    parameters = _PARAMETERS.search(printed.source) if printed is not None else None
    names = parameters["names"].split(",") if parameters is not None else []
    given = [name for name in call.arguments if name not in NO_BUFFER]
    changed = [buffer for name, buffer in zip(names, given, strict=False) if _IN_PLACE in name]
    return _buffers(memory, [memory.took_over.get(buffer, buffer) for buffer in changed])


def _written(graph: CompiledGraph, memory: Memory, call: GeneratedCall) -> set[str]:
    """Buffers that a call makes or stores to; of a library call also the one behind `out`."""
    if call.kind == "triton":
        printed = graph.kernels.get(call.name)
        places = definition_of(printed.source).written if printed is not None else ()
        given = [name for name in call.arguments if name not in NO_BUFFER]
        return _buffers(memory, [given[place] for place in places if place < len(given)])
    behind = call.arguments[call.arguments.index("out") + 1 :] if "out" in call.arguments else ()
    return _buffers(memory, [*behind[:1], *((call.result,) if call.result else ())])


def _done(graph: CompiledGraph, call: GeneratedCall, handed: set[str]) -> str:
    """How: "converted to bf16", by a kernel's source; "written" where that does not tell."""
    printed = graph.kernels.get(call.name) if call.kind == "triton" else None
    if printed is None:
        return "written"
    values = [value["made"] for value in _VALUE.finditer(printed.source)]
    is_loaded = [value.startswith("tl.load(") for value in values]
    converts = [bool(_CONVERTED.fullmatch(value)) for value in values]
    if not all(map(or_, is_loaded, converts)):
        return "computed"
    types = {description.partition("[")[0] for _, description in printed.inputs}
    made = {graph.buffers[buffer][1] for buffer in handed if buffer in graph.buffers}
    if all(is_loaded) or (types == made and len(made) == 1):
        return "copied"
    return f"converted to {made.pop()}" if len(types) == len(made) == 1 else "written"
