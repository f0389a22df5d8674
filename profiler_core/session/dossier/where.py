"""Where a kernel runs, which may be another module and another line in each run."""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.dossier.record import SourceLine
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import modules_of, pairs_with_ledger, source_lines
from profiler_core.session.pair import Pair


@dataclass(frozen=True)
class RunPlaces:
    """The fusion groups that have a kernel in one run."""

    label: str  # of the run
    pair: Pair  # of whose ledger they are
    groups: tuple[FusionGroup, ...]


def places_of_kernel(comparison: Comparison, name: str) -> list[RunPlaces]:
    """Of each run in whose groups a kernel is, the baseline first; none where nothing matches."""
    places: list[RunPlaces] = []
    for pair in pairs_with_ledger(comparison):
        for side, label in enumerate(pair.labels):
            groups = tuple(
                group
                for group in pair.ledger.groups
                if any(k.name == name for k in (group.baseline, group.candidate)[side].kernels)
            )
            if groups and (side or all(place.label != label for place in places)):
                places.append(RunPlaces(label, pair, groups))
    return places


def modules_at(places: Sequence[RunPlaces]) -> tuple[str, ...]:
    """Each nn.Module of any run, once."""
    return modules_of(group for place in places for group in place.groups)


def sources_at(places: Sequence[RunPlaces]) -> tuple[SourceLine, ...]:
    """The first lines of each run, each once."""
    lines: dict[str, SourceLine] = {}
    for place in places:
        for line in source_lines(place.pair, place.groups):
            lines.setdefault(line.label, line)
    return tuple(lines.values())


def runs_at(places: Sequence[RunPlaces]) -> dict[str, tuple[str, ...]]:
    """Module or label of a line -> the runs that have the kernel there, where not all of them do.

    A run whose groups all lack a module (or a line) says nothing about where it runs in it.
    """
    runs: dict[str, list[str]] = {}
    for place in places:
        lines = (label for group in place.groups for label, _ in group.sources)
        for where in dict.fromkeys((*modules_of(place.groups), *lines)):
            runs.setdefault(where, []).append(place.label)
    return {where: tuple(of) for where, of in runs.items() if len(of) < len(places)}
