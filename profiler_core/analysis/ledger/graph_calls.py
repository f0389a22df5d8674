"""Which graph of the log a run in the trace executed, and which of its calls started which kernel.

Within one run the launches come in the order of the generated code. Under CUDA graphs the replayed
kernels come in the recorded order, so the same order deals them to the calls: a Triton call takes
the one kernel of its name, a library call one or more of the others (split-K reductions, layout
helpers).
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from profiler_core.analysis.engines import is_engine
from profiler_core.analysis.ledger.alignment import align
from profiler_core.analysis.ledger.engines import engine_graph
from profiler_core.analysis.ledger.library_kernels import dealt, finishes, is_helper
from profiler_core.analysis.ledger.operators import operator
from profiler_core.analysis.ledger.replay_overhead import is_seed
from profiler_core.analysis.ledger.replays import Recording
from profiler_core.analysis.ledger.work_units import GraphRun, HostStep, Unit
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, InductorLog

_COPIES = re.compile(r"aten::_foreach_copy_$|aten::copy_$|Memcpy")
_GRAPH_PREFIX = re.compile(r"^graph_\d+_")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A kernel of a replay, or a unit launched in the ordinary way."""

    unit: int
    event: int | None  # row of the work table for a replay's kernel
    name: str
    is_generated: bool
    group: int = 0  # pieces of one group and no call are one unit
    operator: Unit | None = None  # that started the same kernel in another run


@dataclass(slots=True)
class Execution:
    """One run with its graph: unit numbers by call, and what belongs to no call."""

    run: int
    graph: CompiledGraph | None
    units_of_call: dict[int, list[int]]
    input_copies: list[int]  # copies into a CUDA graph's static inputs
    strays: list[int]
    seeds: list[int] = field(default_factory=list)  # of a CUDA graph's random numbers

    def add(self, unit: int, call: int | None) -> None:
        """Add a unit of a call, or a stray one."""
        numbers = self.strays if call is None else self.units_of_call.setdefault(call, [])
        numbers.append(unit)


def generated_name(name: str) -> str:
    """`graph_0_cpp_fused_add_0` -> `cpp_fused_add_0`, as the generated code names it."""
    return _GRAPH_PREFIX.sub("", name)


def is_generated(name: str) -> bool:
    """Is this the name of a kernel that Inductor wrote?"""
    return generated_name(name).startswith(("triton_", "cpp_fused", "cpp_CppMicro"))


def execute(
    step: HostStep,
    log: InductorLog | None,
    kernel_names: Mapping[int, str],
    kernels: Mapping[int, str],
    recording: Recording,
) -> list[Execution]:
    """Find the graph of each run of a step and deal its launches to the calls.

    Replays are split: their units are replaced by one unit a call, appended to `step.units`.

    Args:
        step: its units are given their `call`.
        log: None where there is no structured log.
        kernel_names: name of each row of the work table that the step has.
        kernels: name and grid of the same rows.
        recording: what other runs show of the kernels of replays without a graph in the log.
    """
    inside: dict[int, list[int]] = {}
    for number, unit in enumerate(step.units):
        if unit.run is not None and unit.events:
            inside.setdefault(unit.run, []).append(number)
    executions = []
    for index, run in enumerate(step.runs):
        numbers = inside.get(index, [])
        if not numbers:
            continue
        pieces = _pieces(step, numbers, kernel_names)
        if any(is_engine(piece.name) for piece in pieces):
            executions.append(_deal_engine(step, index, pieces, log))
            continue
        graph = _choose_graph(run, pieces, log)
        if graph is None:
            pieces = _with_operators(pieces, kernels, recording)
        executions.append(_deal(step, index, graph, pieces))
    return executions


def _pieces(
    step: HostStep, numbers: Sequence[int], kernel_names: Mapping[int, str]
) -> list[_Piece]:
    pieces: list[_Piece] = []
    for number in numbers:
        unit = step.units[number]
        if unit.is_replay:
            pieces.extend(
                _Piece(number, event, kernel_names[event], is_generated(kernel_names[event]), event)
                for event in unit.events
            )
        else:
            pieces.append(_Piece(number, None, unit.name, is_generated(unit.name)))
    return pieces


def _with_operators(
    pieces: list[_Piece], kernels: Mapping[int, str], recording: Recording
) -> list[_Piece]:
    """The kernels of a replay with the operators that started them in other runs."""
    replayed = [position for position, piece in enumerate(pieces) if piece.event is not None]
    operators = recording.operators_of([kernels[pieces[n].event or 0] for n in replayed])
    for position, operator_of in zip(replayed, operators, strict=True):
        if operator_of is not None:
            number, unit = operator_of
            group = -1 - number  # apart from the groups of pieces that are known by name alone
            pieces[position] = replace(pieces[position], group=group, operator=unit)
    return pieces


