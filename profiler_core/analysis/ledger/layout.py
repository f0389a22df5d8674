"""Lay one step out as a program: its compiled runs by their graphs, the rest unit by unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod

from profiler_core.analysis.categories import category_of_kernel
from profiler_core.analysis.ledger.exchange import exchange_of, exchange_of_kernels
from profiler_core.analysis.ledger.extents import layout_of, product_extent
from profiler_core.analysis.ledger.graph_calls import Execution
from profiler_core.analysis.ledger.graph_items import graph_items
from profiler_core.analysis.ledger.operators import (
    ANCHORS,
    KERNEL_FREE,
    is_specific,
    operator,
    operators_of_kernel,
)
from profiler_core.analysis.ledger.ownership import Ownership
from profiler_core.analysis.ledger.program import Item, Phase, Program, Segment
from profiler_core.analysis.ledger.split_reductions import first_halves
from profiler_core.analysis.ledger.weight_layouts import mark_weight_layouts
from profiler_core.analysis.ledger.work_units import HostStep, Unit

# The operator that a library kernel of this category computes.
_BY_CATEGORY = {"gemm": "matmul", "conv": "convolution", "attention": "attention"}
_INTEGERS = ("long int", "int")  # as the trace names the types of an index
_COPY = frozenset(("clone",))  # what a view is that starts a kernel


@dataclass(slots=True)
class _Layout:
    """A step while it is laid out: its items with where they stand, and what units do."""

    step: HostStep
    kernel_names: Mapping[int, str]  # of each row of the work table that the step has
    placed: list[tuple[int, int, bool, Item]] = field(default_factory=list)  # ts, order, backward
    ties: list[tuple[int, int]] = field(default_factory=list)
    notes: dict[int, list[str]] = field(default_factory=dict)
    dealt: set[int] = field(default_factory=set)  # units of graphs, which are no items themselves
    shared: dict[int, str] = field(default_factory=dict)
    nameless: set[int] = field(default_factory=set)
    serves: dict[int, int] = field(default_factory=dict)
    copies: set[int] = field(default_factory=set)
    seeds: set[int] = field(default_factory=set)
    modules: dict[int, list[str]] = field(default_factory=dict)
    exchange: dict[int, str] = field(default_factory=dict)
    tangents: set[int] = field(default_factory=set)

    def add_runs(
        self,
        executions: Sequence[Execution],
        owned: Mapping[int, Ownership],
        modules: Mapping[int, Mapping[str, str]],
    ) -> None:
        """All compiled runs, with what their replays launch beside them."""
        for execution in executions:
            self.copies.update(execution.input_copies)
            self.seeds.update(execution.seeds)
            self.ties.extend(pairwise(execution.seeds))  # seed and offset are one thing
            self.dealt.update(execution.input_copies, execution.seeds)
            if execution.graph is not None and execution.units_of_call:
                graph = id(execution.graph)
                self.add_run(execution, owned[graph], modules.get(graph, {}))

    def add_run(self, execution: Execution, owned: Ownership, module_of: Mapping[str, str]) -> None:
        """The nodes of a compiled run's graph, in its place."""
        if execution.graph is None:
            return
        units_of = execution.units_of_call
        self.dealt.update(unit for units in units_of.values() for unit in units)
        for units in units_of.values():
            for unit in units:
                self._note_exchange(unit)
        items = graph_items(execution, execution.graph, owned, self.ties, self.notes)
        views: dict[int, list[str]] = {}
        for item in items:
            item.module = module_of.get(item.node, "")
            computes = item.op not in KERNEL_FREE and (item.op != "dropout" or item.inner)
            modules = self.modules if computes else views  # its caller's, mostly
            for unit in item.units if item.module else ():
                modules.setdefault(unit, []).append(item.module)
        for unit, names in views.items():
            self.modules.setdefault(unit, names)
        self.nameless.update(
            unit
            for call, units in units_of.items()
            for unit in units
            if call not in owned.origins and call not in owned.follows
        )
        self._add_service(units_of, owned)
        run = self.step.runs[execution.run]
        is_backward = run.direction == "backward"
        self.placed.extend(
            (run.ts_ns, order, is_backward, item) for order, item in enumerate(items)
        )

    def _add_service(self, units_of: Mapping[int, Sequence[int]], owned: Ownership) -> None:
        """Calls that do a part for a library's operator, or arrange memory for several."""
        owners_units = {
            origin: units_of[calls[0]][0]
            for origin, calls in owned.owners.items()
            if units_of.get(calls[0])
        }
        for call, origins in owned.served.items():
            target = next((owners_units[o] for o in origins if o in owners_units), None)
            if target is not None and call not in owned.shared:
                self.serves.update((unit, target) for unit in units_of.get(call, ()))
        for call, names in owned.shared.items():
            for unit in units_of.get(call, ()):
                self.shared[unit] = ", ".join(names[:3])

    def add_unit(self, number: int, is_backward: bool, item: Item) -> None:
        """An operator outside of any graph."""
        if is_backward and item.library_kernel and item.op == "convolution":
            item.op = "convolution_backward"  # a replay shows the kernel only
        self.placed.append((self.step.units[number].ts_ns, 0, is_backward, item))

    def in_order(self, with_views: bool) -> list[tuple[int, int, bool, Item]]:
        """What is placed by time; operators without kernels only where these are wanted."""
        placed = sorted(self.placed, key=lambda entry: entry[:2])
        return [entry for entry in placed if with_views or entry[3].units or entry[3].node]

    def is_beside_the_program(self, number: int) -> bool:
        """Note what ranks exchange and what nobody uses: such units are no items."""
        unit = self.step.units[number]
        if unit.events and _is_zero_tangent(unit):
            self.tangents.add(number)
            return True
        self._note_exchange(number)
        return exchange_of(unit.name) is not None

    def _note_exchange(self, number: int) -> None:
        """What ranks exchange, in a compiled graph too, is a group by itself (`match_exchange`)."""
        unit = self.step.units[number]
        exchanged = exchange_of(unit.name) or exchange_of_kernels(
            [self.kernel_names[event] for event in unit.events]
        )
        if exchanged is not None and unit.events:
            self.exchange[number] = exchanged[0]
            self.notes.setdefault(number, []).append(exchanged[1])


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
    layout = _Layout(step, kernel_names)
    layout.add_runs(executions, owned, modules)
    autograd_threads = {unit.thread for unit in step.units if unit.backward} - {step.main_thread}
    for number, unit in enumerate(step.units):
        if number in layout.dealt or layout.is_beside_the_program(number):
            continue
        is_view = with_views and bool(unit.sequence_numbers) and not unit.is_replay
        if unit.events or is_view:
            is_backward = unit.backward is not None or unit.thread in autograd_threads
            layout.add_unit(number, is_backward, _unit_item(step, number, kernel_names))
    segments = _segments(layout.in_order(with_views))
    for segment in segments:
        _join_halves(segment, layout.ties)
        if segment.phase == "forward":
            mark_weight_layouts(segment.items, step.units)
        _mark_fresh(segment.items)
    busy = [(number, unit) for number, unit in enumerate(step.units) if unit.events]
    return Program(
        segments=segments,
        ties=layout.ties,
        input_copies=frozenset(layout.copies),
        seeds=frozenset(layout.seeds),
        notes=layout.notes,
        serves=layout.serves,
        shared=layout.shared,
        nameless=frozenset(layout.nameless),
        phases=_phases(step, segments, autograd_threads),
        views=frozenset(n for n, unit in busy if _is_view(unit, kernel_names)),
        accumulating=frozenset(n for n, unit in busy if "AccumulateGrad" in (unit.backward or "")),
        modules=layout.modules,
        exchange=layout.exchange,
        tangents=frozenset(layout.tangents),
    )


