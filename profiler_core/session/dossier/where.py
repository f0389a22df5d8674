"""Where a kernel runs, which may be another module and another line in each run."""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.dossier.record import SourceLine
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import modules_of, source_lines
from profiler_core.session.dossier.ledger_runs import ledgers_of
from profiler_core.session.run import Run


@dataclass(frozen=True)
class RunPlaces:
    """The fusion groups that have a kernel in one run."""

    label: str  # of the run
    told_by: Run  # whose log says their lines
    groups: tuple[FusionGroup, ...]


def places_of_kernel(comparison: Comparison, name: str) -> list[RunPlaces]:
    """Of each run in whose groups a kernel is, the baseline first; none where nothing matches."""
    places: list[RunPlaces] = []
    for shown in ledgers_of(comparison):
        for n, label in enumerate(shown.labels):
            groups = tuple(
                group
                for group in shown.groups
                if any(kernel.name == name for kernel in shown.sides_of(group)[n].kernels)
            )
            if groups and (n or all(place.label != label for place in places)):
                places.append(RunPlaces(label, shown.told_by, groups))
    return places


def modules_at(places: Sequence[RunPlaces]) -> tuple[str, ...]:
    """Each nn.Module of any run, once."""
    return modules_of(group for place in places for group in place.groups)


def sources_at(places: Sequence[RunPlaces]) -> tuple[SourceLine, ...]:
    """The first lines of each run, each once."""
    lines: dict[str, SourceLine] = {}
    for place in places:
        for line in source_lines(place.told_by, place.groups):
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
