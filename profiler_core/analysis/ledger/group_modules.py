"""The nn.Module of each group: of its graph nodes, or in a backward that of its forward."""

from collections.abc import Mapping, Sequence

from profiler_core.analysis.engines import is_engine
from profiler_core.analysis.ledger.groups import Members
from profiler_core.analysis.ledger.modules import ROOT, holding, lies_in, module_of_all
from profiler_core.analysis.ledger.program import Program
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.ledger.work_units import HostStep, forward_units
from profiler_core.analysis.span import Span
from profiler_core.model.inductor import InductorLog
from profiler_core.units import format_duration


def group_modules(
    members: Sequence[Members],
    programs: Sequence[Program],
    steps: tuple[HostStep, HostStep],
    of_operators: tuple[Mapping[int, str], Mapping[int, str]],
) -> list[tuple[str | None, str]]:
    """For each group its module and a note about it, "" mostly; None: no file says it.

    In the forward the candidate's names go first: graphs print paths, traces only classes. In the
    backward an operator's sequence number leads to the forward operator, and so to that group; a
    compiled backward knows lines alone, and a line may call several modules.

    Args:
        members: of the groups.
        programs: of both sides.
        steps: of both sides.
        of_operators: for either side, units that are a node of the other's graph -> its module;
            views too, which are in no group and have a gradient all the same.
    """
    modules = [_named(group, programs, steps) for group in members]
    of_unit = dict(of_operators[0]), dict(of_operators[1])
    for group, (module, _) in zip(members, modules, strict=True):
        for side, units in enumerate((group.baseline, group.candidate)):
            of_unit[side].update((unit, module) for unit in units if module is not None)
    drawn_by = tuple(forward_units(step) for step in steps)
    for number, group in enumerate(members):
        drawn = [
            of_unit[side][drawn_by[side][sequence]]
            for side, units in enumerate((group.baseline, group.candidate))
            for unit in units
            if steps[side].units[unit].backward is not None
            for sequence in steps[side].units[unit].sequence_numbers
            if drawn_by[side].get(sequence) in of_unit[side]
        ]
        by_line = modules[number][0]
        holder = holding(drawn)
        is_closer = by_line not in (None, holder) and lies_in(by_line or "", holder or "")
        if holder is not None and not is_closer:
            modules[number] = module_of_all(drawn)
    return modules


def _named(
    group: Members, programs: Sequence[Program], steps: tuple[HostStep, HostStep]
) -> tuple[str | None, str]:
    """The module that a graph or a Python call names for a group's units."""
    sides = ((1, group.candidate), (0, group.baseline))
    named = [
        [name for unit in units for name in programs[side].modules.get(unit, ())]
        for side, units in sides
    ]
    names = next((names for names in named if names), [])
    opaque = any(is_engine(steps[side].units[unit].name) for side, units in sides for unit in units)
    return (holding(names), "") if opaque else module_of_all(names)


def without_module(groups: Sequence[FusionGroup]) -> tuple[str, ...]:
    """Why groups have no module, in a sentence; optimizers belong to none."""
    asked = [group for group in groups if group.phase != "update"]
    missing = sum(group.module is None for group in asked)
    if not missing:
        return ()
    if missing == len(asked):
        return (
            "No group has a module: neither side has a dynamo graph that names parameters by "
            "their path (torch 2.5 on, structured logs) nor Python calls in its trace.",
        )
    outside = " outside the optimizer" if len(asked) < len(groups) else ""
    have, them = ("has", "it") if missing == 1 else ("have", "them")
    return (
        f"{missing} of {len(asked)} groups{outside} {have} no module: no node of a graph that "
        f"names one and no Python call belongs to {them}.",
    )


def of_lines_alone(
    groups: Sequence[FusionGroup], logs: Sequence[InductorLog | None], span: Span
) -> tuple[str, ...]:
    """That modules lack their backward where all of it is compiled: lines call several modules.

    Args:
        groups: of the ledger.
        logs: of both sides; an eager run has no generated graphs.
        span: what times are of.
    """
    if not all(log is not None and log.graphs for log in logs):
        return ()
    unknown = [group for group in groups if group.phase == "backward" and group.module == ROOT]
    inside = any(group.phase == "forward" and group.module not in (None, ROOT) for group in groups)
    time_ns = sum(group.candidate_step_ns for group in unknown)
    if not time_ns or not inside:
        return ()
    return (
        "A log knows a compiled backward by lines, which may call several modules: "
        f"{format_duration(time_ns)} {span} of it count for {ROOT}, and modules may lack theirs. "
        "Beside an eager run its gradients are told by module.",
    )


def is_in_module(module: str | None, chosen: str) -> bool:
    """Does a module lie in the chosen one?"""
    if not module:
        return False
    parts, chosen_parts = module.split("."), chosen.split(".")
    return len(parts) >= len(chosen_parts) and all(
        chosen_part == part or (chosen_part == "*" and part.isdigit())
        for part, chosen_part in zip(parts, chosen_parts, strict=False)
    )