def _choose_graph(
    run: GraphRun, pieces: Sequence[_Piece], log: InductorLog | None
) -> CompiledGraph | None:
    """The graph of this compile id and direction; where several could be, the likeliest.

    The id in the trace decides. Without one (torch < 2.5, or an attempt whose id changed) the
    generated kernels' names do.
    """
    if log is None:
        return None
    backward = run.direction == "backward"
    fitting = [g for g in log.graphs if (g.direction == "backward") == backward and g.calls]
    same_id = [g for g in fitting if run.compile_id and g.compile_id == run.compile_id]
    seen = Counter(generated_name(piece.name) for piece in pieces if piece.is_generated)

    def likeness(graph: CompiledGraph) -> float:
        written = Counter(c.name for c in graph.calls if c.kind != "library")
        common = sum((seen & written).values())
        return common - 0.5 * (sum(seen.values()) + sum(written.values()) - 2 * common)

    if same_id:
        # The last one wins a tie: a compilation tried again overwrites what it logged first.
        return max(enumerate(same_id), key=lambda item: (likeness(item[1]), item[0]))[1]
    if not seen:
        return None
    best = max(fitting, key=likeness, default=None)
    written = Counter(c.name for c in best.calls) if best is not None else Counter[str]()
    return best if sum((seen & written).values()) * 2 > sum(seen.values()) else None


def _deal_engine(
    step: HostStep, index: int, pieces: Sequence[_Piece], log: InductorLog | None
) -> Execution:
    """All of the graph is the engine's, but for the operators that stand beside it."""
    run = step.runs[index]
    backward = run.direction == "backward"
    logged = next(
        (
            graph
            for graph in (log.traced if log is not None else ())
            if graph.compile_id == run.compile_id and (graph.direction == "backward") == backward
        ),
        None,
    )
    if logged is None:
        return Execution(index, None, {}, [], [])
    graph, call_of = engine_graph(logged, [piece.name for piece in pieces])
    execution = Execution(index, graph, {}, [], [])
    for piece, call in zip(pieces, call_of, strict=True):
        if call is not None:
            step.units[piece.unit].call = call
            execution.units_of_call.setdefault(call, []).append(piece.unit)
    return execution


def _deal(
    step: HostStep, run: int, graph: CompiledGraph | None, pieces: Sequence[_Piece]
) -> Execution:
    execution = Execution(run, graph, {}, [], [])
    calls = graph.calls if graph is not None else ()
    pieces = _without_overhead(step, pieces, execution)
    call_of = _match(pieces, calls)
    if not calls:
        pieces = _with_helpers(pieces)
    merged: dict[tuple[int, int], Unit] = {}
    for position, piece in enumerate(pieces):
        unit = step.units[piece.unit]
        call = call_of[position]
        if piece.event is None:
            unit.call = call
            execution.add(piece.unit, call)
            continue
        key = (piece.unit, call if call is not None else -1 - piece.group)
        dealt = merged.get(key)
        if dealt is None:
            dealt = merged[key] = _unit_of(piece, unit, run, None if call is None else calls[call])
            execution.add(len(step.units), call)
            step.units.append(dealt)
        dealt.events.append(piece.event)
    for number in {piece.unit for piece in pieces if piece.event is not None}:
        step.units[number].events = []  # dealt: each event is in one unit only
    return execution


def _without_overhead(
    step: HostStep, pieces: Sequence[_Piece], execution: Execution
) -> list[_Piece]:
    """The pieces of the program; what replays launch beside it is noted as such."""
    is_replayed = [p.event is not None or step.units[p.unit].is_recorded for p in pieces]
    first_replay = is_replayed.index(True) if True in is_replayed else 0
    copies = [p for p in pieces[:first_replay] if _COPIES.search(p.name)]
    seeds = _seeds(step, pieces, is_replayed)
    execution.input_copies.extend(dict.fromkeys(piece.unit for piece in copies))
    execution.seeds.extend(dict.fromkeys(piece.unit for piece in seeds))
    return [piece for piece in pieces if piece not in copies and piece not in seeds]


def _seeds(step: HostStep, pieces: Sequence[_Piece], is_replayed: Sequence[bool]) -> list[_Piece]:
    """What sets the seed and offset of a replay, directly before it."""
    seeds: list[_Piece] = []
    is_before_replay = False
    for piece, replayed in zip(reversed(pieces), reversed(is_replayed), strict=True):
        is_before_replay = replayed or (is_before_replay and is_seed(step.units[piece.unit]))
        if is_before_replay and not replayed:
            seeds.append(piece)
    return seeds[::-1]


