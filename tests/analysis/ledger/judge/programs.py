"""One side's step as what it computes: operators or nodes in order, and which event computes which.

In place of a compiled run stand the nodes of its graph: dynamo's in a forward, the graph's own in
a backward. An event belongs to the nodes that its call computes; to none where that is not decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.analysis.ledger.judge.code import Call, Module
from tests.analysis.ledger.judge.graphs import Node, bare
from tests.analysis.ledger.judge.trace import DeviceEvent, Step, Unit

Phase = Literal["forward", "backward", "update"]

# Names that one operator has in dynamo's graph and in the trace, where they are not the same.
_ALSO = {
    "cross_entropy": "cross_entropy_loss", "float": "to", "half": "to", "bfloat16": "to",
    "type_as": "to", "type": "to", "iadd": "add", "truediv": "div", "true_divide": "div",
    "conv": "convolution", "rsub": "sub", "interpolate": "upsample",
}  # fmt: skip

_EXCHANGE = ("c10d", "reducer")


@dataclass(eq=False)
class Instance:
    """An operator of the trace, or a node of a graph."""

    op: str
    shapes: tuple[tuple[int, ...], ...]
    phase: Phase
    line: str = ""  # of its source; a gradient: of the operator that it is the gradient of
    is_node: bool = False
    numbers: tuple[int, ...] = ()
    part_of: frozenset[str] = frozenset()  # operators that it was decomposed from, by a comment
    is_busy: bool = False  # does any device event compute it?
    cluster: object = None  # what it shares with the other side's


@dataclass
class Program:
    """The instances in order, and the instances of each device event."""

    instances: list[Instance] = field(default_factory=list)
    events: list[tuple[DeviceEvent, tuple[Instance, ...]]] = field(default_factory=list)
    n_unknown_runs: int = 0

    def of(self, phase: Phase) -> list[Instance]:
        """The instances of one phase."""
        return [one for one in self.instances if one.phase == phase]


def _name(operator: str) -> str:
    name = bare(operator)
    return _ALSO.get(name, name)


def read_program(step: Step, modules: Sequence[Module]) -> Program:
    """Lay one step out."""
    program = Program()
    first_backward = min(
        [u.ts_ns for u in step.units if u.is_backward and u.events]
        + [r.ts_ns for r in step.runs if r.is_backward],
        default=None,
    )
    last_backward = max(
        [u.ts_ns for u in step.units if u.is_backward and u.events]
        + [r.ts_ns for r in step.runs if r.is_backward],
        default=0,
    )
    placed: list[tuple[int, int, Instance]] = []
    for run in step.runs:
        instances, events = _run(run.units, run.is_backward, run.region, modules)
        if instances is None:
            program.n_unknown_runs += 1
        placed += [(run.ts_ns, order, one) for order, one in enumerate(instances or ())]
        program.events += events
    for unit in step.units:
        if unit.run is not None:
            continue
        phase: Phase = "backward" if unit.is_backward else "forward"
        if first_backward is not None and unit.ts_ns > last_backward and not unit.is_backward:
            phase = "update"
        instance = Instance(_name(unit.name), unit.dims, phase, numbers=tuple(unit.numbers))
        instance.cluster = next((kind for kind in _EXCHANGE if kind in unit.name), None)
        if unit.of_compiled_backward and instance.op in ("zeros", "zero", "fill"):
            instance.cluster = "zeros for outputs that the loss does not use"
        if instance.cluster is not None:  # buckets are cut at other places: a kind is one thing
            program.events += [(event, (instance,)) for event in unit.events]
            continue
        placed.append((unit.ts_ns, 0, instance))
        program.events += [(event, (instance,)) for event in unit.events]
    placed.sort(key=lambda entry: entry[:2])
    program.instances = [instance for _, _, instance in placed]
    return program


Dealt = list[tuple[DeviceEvent, tuple[Instance, ...]]]


def _run(
    units: Sequence[Unit], is_backward: bool, region: str, modules: Sequence[Module]
) -> tuple[list[Instance] | None, Dealt]:
    # What is launched beside a replay fills the graph's own inputs: nothing of the program.
    replays = any(unit.is_replay for unit in units)
    copying = Instance("copy into the graph's inputs", (), "forward", cluster="inputs")
    copies: Dealt = [
        (event, (copying,))
        for unit in units
        for event in unit.events
        if replays and not unit.is_replay
    ]
    units = [unit for unit in units if unit.is_replay or not replays]
    pieces = [
        (event.name if unit.is_replay else unit.generated or unit.name, event, number, unit)
        for number, unit in enumerate(units)
        for event in unit.events
    ]
    launched: list[str] = []
    last = -1
    for name, _, number, unit in pieces:
        if name.startswith(("triton_", "cpp_")) and (unit.is_replay or number != last):
            launched.append(name)
        last = number
    module = _choose(launched, is_backward, region, modules)
    if module is None:
        return None, [*copies, *((event, ()) for _, event, _, _ in pieces)]
    instances, of_node = _instances(module)
    calls_of = _deal(pieces, module.calls)
    events: Dealt = []
    for (_, event, _, _), calls in zip(pieces, calls_of, strict=True):
        nodes = {n for call in calls if call.is_decided for n in call.computed}
        computed = tuple(dict.fromkeys(i for n in nodes for i in of_node(n)))
        for instance in computed:
            instance.part_of |= {name for call in calls for name in call.aten} - {instance.op}
        events.append((event, computed))
    return instances, [*copies, *events]


def _choose(
    launched: list[str], is_backward: bool, region: str, modules: Sequence[Module]
) -> Module | None:
    """The module whose generated kernels are exactly those launched, in order."""
    same = [
        m for m in modules
        if m.is_backward == is_backward
        and [c.name for c in m.calls if not c.is_extern] == launched
        and (m.calls and (launched or m.compile_id == region))
    ]  # fmt: skip
    named = [m for m in same if m.compile_id == region]
    return (named or same or [None])[-1]


def _instances(module: Module):
    shapes = {**module.post.shapes(), **module.aot.shapes(), **module.dynamo.shapes()}
    by_name: dict[str, Instance] = {}

    def instance(node: Node, phase: Phase) -> Instance:
        given = tuple(shapes[a] for a in node.arguments if shapes.get(a))
        if node.op == "embedding" and not module.is_backward:
            given = given[1::-1]  # Python hands over the rows first, ATen the table
        return Instance(_name(node.op), given, phase, node.line, is_node=True)

    if not module.is_backward and module.dynamo.nodes:
        by_name = {node.name: instance(node, "forward") for node in module.dynamo.nodes}
        origins = module.origins
        for node in module.post.nodes:  # `x[rows]` is an item in Python, and a gather on a device
            for origin in origins.get(node.name, ()) if node.op == "index" else ():
                if origin in by_name and by_name[origin].op == "getitem":
                    by_name[origin].op = "index"
        return list(by_name.values()), lambda node: [
            by_name[o] for o in origins.get(node, ()) if o in by_name
        ]
    phase: Phase = "backward" if module.is_backward else "forward"
    order = {node.name: place for place, node in enumerate(module.aot.nodes)}
    ranked, last = [], -1
    for place, node in enumerate(module.post.nodes):
        last = order.get(node.name, last)
        ranked.append((last, place, node))
    ranked.sort(key=lambda entry: entry[:2])
    by_name = {node.name: instance(node, phase) for _, _, node in ranked}
    return list(by_name.values()), lambda node: [by_name[node]] if node in by_name else []


def _deal(
    pieces: Sequence[tuple[str, DeviceEvent, int, Unit]], calls: Sequence[Call]
) -> list[list[Call]]:
    """The calls of each piece: one, several where only their order between kernels is known."""
    dealt: list[list[Call]] = [[] for _ in pieces]
    generated = [place for place, (name, _, _, _) in enumerate(pieces)
                 if name.startswith(("triton_", "cpp_"))]  # fmt: skip
    marks = []
    numbers = [n for n, call in enumerate(calls) if not call.is_extern]
    at = 0
    previous: tuple[int, bool] | None = None
    for place in generated:
        _, _, number, unit = pieces[place]
        if previous == (number, False) and not unit.is_replay:
            dealt[place] = dealt[place - 1]
            continue
        previous = (number, unit.is_replay)
        dealt[place] = [calls[numbers[at]]]
        marks.append((place, numbers[at]))
        at += 1
    last_place, last_call = -1, -1
    for place, call in [*marks, (len(pieces), len(calls))]:
        free = [p for p in range(last_place + 1, place) if not dealt[p]]
        _between(pieces, free, [c for c in calls[last_call + 1 : call] if c.is_extern], dealt)
        last_place, last_call = place, call
    return dealt


def _between(
    pieces: Sequence[tuple[str, DeviceEvent, int, Unit]],
    free: Sequence[int],
    externs: Sequence[Call],
    dealt: list[list[Call]],
) -> None:
    units = list(dict.fromkeys(pieces[p][2] for p in free))
    replayed = any(pieces[p][3].is_replay for p in free)
    if not externs:
        return
    if replayed:
        heads = [p for p in free if "memset" not in pieces[p][0].lower()]
        for place in free:
            if len(externs) == 1:
                dealt[place] = [externs[0]]
            elif len(heads) == len(externs) and place in heads:
                dealt[place] = [externs[heads.index(place)]]
            else:
                dealt[place] = list(externs)
        return
    names = {number: bare(pieces[p][0]) for p in free for number in [pieces[p][2]]}
    same = [n for n in units if any(bare(c.name) in names[n] or names[n] in c.name
                                    for c in externs)]  # fmt: skip
    for place in free:
        number = pieces[place][2]
        if len(units) == len(externs):
            dealt[place] = [externs[units.index(number)]]
        elif len(same) == len(externs) and number in same:
            dealt[place] = [externs[same.index(number)]]
        elif number in same:
            dealt[place] = [c for c in externs if bare(c.name) in names[number]]
