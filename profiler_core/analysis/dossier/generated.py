"""Generated kernels as they are shown: the kernel out of its Python string, its stores marked."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from profiler_core.analysis.dossier.record import Arguments, GeneratedCode
from profiler_core.analysis.ledger.added_biases import added_bias
from profiler_core.analysis.ledger.dataflow import computed_nodes
from profiler_core.analysis.ledger.fragments import PointerRole, pointer_roles
from profiler_core.analysis.ledger.operators import ANCHORS, operator
from profiler_core.analysis.ledger.ownership import own_nodes
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, GraphNode, InductorLog

_QUOTED = re.compile(
    r"^\w+ = async_compile\.(?P<how>\w+)\(.*?r?'''(?P<code>.*?)(?:'''|\Z)",
    re.DOTALL | re.MULTILINE,
)
# A Triton store or atomic; a C++ vector's store, an assignment through a pointer of the signature.
_STORE = re.compile(
    r"\btl\.(?:store|atomic_\w+)\(|\.store\((?:in_)?out_ptr"
    r"|\b(?:in_)?out_ptr\d*\[[^]]*\]\s*=|atomic_add\w*\(&?(?:in_)?out_ptr"
)

_LIBRARY = "Calls of a library"
_MOST_GRAPHS = 4
_OUT = "out"  # names of arguments stand among those of buffers


def generated_code(graph: CompiledGraph, name: str) -> GeneratedCode:
    """One kernel of a graph, with the lines that store its results.

    Args:
        graph: that has it in `kernels`.
        name: of the kernel.
    """
    language, text = readable(whole_source(graph, name, graph.kernels[name].source))
    stores = (n for n, line in enumerate(text.splitlines(), 1) if _STORE.search(line))
    return GeneratedCode(
        name, language, text, frozenset(stores), f"{graph.compile_id} {graph.direction}"
    )


def calls_of_kernel(log: InductorLog, name: str) -> list[tuple[CompiledGraph, GeneratedCall]]:
    """The calls of a generated kernel, in the order of the log.

    Args:
        log: of the run.
        name: of the kernel in the trace.
    """
    return [(graph, call) for graph in log.graphs for call in graph.calls if call.name == name]


def nodes_of_kernel(graph: CompiledGraph, name: str) -> tuple[GraphNode, ...]:
    """Post-grad nodes that the calls of a generated kernel compute.

    With a convolution's bias or layout Inductor lists all that came before a kernel: its nodes are
    those that the flow of data says it computes, and convolutions whose bias it adds; of a copy for
    a convolution or a product that one.
    Its source comment names nodes of the graph before AOT autograd: others may have these names
    after it. What each became stands beside it, and counts where no call says its nodes.

    Args:
        graph: that has the kernel.
        name: of the kernel.
    """
    nodes_by_call = _nodes_by_call(_Identical(graph))
    calls = (call for call in graph.calls if call.name == name)
    names = {node for call in calls for node in nodes_by_call[call.index]}
    definition = graph.kernels.get(name)
    if not names and definition is not None:
        names = {node for _, nodes in definition.nodes for node in nodes}
    return tuple(node for node in graph.post_nodes if node.name in names)


@dataclass(frozen=True, eq=False)
class _Identical:
    """A graph that is equal to itself alone, since comparing its nodes takes long."""

    graph: CompiledGraph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identical) and other.graph is self.graph

    def __hash__(self) -> int:
        return id(self.graph)


@lru_cache(maxsize=16)  # a page asks for each kernel of a graph
def _nodes_by_call(of: _Identical) -> dict[int, tuple[str, ...]]:
    """Call -> the names of the nodes that it computes."""
    nodes = {node.name: node for node in of.graph.post_nodes}
    computed = computed_nodes(of.graph, own_nodes(of.graph))
    return {
        call.index: _computed_by(call, nodes, computed.get(call.index, ()))
        for call in of.graph.calls
    }


def _computed_by(
    call: GeneratedCall, nodes: Mapping[str, GraphNode], computed: tuple[str, ...]
) -> tuple[str, ...]:
    """The nodes of a call, of those that Inductor lists where the flow of data tells none.

    What a copy is for is listed first, before all that came before it.

    Args:
        call: of the graph.
        nodes: of its graph after all passes, by name.
        computed: its nodes by the flow of data.
    """
    listed = [nodes[name] for name in call.post_nodes if name in nodes]
    if computed:
        biased = (node.name for node in listed if added_bias(node) in call.arguments)
        return (*biased, *computed)
    first = nodes.get(next(iter(call.post_nodes), ""))
    is_copy = first is not None and operator(first.target) in ANCHORS
    return call.post_nodes[:1] if is_copy else call.post_nodes


def calls_of_group(
    log: InductorLog, group: FusionGroup
) -> list[tuple[CompiledGraph, GeneratedCall]]:
    """The calls of the generated code that are the candidate's side of a group."""
    call_numbers = set(group.candidate.calls)
    calls = [
        (graph, call)
        for number, graph in enumerate(log.graphs)
        for call in graph.calls
        if (number, call.index) in call_numbers
    ]
    if calls:
        return calls
    names = {operator.op for operator in group.candidate.operators}
    return [(g, call) for g in log.graphs for call in g.calls if call.name in names]


