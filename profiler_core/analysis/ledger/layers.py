"""Marks groups of repeated, equal layers that did not become the same as their neighbours'.

A stretch of a program that repeats, such as the twelve layers of BERT, names no module, so it is
found with and without logs, on either side, in forward and backward. An operator of one layer and
that at its place in the next are one operator of one module's source: their groups must hold the
same operators of the layer, and the same library operators and number of generated kernels of the
other side. The first and the last layer may be fused with other neighbours; they are not judged,
nor are groups that reach beyond the stretch.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from profiler_core.analysis.ledger.groups import Members
from profiler_core.analysis.ledger.match import Evidence
from profiler_core.analysis.ledger.operators import operators_of_kernel
from profiler_core.analysis.ledger.program import Item, Program
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.ledger.stretches import Stretch, signature, stretches
from profiler_core.analysis.ledger.work_units import HostStep

UNLIKE: Evidence = "unlike equal layers"

_MOST_LAYERS = 2  # that a group may lie in: more, and it is one of all layers


def mark_unlike(
    groups: Sequence[Members], programs: Sequence[Program], steps: Sequence[HostStep]
) -> list[Members]:
    """The groups, with evidence against those that differ from the same place of equal layers.

    Args:
        groups: of one class of steps.
        programs: of its first steps, either side.
        steps: these.
    """
    unlike = {number for side in (0, 1) for number in _unlike(groups, programs[side], steps, side)}
    return [
        replace(group, evidence=group.evidence | {UNLIKE}) if number in unlike else group
        for number, group in enumerate(groups)
    ]


def unlike_note(groups: Sequence[FusionGroup]) -> tuple[str, ...]:
    """How many groups the check has lowered, in a sentence."""
    n = sum(UNLIKE in group.evidence for group in groups)
    if not n:
        return ()
    return (
        f"{n} of {len(groups)} groups differ from those of equal layers at the same place, and "
        "count as of low confidence.",
    )


def _unlike(
    groups: Sequence[Members], program: Program, steps: Sequence[HostStep], side: int
) -> Iterator[int]:
    group_of = {
        unit: number
        for number, group in enumerate(groups)
        for unit in (group.candidate if side else group.baseline)
    }
    for segment in program.segments:
        items = [item for item in segment.items if item.units]
        for stretch in stretches([signature(item) for item in items]):
            yield from _unlike_within(groups, items, stretch, group_of, steps, side)


def _unlike_within(
    groups: Sequence[Members],
    items: Sequence[Item],
    stretch: Stretch,
    group_of: dict[int, int],
    steps: Sequence[HostStep],
    side: int,
) -> Iterator[int]:
    places: dict[int, list[int]] = {}  # unit -> its items' numbers within the stretch
    for number in stretch.items():
        for unit in items[number].units:
            places.setdefault(unit, []).append(number - stretch.start)
    for position in range(stretch.length):
        seen: dict[int, tuple[int, Hashable]] = {}
        for copy in range(stretch.copies):
            item = items[stretch.start + copy * stretch.length + position]
            group = group_of.get(item.units[0])
            if group is not None:
                content = _content(groups[group], copy, stretch.length, places, steps, side)
                if content is not None:
                    seen[copy] = group, content
        inner = [entry for copy, entry in seen.items() if 0 < copy < stretch.copies - 1]
        counts = Counter(content for _, content in seen.values())
        usual = next((content for content, n in counts.items() if 2 * n > len(seen)), None)
        if usual is not None or len(inner) > 1:
            yield from (number for number, content in inner if content != usual)


def _content(
    group: Members,
    copy: int,
    length: int,
    places: dict[int, list[int]],
    steps: Sequence[HostStep],
    side: int,
) -> Hashable | None:
    """What is in a group, as it should be in every layer; None: it reaches beyond the layers."""
    own, others = (group.candidate, group.baseline) if side else (group.baseline, group.candidate)
    if any(unit not in places for unit in own):
        return None
    of_layer = [position for unit in own for position in places[unit]]
    if len({position // length for position in of_layer}) > _MOST_LAYERS:
        return None
    relative = sorted(position - copy * length for position in of_layer)
    names = Counter(
        "a generated kernel" if operators_of_kernel(unit.name) else unit.common
        for unit in (steps[1 - side].units[number] for number in others)
    )
    return tuple(relative), frozenset(names.items())
