"""The graphs and generated code of a structured log (TORCH_TRACE) -> InductorLog.

Covers torch 2.3 to 2.15: `dynamo_output_graph`, `aot_*_graph`, `inductor_post_grad_graph` (a
record type up to 2.7, an artifact later), `inductor_output_code`, and the two provenance artifacts
`inductor_provenance_tracking_node_mappings` and `…_kernel_stack_traces` (2.9+, with
INDUCTOR_PROVENANCE=1), and of `dynamo_cpp_guards_str` the classes of modules.
Every other record is skipped unread; what is missing is said in `lost`.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from profiler_core.ingest.inductor.autograd import at_users_lines
from profiler_core.ingest.inductor.classes import agreed, guarded_classes
from profiler_core.ingest.inductor.code import read_buffers, read_calls, read_kernels
from profiler_core.ingest.inductor.frames import frame_module, is_unnamed_part
from profiler_core.ingest.inductor.graphs import (
    placeholder_names,
    placeholder_shapes,
    read_graph,
    written_parts,
)
from profiler_core.ingest.inductor.parts import most_similar
from profiler_core.ingest.torch_trace.records import payload_text, records
from profiler_core.model.inductor import (
    CompiledGraph,
    Direction,
    GeneratedCall,
    GraphNode,
    InductorLog,
    is_of_compiled_autograd,
)

_DYNAMO, _CODE = "dynamo_output_graph", "inductor_output_code"
_START = "dynamo_start"
_GUARDS = "dynamo_cpp_guards_str"
_PART = "optimize_ddp_split_child"
# The graph that Inductor lowers, the best name first: 2.7 and 2.8 have it under other names.
_POST = (
    "inductor_post_grad_graph",
    "after_post_grad_graph",
    "after_recompile_post_grad",
    "before_post_grad_graph",
    "before_recompile_post_grad",
)
_BACKWARD = "aot_backward_graph"
_AOT = ("aot_forward_graph", _BACKWARD, "aot_inference_graph")
_MAPPINGS = "inductor_provenance_tracking_node_mappings"
_STACKS = "inductor_provenance_tracking_kernel_stack_traces"
_ARTIFACT = "artifact:"
_KINDS = (_DYNAMO, _PART, *_POST, _CODE, *_AOT, _MAPPINGS, _STACKS, _GUARDS)
_WANTED = frozenset(_KINDS) | {_ARTIFACT + kind for kind in _KINDS}


@dataclass
class _Compilation:
    """What the log said so far about one compile id."""

    dynamo: str = ""
    module: str = ""  # whose frame it is
    is_unnamed: bool = False  # of a part of the model that its caller does not name
    aot: dict[str, str] = field(default_factory=dict)
    post: dict[str, str] = field(default_factory=dict)
    graphs: list["_Graph"] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)  # of a graph that DDP cut
    backwards: list[str] = field(default_factory=list)  # AOT graphs of the parts
    n_forwards: int = 0  # parts whose forward is compiled

    def begin(self, dynamo: str) -> None:
        """A new graph of this id: an attempt after a restart forgets what was before."""
        self.dynamo, self.aot, self.post = dynamo, {}, {}
        self.parts, self.backwards, self.n_forwards = [], [], 0

    def add_graph_text(self, kind: str, text: str) -> None:
        """Keep one printed graph for the generated code that follows it."""
        if kind == _DYNAMO:
            self.begin(text)
        elif kind == _PART:
            self.parts.append(text)
        elif kind in _AOT:
            self.aot[kind] = text
            if kind == _BACKWARD and self.parts:
                self.backwards.append(text)
        else:
            self.post[kind] = text

    def compiled(self, compile_id: str, code: str, file_name: str) -> "_Graph":
        """The graph that this generated code is of."""
        post = next((self.post[kind] for kind in _POST if kind in self.post), "")
        aot = dict(self.aot)
        graph = _Graph(
            compile_id, code, file_name, self.dynamo, aot, post, self.module, self.is_unnamed
        )
        if self.parts:
            self._assign_part(graph)
        self.post = {}
        self.graphs.append(graph)
        return graph

    def _assign_part(self, graph: "_Graph") -> None:
        """Say of a graph that was just compiled which part of a cut one it is."""
        index: int | None = self.n_forwards
        if _direction(graph) == "backward":
            index = most_similar(self.backwards, graph.post)
            if index is not None:
                graph.aot[_BACKWARD] = self.backwards[index]
                # Each is compiled once; its place is kept for the others.
                self.backwards[index] = ""
        else:
            self.n_forwards += 1
        if index is not None and index < len(self.parts):
            graph.part = self.parts[index]


@dataclass
class _Graph:
    compile_id: str
    code: str
    file_name: str
    dynamo: str
    aot: dict[str, str]
    post: str
    module: str
    is_unnamed: bool
    part: str = ""  # of dynamo's graph, where DDP cut it: nodes have other names there
    mappings: dict[str, Any] = field(default_factory=dict)
    stacks: dict[str, Any] = field(default_factory=dict)

    def describe(self, kind: str, payload: str) -> bool:
        """Take what its records say of its nodes; False where that is no JSON object."""
        try:
            value = msgspec.json.decode(payload.encode(), type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            return False
        if kind == _MAPPINGS:
            self.mappings = value
        else:
            self.stacks = value
        return True


def read_inductor(paths: Sequence[Path]) -> InductorLog:
    """Read the structured logs of one process; no file gives a log without graphs.

    A payload that cannot be read is counted and left out; the file is never a reason to fail.
    """
    compilations: dict[str, _Compilation] = {}
    graphs: list[_Graph] = []
    guarded: list[dict[str, set[str]]] = []
    skipped: Counter[str] = Counter()
    n_records = n_unreadable = 0
    last_id = ""
    selected = (record for path in paths for record in records(path, _WANTED, skipped, skipped))
    for record in selected:
        if record.kind == _START and isinstance(record.body, dict):
            frame = compilations.setdefault(record.compile_id or last_id, _Compilation())
            frame.module = frame_module(record.body.get("stack"))
            frame.is_unnamed = is_unnamed_part(record.body.get("stack"))
        if record.payload is None:
            continue
        kind = record.kind.removeprefix(_ARTIFACT)
        payload = payload_text(record.payload)
        n_records += 1
        compile_id = record.compile_id or last_id
        last_id = compile_id
        compilation = compilations.setdefault(compile_id, _Compilation())
        if kind == _CODE:
            name = record.body.get("filename") if isinstance(record.body, dict) else None
            graphs.append(compilation.compiled(compile_id, payload, str(name or "")))
        elif kind == _GUARDS:
            guarded.append(guarded_classes(payload, compilation.module))
        elif kind in (_DYNAMO, _PART, *_AOT, *_POST):
            compilation.add_graph_text(kind, payload)
        elif compilation.graphs and not compilation.graphs[-1].describe(kind, payload):
            n_unreadable += 1
    built = tuple(_build(graph) for graph in graphs)
    return InductorLog(
        graphs=built,
        traced=tuple(_traced(compilations)),
        n_records=n_records,
        n_unreadable=n_unreadable,
        module_classes=agreed(guarded),
        lost=_lost(built),
    )


def _build(graph: _Graph) -> CompiledGraph:
    direction = _direction(graph)
    post_of = _string_lists(graph.mappings.get("cppCodeToPost"))
    stacks_of = _string_lists(graph.stacks)
    dynamo = graph.part or graph.dynamo
    aot = graph.aot.get(
        _BACKWARD if direction == "backward" else "aot_forward_graph", ""
    ) or graph.aot.get("aot_inference_graph", "")
    dynamo_nodes, aot_nodes, post_nodes = map(read_graph, (dynamo, aot, graph.post))
    if is_of_compiled_autograd(graph.compile_id):
        aot_nodes = at_users_lines(aot_nodes, dynamo_nodes)
        post_nodes = at_users_lines(post_nodes, dynamo_nodes)
    post_names = {node.name for node in post_nodes}
    kernels = read_kernels(graph.code)
    aten_of = {name: dict(kernel.nodes) for name, kernel in kernels.items()}
    calls: list[GeneratedCall] = []
    for call in read_calls(graph.code):
        post = post_of.get(call.handle or "", ()) or post_of.get(call.name, ())
        if not post:
            # torch < 2.9, and every backward: the comments name the nodes, or their sources.
            post = _commented(call, aten_of.get(call.name, {}), post_names)
        calls.append(
            msgspec.structs.replace(
                call,
                post_nodes=tuple(dict.fromkeys(post)),
                stacks=stacks_of.get(call.handle or "", ()),
            )
        )
    return CompiledGraph(
        compile_id=graph.compile_id,
        direction=direction,
        calls=tuple(calls),
        dynamo_nodes=dynamo_nodes,
        post_nodes=post_nodes,
        aot_nodes=aot_nodes,
        post_to_pre=_string_lists(graph.mappings.get("postToPre"))
        or ({} if direction == "backward" else _post_to_pre(calls, dynamo, kernels)),
        module=graph.module,
        is_unnamed=graph.is_unnamed,
        placeholders=placeholder_names(graph.dynamo),
        written_parts=written_parts(dynamo),
        kernels=kernels,
        buffers={
            **placeholder_shapes(graph.post),
            **read_buffers(graph.code, _results(calls, post_nodes)),
        },
        file_name=graph.file_name,
        code=graph.code,
    )


def _commented(
    call: GeneratedCall, mapping: Mapping[str, tuple[str, ...]], post_names: Container[str]
) -> tuple[str, ...]:
    """The nodes that the comment above a call means by its sources.

    Above its kernel stands which nodes each source became, nodes without a source under an empty
    name. A kernel that layers share says it of its first call alone, which has the same sources:
    in the comments of the others a node of the graph goes by its own name.
    """
    is_of_this_call = set(call.source_nodes) == set(mapping)
    return tuple(
        node
        for source in call.source_nodes
        for node in (
            mapping[source]
            if is_of_this_call
            else (source,)
            if source in post_names
            else mapping.get(source, ())
            if source
            else ()
        )
        if node in post_names
    )


def _traced(compilations: Mapping[str, _Compilation]) -> Iterator[CompiledGraph]:
    """Graphs that went to another compiler than Inductor: nodes, and no generated code."""
    for compile_id, compilation in compilations.items():
        if compilation.graphs or not compilation.dynamo:
            continue
        nodes = read_graph(compilation.dynamo)
        backward = compilation.aot.get(_BACKWARD, "")
        directions: list[Direction] = ["forward", "backward"] if backward else ["inference"]
        for direction in directions:
            aot = backward if direction == "backward" else ""
            yield CompiledGraph(
                compile_id=compile_id,
                direction=direction,
                calls=(),
                dynamo_nodes=nodes,
                aot_nodes=read_graph(aot),
                placeholders=placeholder_names(compilation.dynamo),
            )


def _results(
    calls: Sequence[GeneratedCall], nodes: Sequence[GraphNode]
) -> dict[str, tuple[tuple[int, ...], str]]:
    """Buffers that library calls make, by the node that the call is: its target has its name."""
    by_name = {node.name: node for node in nodes}
    results = {}
    for call in calls:
        bare = call.name.split(".")[3 if call.name.startswith("torch.ops.") else -1 :][:1]
        for name in call.post_nodes if call.result and bare else ():
            node = by_name.get(name)
            if node and node.shape is not None and node.dtype and f".{bare[0]}." in node.target:
                results[call.result] = (node.shape, node.dtype)
                break
    return results


def _post_to_pre(
    calls: list[Any], dynamo: str, kernels: dict[str, Any]
) -> dict[str, tuple[str, ...]]:
    """For torch < 2.9: a call's source nodes are dynamo nodes, so the sources of its nodes."""
    names = {node.name for node in read_graph(dynamo)}
    pre_nodes: dict[str, dict[str, None]] = {}
    for call in calls:
        definition = kernels.get(call.name)
        for source, nodes in definition.nodes if definition else ():
            for node in nodes if source in names else ():
                pre_nodes.setdefault(node, {})[source] = None
        if call.kind == "library" and len(call.post_nodes) == 0:
            continue
        for node in call.post_nodes if call.kind == "library" else ():
            for source in call.source_nodes:
                if source in names:
                    pre_nodes.setdefault(node, {})[source] = None
    return {node: tuple(sources) for node, sources in pre_nodes.items()}


def _direction(graph: _Graph) -> Direction:
    """A module whose `call` takes tangents is a backward; one beside a backward is a forward.

    So is what compiled autograd compiles.
    """
    if is_of_compiled_autograd(graph.compile_id):
        return "backward"
    start = graph.code.find("def call(")
    if "tangents_" in graph.code[start : start + 200_000].partition("args.clear()")[0]:
        return "backward"
    return "forward" if "aot_forward_graph" in graph.aot else "inference"


def _string_lists(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        return {}
    return {
        str(key): tuple(str(item) for item in items)
        for key, items in value.items()
        if isinstance(items, list)
    }


def _lost(graphs: Sequence[CompiledGraph]) -> tuple[str, ...]:
    """What these graphs cannot say, one sentence each."""
    lost = []
    calls = [call for graph in graphs for call in graph.calls]
    if calls and not any(call.handle for call in calls):
        lost.append(
            "The generated code has no provenance handles (torch before 2.9, or "
            "INDUCTOR_PROVENANCE was not set): calls are tied to nodes by its comments."
        )
    if graphs and not any(graph.dynamo_nodes for graph in graphs):
        lost.append("The log has no dynamo graphs: source lines are not known.")
    return tuple(lost)