def generated_of_groups(
    log: InductorLog, groups: Iterable[FusionGroup]
) -> tuple[GeneratedCode, ...]:
    """The code of the candidate's side of some groups: what takes longest in them first."""
    calls: list[tuple[CompiledGraph, GeneratedCall]] = []
    times_ns: dict[str, float] = {}
    for group in groups:
        calls.extend(calls_of_group(log, group))
        for kernel in group.candidate.kernels:
            if kernel.is_kernel:
                before_ns = times_ns.get(kernel.name, 0.0)
                times_ns[kernel.name] = before_ns + group.per_step(kernel.time_ns, 1)
    pieces = generated_of_calls(calls)
    written = {piece.name for piece in pieces}
    of_libraries_ns = sum(ns for name, ns in times_ns.items() if name not in written)
    times_ns[_LIBRARY] = of_libraries_ns
    return tuple(sorted(pieces, key=lambda piece: -times_ns.get(piece.name, 0.0)))


def generated_of_calls(
    calls: Sequence[tuple[CompiledGraph, GeneratedCall]],
) -> tuple[GeneratedCode, ...]:
    """Calls of libraries as one piece, then each generated kernel once, as they are called.

    Graphs name their kernels apart from each other: one name may be of several sources, and one
    source of several graphs.
    """
    kernels: dict[tuple[str, str], GeneratedCode] = {}
    graphs: dict[tuple[str, str], dict[str, None]] = {}
    for graph, call in calls:
        if call.name in graph.kernels:
            code = generated_code(graph, call.name)
            kernels.setdefault((code.name, code.text), code)
            graphs.setdefault((code.name, code.text), {})[code.graph] = None
    library = library_calls(calls)
    return (
        *((library,) if library is not None else ()),
        *(replace(code, graph=_first(list(graphs[key]))) for key, code in kernels.items()),
    )


def _first(graphs: Sequence[str]) -> str:
    """For instance: 1/0 inference, 1/1 inference and 6 more."""
    more = len(graphs) - _MOST_GRAPHS
    return ", ".join(graphs[:_MOST_GRAPHS]) + (f" and {more} more" if more > 0 else "")


def buffers_of_call(graph: CompiledGraph, call: GeneratedCall) -> tuple[str, str]:
    """(inputs, outputs) of a call by the buffers it is handed: "64×2048 f32 · 2 × 2048 f32".

    "" where the log does not say which of them it stores to.
    """
    definition = graph.kernels.get(call.name)
    if definition is None:
        given, results = _with_out(call)
        inputs, outputs = ([_shape(graph, name) for name in names] for names in (given, results))
        return " · ".join(filter(None, inputs)), " · ".join(filter(None, outputs))
    texts = [_shape(graph, name) for name in call.arguments]
    return by_role(texts, pointer_roles(definition.source))


def _with_out(call: GeneratedCall) -> tuple[Sequence[str], Sequence[str]]:
    """(what a library call reads, what it writes): its result, or what it is handed as `out=`."""
    if call.result or _OUT not in call.arguments:
        return call.arguments, (call.result,)
    position = call.arguments.index(_OUT)
    return call.arguments[:position], call.arguments[position + 1 :]


