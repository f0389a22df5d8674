"""The nn.Module of each group: of its graph nodes, or in a backward that of its forward."""

from collections.abc import Sequence

from profiler_core.analysis.engines import is_engine
from profiler_core.analysis.ledger.groups import Members
from profiler_core.analysis.ledger.modules import holding, module_of_all
from profiler_core.analysis.ledger.program import Program
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.ledger.work_units import HostStep


def group_modules(
    members: Sequence[Members], programs: Sequence[Program], steps: tuple[HostStep, HostStep]
) -> list[tuple[str | None, str]]:
    """For each group its module and a note about it, "" mostly; None: no file says it.

    The candidate's names go first: graphs print paths, traces only classes. An eager backward
    names no module; its sequence numbers lead to the forward operator, and so to that group.
    """
    found = []
    for one in members:
        numbers = (one.baseline, one.candidate)
        named = [
            [name for unit in numbers[side] for name in programs[side].modules.get(unit, ())]
            for side in (1, 0)
        ]
        names = next((names for names in named if names), [])
        opaque = any(
            is_engine(steps[side].units[unit].name) for side in (0, 1) for unit in numbers[side]
        )
        found.append((holding(names), "") if opaque else module_of_all(names))
    by_sequence: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for one, (module, _) in zip(members, found, strict=True):
        for side, numbers_of in enumerate((one.baseline, one.candidate)):
            for unit in numbers_of if module is not None else ():
                if steps[side].units[unit].backward is None:
                    for number in steps[side].units[unit].sequence_numbers:
                        by_sequence[side].setdefault(number, module or "")
    for place, one in enumerate(members):
        if found[place][0] is None:
            found[place] = module_of_all(
                by_sequence[side][number]
                for side, numbers_of in enumerate((one.baseline, one.candidate))
                for unit in numbers_of
                if steps[side].units[unit].backward is not None
                for number in steps[side].units[unit].sequence_numbers
                if number in by_sequence[side]
            )
    return found


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
    return (
        f"{missing} of {len(asked)} groups have no module: no node of a graph and no Python call "
        "is theirs.",
    )
