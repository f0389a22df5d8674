"""Of which nn.Modules the operators are that a kernel computes, for kernels of either side.

A group may lie in several layers, and so may one fused kernel. What is known of each unit of work
goes first: the nodes of its graph, the node of the other side that it is, in a backward the
operator whose gradient it computes, the Python calls around it. A kernel that nothing says this
of, such as one of a compiled run without logs, computes what its group has on the other side.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from profiler_core.analysis.ledger.groups import Members
from profiler_core.analysis.ledger.match import Match, Tie
from profiler_core.analysis.ledger.modules import ROOT, holding, lies_in
from profiler_core.analysis.ledger.program import Program
from profiler_core.analysis.ledger.work_units import HostStep, forward_units

OfModules = tuple[tuple[str, int], ...]  # module, and how many operators of it; (): not known

_Counts = dict[int, Counter[str]]  # unit -> its operators by module


def operators_by_module(
    members: Sequence[Members],
    programs: Sequence[Program],
    steps: tuple[HostStep, HostStep],
    match: Match,
    group_module: Sequence[str | None],
    classes: dict[str, str],
) -> tuple[dict[int, OfModules], dict[int, OfModules]]:
    """For either side: busy unit -> the modules of the operators that it computes.

    Args:
        members: of the groups.
        programs: of both sides.
        steps: of both sides.
        match: of the two programs.
        group_module: the module that each group as a whole lies in.
        classes: where the class of each module that Python calls name is put.
    """
    by_node = [_by_node(program) for program in programs]
    has_paths = any(by_node) or any(match.modules)
    counts: list[_Counts] = []
    for side in (0, 1):
        own = dict(by_node[side])
        for unit, module in match.modules[side].items():
            own.setdefault(unit, Counter((module,)))
        counts.append(own)
    classes.update(
        _classes_of_paths(programs, counts) if has_paths else _classes_of_calls(programs)
    )
    for side, own in enumerate(counts):
        called = (
            _called(programs, counts, side) if has_paths else _eager(programs[side], steps[side])
        )
        for unit, name in called.items():
            own.setdefault(unit, Counter((name,)))
    gradients = [_of_gradients(steps[side], counts[side], by_node[side]) for side in (0, 1)]
    for side, own in enumerate(counts):
        own.update(gradients[side])
    for side, own in enumerate(counts):
        _correct_lines(steps[side], own, by_node[side], _faced(match.ties, side, gradients))
    for group, whole in zip(members, group_module, strict=True):
        _add_served(group, programs, counts)
        _complete(group, counts, whole)
    return _sorted(counts[0]), _sorted(counts[1])


def _by_node(program: Program) -> _Counts:
    """By the nodes of graphs alone: a module of Python calls is a class, and no path."""
    return {
        unit: Counter(modules)
        for unit, modules in program.modules.items()
        if modules != [program.called_in.get(unit)]
    }


def _called(programs: Sequence[Program], counts: Sequence[_Counts], side: int) -> dict[int, str]:
    """Units by the Python calls around them, said as the path that most units in these have."""
    paths: dict[str, Counter[str]] = {}
    for program, count in zip(programs, counts, strict=True):
        for unit, call in program.called_in.items():
            if len(count.get(unit, ())) == 1:
                paths.setdefault(call, Counter()).update(count[unit].keys())
    return {
        unit: paths[call].most_common(1)[0][0]
        for unit, call in programs[side].called_in.items()
        if call in paths
    }


def _classes_of_paths(programs: Sequence[Program], counts: Sequence[_Counts]) -> dict[str, str]:
    """Path -> class: what all calls in a module begin with goes further than in the one above it.

    A list of modules is not called, and so has no class.
    """
    shared: dict[str, list[str]] = {}
    for program, count in zip(programs, counts, strict=True):
        for unit, call in program.called_in.items():
            if len(count.get(unit, ())) != 1:
                continue
            (path,) = count[unit]
            parts = [] if path == ROOT else path.split(".")
            calls = call.split(".")
            for end in range(len(parts) + 1):
                above = ".".join(parts[:end]) or ROOT
                shared[above] = _shared(shared.get(above, calls), calls)
    classes = {}
    for path, calls in shared.items():
        n_above = len(shared[path.rpartition(".")[0] or ROOT]) if path != ROOT else 0
        if len(calls) > n_above:
            classes[path] = _class_name(calls[n_above])
    return classes


def _shared(calls: Sequence[str], others: Sequence[str]) -> list[str]:
    """What both begin with."""
    return [
        call
        for call, _ in takewhile(lambda two: two[0] == two[1], zip(calls, others, strict=False))
    ]


def _classes_of_calls(programs: Sequence[Program]) -> dict[str, str]:
    """The same where modules have no path: a call is a class and a number."""
    classes = {}
    for program in programs:
        for call in set(program.called_in.values()):
            parts = call.split(".")
            for end, part in enumerate(parts, 1):
                classes[".".join(parts[:end])] = _class_name(part)
    return classes


def _class_name(call: str) -> str:
    """`BertLayer_3` -> "BertLayer"."""
    name, _, number = call.rpartition("_")
    return name if name and number.isdigit() else call


def _eager(program: Program, step: HostStep) -> dict[int, str]:
    """By Python calls: around a compiled graph there are only those of the whole model."""
    return {unit: call for unit, call in program.called_in.items() if step.units[unit].run is None}


def _of_gradients(step: HostStep, counts: _Counts, by_node: _Counts) -> _Counts:
    """Units of an eager backward, by the operators that drew their sequence numbers."""
    drawn_by = forward_units(step)
    gradients: _Counts = {}
    for number, unit in enumerate(step.units):
        if unit.backward is None or number in by_node:
            continue
        drawn = [drawn_by[n] for n in unit.sequence_numbers if drawn_by.get(n) in counts]
        if drawn:
            gradients[number] = counts[drawn[0]]
    return gradients


def _faced(ties: Sequence[Tie], side: int, gradients: Sequence[_Counts]) -> _Counts:
    """Units of one side -> the modules whose gradients the units compute that they are tied to."""
    faced: _Counts = {}
    for tie in ties:
        own, others = (tie.candidate, tie.baseline) if side else (tie.baseline, tie.candidate)
        operators = [gradients[1 - side][unit] for unit in others if unit in gradients[1 - side]]
        for unit in own if operators else ():
            faced[unit] = sum(operators, faced.get(unit, Counter()))
    return faced


def _correct_lines(step: HostStep, own: _Counts, by_node: _Counts, faced: _Counts) -> None:
    """A compiled backward knows lines alone, and a line may call several modules.

    So an eager gradient that it is tied to says more, unless the line's module lies in that one's.
    """
    for unit, modules in faced.items():
        run = step.units[unit].run
        if unit not in by_node or run is None or step.runs[run].direction != "backward":
            continue
        holder = holding(modules)
        inner = holder not in (None, ROOT) and all(lies_in(m, holder or "") for m in own[unit])
        if not inner or len(modules) > 1:
            own[unit] = modules


def _add_served(group: Members, programs: Sequence[Program], counts: Sequence[_Counts]) -> None:
    """Units that do a part for an operator of their group compute it, too.

    The softmax of the first attention, between its products, also builds the mask of all layers:
    by its own nodes it is the model's alone.
    """
    for side, units in enumerate((group.baseline, group.candidate)):
        inside, own = set(units), counts[side]
        for unit in units:
            target = programs[side].serves.get(unit)
            if target not in inside or target not in own or unit not in own:
                continue
            if not any(lies_in(module, other) for module in own[unit] for other in own[target]):
                own[unit] = own[unit] + own[target]


def _complete(group: Members, counts: Sequence[_Counts], module: str | None) -> None:
    """Units that nothing is known of: what the group has on the other side, else on their own."""
    sides = (group.baseline, group.candidate)
    in_group: list[Counter[str]] = [
        sum((counts[side][unit] for unit in units if unit in counts[side]), Counter())
        for side, units in enumerate(sides)
    ]
    whole = Counter((module,)) if module is not None else Counter()
    for side, units in enumerate(sides):
        for unit in units:
            counts[side].setdefault(unit, in_group[1 - side] or in_group[side] or whole)


def _sorted(counts: _Counts) -> dict[int, OfModules]:
    return {unit: tuple(sorted(modules.items())) for unit, modules in counts.items()}