def roles_of_calls(
    calls: Iterable[tuple[CompiledGraph, GeneratedCall]],
) -> dict[str, tuple[PointerRole, ...]]:
    """Name of a generated kernel -> what it does with its pointers; of one source alone."""
    roles: dict[str, set[tuple[PointerRole, ...]]] = {}
    for graph, call in calls:
        if call.name in graph.kernels:
            of_kernel = pointer_roles(graph.kernels[call.name].source)
            roles.setdefault(call.name, set()).add(of_kernel)
    return {name: next(iter(known)) for name, known in roles.items() if len(known) == 1}


def by_role(texts: Sequence[str], roles: Sequence[PointerRole]) -> tuple[str, str]:
    """(inputs, outputs) of a kernel, equal tensors together; what it changes in place is both.

    Args:
        texts: of its tensors in order; "": of unknown shape.
        roles: of its pointers in order.
    """
    pairs = list(zip(texts, roles, strict=False))
    inputs = [text for text, role in pairs if role != "written"]
    outputs = [text for text, role in pairs if role != "read"]
    return _together(inputs), _together(outputs)


def _together(texts: Sequence[str]) -> str:
    """For instance 3 × 64×2048 f32 · 2048 f32 · 1 of unknown shape; "" where no shape is known."""
    counts = Counter(texts)
    n_unknown = counts.pop("", 0)
    if not counts:
        return ""
    known = [f"{n} × {text}" if n > 1 else text for text, n in counts.items()]
    return " · ".join([*known, *([f"{n_unknown} of unknown shape"] if n_unknown else [])])


def _shape(graph: CompiledGraph, buffer: str) -> str:
    if buffer not in graph.buffers:
        return ""
    shape, dtype = graph.buffers[buffer]
    return f"{'×'.join(str(n) for n in shape)} {dtype}".strip()


def library_calls(
    calls: Sequence[tuple[CompiledGraph, GeneratedCall]],
) -> GeneratedCode | None:
    """The calls that start no generated kernel, as they stand in the module; None: no such."""
    lines = [_line(graph, call) for graph, call in calls if call.name not in graph.kernels]
    if not lines:
        return None
    return GeneratedCode(_LIBRARY, "python", "\n".join(dict.fromkeys(lines)))


def readable(source: str) -> tuple[str, str]:
    """(language, code): the kernel itself, out of the Python string that Inductor keeps it in."""
    quoted = _QUOTED.search(source)
    if quoted is None:
        return "python", source
    comments = source[: quoted.start()]
    if quoted["how"].startswith("cpp"):
        return "cpp", comments.replace("#", "//") + quoted["code"].strip("\n")
    return "python", comments + quoted["code"].strip("\n")


def whole_source(graph: CompiledGraph, name: str, source: str) -> str:
    """C++ kernels span lines up to their closing quotes; the definition holds their first line."""
    if not source.rstrip().endswith("("):
        return source
    _, start, after = graph.code.partition(f"{name} = async_compile.")
    body, closing, _ = after.partition("\n''')")
    return f"{start}{body}{closing}" if start and closing else source


def _line(graph: CompiledGraph, call: GeneratedCall) -> str:
    """The call as it stands in the generated module; its name where that was not logged."""
    lines = graph.code.splitlines()
    return lines[call.line - 1].strip() if 0 < call.line <= len(lines) else call.name


def with_outputs(
    arguments: tuple[Arguments, ...], calls: Sequence[tuple[CompiledGraph, GeneratedCall]]
) -> tuple[Arguments, ...]:
    """What the log says of the buffers of a generated kernel, unless traces and its code say all.

    Args:
        arguments: of the traces, with outputs where the code tells which of the tensors these are.
        calls: of the kernel, by the log.
    """
    if any(entry.outputs for entry in arguments):
        return arguments
    described = dict.fromkeys(buffers_of_call(graph, call) for graph, call in calls)
    named = [(inputs, outputs) for inputs, outputs in described if inputs and outputs]
    if not named:
        return arguments
    label, operator = (arguments[0].label, arguments[0].operator) if arguments else ("", "")
    return tuple(Arguments(label, operator, inputs, outputs) for inputs, outputs in named)
