"""One side's step as a program: items in order, whether eager operators or nodes of a graph.

An eager operator is an item with one unit of work. A compiled run is, in its place, the nodes of
its graph in program order (forward: dynamo's, backward: the engine's), each with the units of the
calls that own it. So eager and compiled parts, several regions in a step, and the loss outside of
them are one sequence, and any two runs can be aligned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from profiler_core.analysis.categories import category_of_kernel
from profiler_core.analysis.ledger.engines import OPAQUE
from profiler_core.analysis.ledger.exchange import exchange_of
from profiler_core.analysis.ledger.extents import Extent, Shape, layout_of, product_extent
from profiler_core.analysis.ledger.graph_calls import Execution
from profiler_core.analysis.ledger.operators import (
    ANCHORS,
    KERNEL_FREE,
    is_specific,
    operator,
    operators_of_kernel,
)
from profiler_core.analysis.ledger.ownership import Ownership
from profiler_core.analysis.ledger.work_units import HostStep, Unit
from profiler_core.model.inductor import CompiledGraph, GraphNode

Phase = Literal["forward", "backward", "update"]

# One dynamo node that is several operators in eager mode.
_COMPOSITES = frozenset(
    ("multi_head_attention_forward", "attention", "cross_entropy", "rms_norm", "interpolate",
     "upsample_nearest2d", "einsum", "lstm", "gru", "normalize", "gumbel_softmax", "scan", "cond",
     "glu", "cosine_similarity", "group_norm", "rnn_tanh", "kl_div", "wrap", "checkpoint")
)  # fmt: skip


_COPYING = frozenset(("cast", "clone", "cat", "fill", "zeros", "full")) | KERNEL_FREE | ANCHORS

_REDUCTIONS = ("triton_red", "triton_per")

# The operator that a library kernel of this category computes.
_BY_CATEGORY = {"gemm": "matmul", "conv": "convolution", "attention": "attention"}


@dataclass(slots=True)
class Item:
    """A step of the program: an operator call, or a node of a compiled graph."""

    op: str  # common name
    inner: frozenset[str]  # what it is made of: operators beneath it, or ATen nodes it became
    units: tuple[int, ...]  # the units that compute it; () for a view
    labels: frozenset[str] = frozenset()  # source lines "file:line"; empty: not known
    shapes: tuple[Shape, ...] = ()
    dtypes: tuple[str, ...] = ()  # of an operator's arguments, as the trace names them
    node: str = ""  # name in its graph; "" for an eager operator
    unit: int | None = None  # of an eager operator, busy or not
    run: int | None = None
    code: str = ""  # the source line's text
    output: tuple[tuple[int, ...], str] | None = None  # shape and dtype of a node's result
    by_kernel_name: bool = False  # a kernel without a log: `inner` was read from its name
    fresh: frozenset[str] = frozenset()  # of these, what no generated kernel just before it names
    library_kernel: str = ""  # its name, where it was launched outside any operator
    layouts: frozenset[str] = (
        frozenset()
    )  # of a product's kernels: "tn" where a factor is transposed
    extent: Extent | None = None  # of a product, where its tensors' shapes are known

    @property
    def is_anchor(self) -> bool:
        """Does a library compute it, whatever the compiler does around it?"""
        return self.op in ANCHORS

    @property
    def only_copies(self) -> bool:
        """A generated kernel that only casts or rearranges, by what is new in its name."""
        return (
            self.by_kernel_name and self.fresh <= _COPYING and not self.op.startswith(_REDUCTIONS)
        )

    @property
    def is_composite(self) -> bool:
        """May it be several operators on the other side?"""
        hides_library = self.op not in ANCHORS and bool(self.inner & ANCHORS)
        return self.op in _COMPOSITES or hides_library


@dataclass(slots=True)
class Segment:
    """A stretch of a step that nothing is joined across: forward with loss, backward, update."""

    phase: Phase
    items: list[Item] = field(default_factory=list)


@dataclass(slots=True)
class Program:
    """The segments of one step, and what is tied within the side already."""

    segments: list[Segment]
    ties: list[tuple[int, int]]  # units of one origin, or a call with the origin it works for
    input_copies: frozenset[int]  # units: copies into a CUDA graph's static inputs
    notes: dict[int, list[str]]  # unit -> what it does besides
    nameless: frozenset[int] = frozenset()  # units of calls for which the log names no node
    serves: dict[int, int] = field(default_factory=dict)  # unit -> unit that it does a part for
    shared: dict[int, str] = field(default_factory=dict)  # unit -> what it arranges for several
    phases: dict[int, Phase] = field(default_factory=dict)  # of every busy unit
    views: frozenset[int] = frozenset()  # busy units that move no data: on a CPU only
    accumulating: frozenset[int] = frozenset()  # units that put gradients where they belong
    modules: dict[int, list[str]] = field(default_factory=dict)  # unit -> nn.Modules of its nodes
    exchange: dict[int, str] = field(default_factory=dict)  # unit -> what ranks exchange by it
    tangents: frozenset[int] = frozenset()  # units that fill gradients of outputs nobody used


def program(
    step: HostStep,
    executions: Sequence[Execution],
    owned: Mapping[int, Ownership],
    with_views: bool,
    modules: Mapping[int, Mapping[str, str]],
    kernel_names: Mapping[int, str],
) -> Program:
    """Lay a step out.

    Args:
        step: with its calls dealt.
        executions: of its runs.
        owned: `id(graph)` -> its ownership.
        with_views: keep operators without kernels. A backward needs them: they carry the source
            line of what their gradients do.
        modules: `id(graph)` -> node -> path of its nn.Module.
        kernel_names: name of each row of the work table that the step has.
    """
    ties: list[tuple[int, int]] = []
    notes: dict[int, list[str]] = {}
    placed: list[tuple[int, int, bool, Item]] = []  # ts, order, is backward, item
    dealt: set[int] = set()
    shared: dict[int, str] = {}
    nameless: set[int] = set()
    serves: dict[int, int] = {}
    copies: set[int] = set()
    known_modules: dict[int, list[str]] = {}
    exchange: dict[int, str] = {}
    tangents: set[int] = set()
    for execution in executions:
        run = step.runs[execution.run]
        copies.update(execution.input_copies)
        dealt.update(execution.input_copies)
        if execution.graph is None or not execution.units_of_call:
            continue
        dealt.update(n for numbers in execution.units_of_call.values() for n in numbers)
        items = _graph_items(execution, execution.graph, owned[id(execution.graph)], ties, notes)
        module_of = modules.get(id(execution.graph), {})
        for item in items:
            for number in item.units if item.node in module_of else ():
                known_modules.setdefault(number, []).append(module_of[item.node])
        known = owned[id(execution.graph)]
        nameless.update(
            number
            for call, numbers in execution.units_of_call.items()
            for number in numbers
            if call not in known.origins and call not in known.follows
        )
        owners_units = {
            origin: execution.units_of_call[calls[0]][0]
            for origin, calls in known.owners.items()
            if execution.units_of_call.get(calls[0])
        }
        for call, origins in known.served.items():
            target = next((owners_units[o] for o in origins if o in owners_units), None)
            if target is not None and call not in known.shared:
                serves.update((n, target) for n in execution.units_of_call.get(call, ()))
        for call, names in known.shared.items():
            for number in execution.units_of_call.get(call, ()):
                shared[number] = ", ".join(names[:3])
        is_backward = run.direction == "backward"
        placed.extend((run.ts_ns, order, is_backward, item) for order, item in enumerate(items))
    autograd_threads = {unit.thread for unit in step.units if unit.backward} - {step.main_thread}
    for number, unit in enumerate(step.units):
        if number not in dealt and unit.events and _is_zero_tangent(unit):
            tangents.add(number)
            continue
        exchanged = None if number in dealt else exchange_of(unit.name)
        if exchanged is not None:
            if unit.events:
                exchange[number] = exchanged[0]
                notes.setdefault(number, []).append(exchanged[1])
            continue
        is_view = with_views and bool(unit.sequence_numbers) and not unit.is_replay
        if number in dealt or not (unit.events or is_view):
            continue
        is_backward = unit.backward is not None or unit.thread in autograd_threads
        item = _unit_item(step, number, kernel_names)
        if is_backward and item.library_kernel and item.op == "convolution":
            item.op = "convolution_backward"  # a replay shows the kernel only
        placed.append((unit.ts_ns, 0, is_backward, item))
    placed.sort(key=lambda entry: entry[:2])
    if not with_views:
        placed = [entry for entry in placed if entry[3].units or entry[3].node]
    segments = _segments(placed)
    for segment in segments:
        _mark_fresh(segment.items)
    busy = [(number, unit) for number, unit in enumerate(step.units) if unit.events]
    return Program(
        segments=segments,
        ties=ties,
        input_copies=frozenset(copies),
        notes=notes,
        serves=serves,
        shared=shared,
        nameless=frozenset(nameless),
        phases=_phases(step, segments, autograd_threads),
        views=frozenset(n for n, unit in busy if unit.common in KERNEL_FREE),
        accumulating=frozenset(n for n, unit in busy if "AccumulateGrad" in (unit.backward or "")),
        modules=known_modules,
        exchange=exchange,
        tangents=frozenset(tangents),
    )


def _is_zero_tangent(unit: Unit) -> bool:
    """Does it fill the gradient of an output of a compiled graph that the loss does not use?

    AOTAutograd's backward takes a tensor for each output (torch/_functorch/_aot_autograd), and the
    engine hands it zeros where an eager backward would have computed nothing.
    """
    return (
        unit.run is None
        and unit.backward == "CompiledFunctionBackward"
        and unit.common in ("zeros", "zero", "fill")
    )


def _mark_fresh(items: Sequence[Item]) -> None:
    """Names of generated kernels repeat what went before: only what is new in them is theirs."""
    named: set[str] = set()
    for item in items:
        if item.by_kernel_name:
            item.fresh = item.inner - named
            named |= item.inner
        elif item.units:
            named = set()


def _phases(
    step: HostStep, segments: Sequence[Segment], autograd_threads: set[tuple[int, int]]
) -> dict[int, Phase]:
    """The phase of every busy unit, those that are in no item included."""
    phases: dict[int, Phase] = {
        unit: segment.phase for segment in segments for item in segment.items for unit in item.units
    }
    update = [item for segment in segments if segment.phase == "update" for item in segment.items]
    update_from = min(
        [step.units[item.unit].ts_ns for item in update if item.unit is not None]
        + [step.runs[item.run].ts_ns for item in update if item.run is not None],
        default=None,
    )
    for number, unit in enumerate(step.units):
        if number in phases or not unit.events:
            continue
        backward = unit.backward is not None or unit.thread in autograd_threads
        if unit.run is not None:
            backward = backward or step.runs[unit.run].direction == "backward"
        after = update_from is not None and unit.ts_ns >= update_from
        phases[number] = "backward" if backward else "update" if after else "forward"
    return phases


def _segments(placed: Sequence[tuple[int, int, bool, Item]]) -> list[Segment]:
    segments: list[Segment] = []
    for _, _, is_backward, item in placed:
        phase: Phase = "backward" if is_backward else "forward"
        if not segments or segments[-1].phase != phase:
            segments.append(Segment(phase))
        segments[-1].items.append(item)
    if len(segments) > 1 and segments[-1].phase == "forward":
        segments[-1].phase = "update"
    return segments


def _unit_item(step: HostStep, number: int, kernel_names: Mapping[int, str]) -> Item:
    unit = step.units[number]
    from_name = operators_of_kernel(unit.name)
    op = unit.name if from_name else operator(unit.name)
    if not from_name and unit.is_launch:
        op = _BY_CATEGORY.get(category_of_kernel(unit.name), op)
    if unit.name.startswith("triton_tem") and from_name & ANCHORS:
        # A template is the product that it computes, whatever else is fused to it.
        op, from_name = min(from_name & ANCHORS), frozenset()
    shapes = tuple(shape for shape in unit.shapes if shape is not None)
    return Item(
        op=op,
        extent=product_extent(unit.name, shapes) if op == "matmul" else None,
        inner=from_name or frozenset(name for name in unit.inner if is_specific(name)),
        units=(number,) if unit.events else (),
        shapes=shapes,
        dtypes=unit.dtypes,
        layouts=frozenset(
            layout for event in unit.events if (layout := layout_of(kernel_names[event]))
        )
        if op == "matmul"
        else frozenset(),
        unit=number,
        by_kernel_name=bool(from_name),
        library_kernel=unit.name if not from_name and unit.is_launch else "",
    )


def _graph_items(
    execution: Execution,
    graph: CompiledGraph,
    owned: Ownership,
    ties: list[tuple[int, int]],
    notes: dict[int, list[str]],
) -> list[Item]:
    """The graph's nodes in program order, each with its units; ties of the rest are added."""
    units_of = execution.units_of_call
    nodes = _program_order(graph)
    shapes = {name: shape for name, (shape, _) in graph.buffers.items()}
    shapes.update({node.name: node.shape for node in nodes if node.shape is not None})
    became = _became(graph)
    first_unit: dict[str, int] = {}
    items = []
    source, code = "", ""
    for node in nodes:
        if node.source or graph.direction != "backward":
            source, code = node.source, node.code  # a backward's nameless node goes with the last
        calls = owned.owners.get(node.name, ())
        units = tuple(dict.fromkeys(u for call in calls for u in units_of.get(call, ())))
        if units:
            first_unit[node.name] = units[0]
            ties.extend((units[0], other) for other in units[1:])
        common = operator(node.target)
        if common in KERNEL_FREE and not units and graph.direction != "forward":
            continue
        given = tuple(s for name in node.arguments if (s := shapes.get(name)) is not None)
        if node.target.endswith("functional.embedding"):
            # Python hands over the rows first, ATen the table, whose shape need not be printed.
            given = given[1::-1] if len(given) > 1 else ()
        items.append(
            Item(
                op=common,
                extent=product_extent(node.target, given) if common == "matmul" else None,
                inner=became.get(node.name, frozenset()),
                units=units,
                labels=frozenset((source,)) if source else frozenset(),
                shapes=given,
                node=node.name,
                run=execution.run,
                code=code,
                output=_output(node),
            )
        )
    for call, numbers in units_of.items():
        ties.extend((numbers[0], other) for other in numbers[1:])
        if graph.calls[call].kind == "engine":
            notes.setdefault(numbers[0], []).append(OPAQUE)
        target = owned.follows.get(call)
        if target is not None and target in first_unit:
            ties.append((numbers[0], first_unit[target]))
            notes.setdefault(numbers[0], []).append(f"prepares {target}")
        elif target is None and call not in owned.origins and call not in owned.shared:
            _follow_data(graph, call, units_of, ties)
        for origin in owned.again.get(call, ())[:3] if call in owned.origins else ():
            notes.setdefault(numbers[0], []).append(f"computes {origin} again")
    items.extend(_stray_item(stray) for stray in execution.strays)
    return items