def _unit_of(piece: _Piece, replay: Unit, run: int, call: GeneratedCall | None) -> Unit:
    """The unit of a replay's kernels that are of one call, or of one operator."""
    is_own = call is None or piece.is_generated
    unit = Unit(
        piece.name if is_own or call is None else _unit_name(call),
        replay.ts_ns,
        replay.end_ns,
        replay.thread,
        run,
        replay.backward,
        replay.in_optimizer,
        call=None if call is None else call.index,
    )
    if piece.operator is not None and call is None:
        unit.take(piece.operator)
    return unit


def _with_helpers(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Without a graph: a replay's helper kernels join their neighbour that is no helper.

    What finishes a product (a split-K reduction) joins what is before, the rest what follows.
    """
    joined = list(pieces)
    following: _Piece | None = None
    for position in range(len(joined) - 1, -1, -1):
        piece = joined[position]
        if piece.event is None:
            continue
        if piece.operator is not None:
            following = piece
            continue
        if not _is_helper(piece):
            following = piece
            continue
        before = next((p for p in joined[position - 1 :: -1] if not _is_helper(p)), None)
        neighbour = before if finishes(piece.name) and position else following or before
        if neighbour is not None and neighbour.event is not None:
            joined[position] = replace(
                piece, name=neighbour.name, group=neighbour.group, operator=neighbour.operator
            )
    return joined


def _is_helper(piece: _Piece) -> bool:
    return not piece.is_generated and is_helper(piece.name)


def _unit_name(call: GeneratedCall) -> str:
    if call.kind != "library":
        return call.name
    parts = call.name.split(".")
    name = parts[3] if call.name.startswith("torch.ops.") and len(parts) > 3 else parts[1]
    return f"aten::{name}"


def _match(pieces: Sequence[_Piece], calls: Sequence[GeneratedCall]) -> list[int | None]:
    """The call of each piece; None for what no call explains."""
    result: list[int | None] = [None] * len(pieces)
    if not calls:
        return result

    def piece_key(piece: _Piece) -> str:
        if piece.is_generated:
            return generated_name(piece.name)
        return "?" if piece.event is not None else operator(piece.name)

    def call_key(call: GeneratedCall) -> str:
        return call.name if call.kind != "library" else operator(call.name)

    anchors = align(
        [piece_key(piece) for piece in pieces],
        [call_key(call) for call in calls],
        lambda a, b: 4 if a == b and a.startswith(("triton_", "cpp_")) else int(a == b) * 3,
    )
    for position, call in anchors:
        result[position] = call
    last_place = last_call = -1
    for position, call in [*anchors, (len(pieces), len(calls))]:
        _fill(pieces, calls, range(last_place + 1, position), range(last_call + 1, call), result)
        last_place, last_call = position, call
    _adopt_helpers(pieces, calls, result)
    return result


def _fill(
    pieces: Sequence[_Piece],
    calls: Sequence[GeneratedCall],
    places: range,
    numbers: range,
    result: list[int | None],
) -> None:
    """Deal the pieces between two anchors to the library calls between them, in order."""
    heavy = [number for number in numbers if calls[number].kind == "library"]
    free = [position for position in places if not pieces[position].is_generated]
    if not heavy or not free:
        return
    if len(free) == len(heavy):
        for position, number in zip(free, heavy, strict=True):
            result[position] = number
        return
    names = [pieces[position].name for position in free]
    first = 0
    for number, (skipped, taken) in zip(heavy, dealt(names, len(heavy)), strict=False):
        first += skipped
        for position in free[first : first + taken]:
            result[position] = number
        first += taken


def _adopt_helpers(
    pieces: Sequence[_Piece], calls: Sequence[GeneratedCall], result: list[int | None]
) -> None:
    """Memsets and helper kernels belong to the call that follows them, at the end to the last."""
    following: int | None = None
    for position in range(len(pieces) - 1, -1, -1):
        if result[position] is not None:
            following = result[position]
        elif is_helper(pieces[position].name) or operator(pieces[position].name) in (
            "zero",
            "fill",
        ):
            before = next(
                (result[p] for p in range(position - 1, -1, -1) if result[p] is not None), None
            )
            is_memset = "memset" in pieces[position].name.lower() or pieces[position].event is None
            library_before = before is not None and calls[before].kind == "library"
            if following is None or (library_before and not is_memset):
                result[position] = before
            else:
                result[position] = following