def _is_view(unit: Unit, kernel_names: Mapping[int, str]) -> bool:
    """Is it an operator that moves nothing, and its own event, as on a CPU?"""
    return unit.common in KERNEL_FREE and kernel_names[unit.events[0]] == unit.name


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


def _join_halves(segment: Segment, ties: list[tuple[int, int]]) -> None:
    """Second halves of split reductions belong to the first ones: they are no items."""
    firsts = first_halves(segment.items)
    ties.extend(
        (segment.items[first].units[0], segment.items[second].units[0])
        for second, first in firsts.items()
    )
    segment.items = [item for number, item in enumerate(segment.items) if number not in firsts]


def _mark_fresh(items: Sequence[Item]) -> None:
    """Names of generated kernels repeat what went before: only what is new in them is theirs."""
    named: set[str] = set()
    for item in items:
        if item.by_kernel_name:
            item.fresh = item.inner - named
            named |= frozenset() if item.lays_out_weight else item.inner
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
    is_copy = op in KERNEL_FREE and bool(unit.events)
    specific = frozenset(name for name in unit.inner if is_specific(name))
    return Item(
        op=op,
        extent=product_extent(unit.name, shapes) if op == "matmul" else None,
        inner=from_name or specific | (_COPY if is_copy else frozenset()),
        units=(number,) if unit.events else (),
        shapes=shapes,
        dtypes=unit.dtypes,
        index_sizes=_index_sizes(unit),
        layouts=_layouts(unit, kernel_names) if op == "matmul" else frozenset(),
        unit=number,
        by_kernel_name=bool(from_name),
        library_kernel=unit.name if not from_name and unit.is_launch else "",
    )


def _index_sizes(unit: Unit) -> frozenset[int]:
    """Elements of each integer tensor that an operator is handed."""
    tensors = zip(unit.shapes, unit.dtypes, strict=False)
    return frozenset(
        prod(shape) for shape, dtype in tensors if shape is not None and dtype in _INTEGERS
    )


def _layouts(unit: Unit, kernel_names: Mapping[int, str]) -> frozenset[str]:
    """How the factors of a product lie, by the names of its kernels."""
    layouts = (layout_of(kernel_names[event]) for event in unit.events)
    return frozenset(layout for layout in layouts if layout)