def _output(node: GraphNode) -> tuple[tuple[int, ...], str] | None:
    return (node.shape, node.dtype) if node.shape is not None and node.dtype else None


def _stray_item(number: int) -> Item:
    return Item(op="", inner=frozenset(), units=(number,), unit=number)


def _follow_data(
    graph: CompiledGraph,
    call: int,
    units_of: Mapping[int, Sequence[int]],
    ties: list[tuple[int, int]],
) -> None:
    """A call without any node works for the next call that is handed one of its buffers."""
    own = graph.calls[call]
    mine = {name for name in (*own.arguments, own.result) if name.startswith("buf")}
    for later in graph.calls[call + 1 :]:
        if mine & set(later.arguments) and units_of.get(later.index):
            ties.append((units_of[call][0], units_of[later.index][0]))
            return


def _became(graph: CompiledGraph) -> dict[str, frozenset[str]]:
    """Origin -> the specific ATen operators that it was lowered to."""
    if graph.direction == "backward":
        return {}
    targets = {node.name: operator(node.target) for node in graph.post_nodes}
    became: dict[str, set[str]] = {}
    for node, origins in graph.post_to_pre.items():
        common = targets.get(node)
        if common is not None and is_specific(common):
            for origin in origins:
                became.setdefault(origin, set()).add(common)
    return {origin: frozenset(names) for origin, names in became.items()}


def _program_order(graph: CompiledGraph) -> Sequence[GraphNode]:
    """Dynamo's nodes; in a backward the graph's own, in the order in which the engine made them."""
    if graph.direction != "backward" and graph.dynamo_nodes:
        return graph.dynamo_nodes
    place = {node.name: number for number, node in enumerate(graph.aot_nodes)}
    ranked = []
    last = -1
    for number, node in enumerate(graph.post_nodes):
        last = place.get(node.name, last)
        ranked.append((last, number, node))
    ranked.sort(key=lambda entry: entry[:2])
    return [node for _, _, node in ranked]
