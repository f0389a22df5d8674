"""The dossiers of a module and of a line of code: the groups that lie there, slowest first."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import Literal

from profiler_core.analysis.dossier.generated import generated_of_groups
from profiler_core.analysis.dossier.record import Dossier, Related, Relation, RunTime
from profiler_core.analysis.item import Item, module_item, name_key
from profiler_core.analysis.ledger.group_modules import is_in_module
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.lines import BySide, counted_elsewhere_ns, lines_of, times_by_line
from profiler_core.analysis.modules import ModuleRow
from profiler_core.analysis.rows.modules import row_title, untold_sentence
from profiler_core.analysis.wording.dossier import times_answer
from profiler_core.analysis.wording.places import (
    functions_about,
    line_about,
    line_elsewhere,
    listed_whole,
    missing_of_place,
    module_about,
)
from profiler_core.analysis.wording.sentence import uncapitalised
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.beside_collectives import groups_beside
from profiler_core.session.dossier.common import (
    kernels_of_groups,
    modules_of,
    operators_of_groups,
    related_groups,
    slowest_first,
    source_lines,
    times_of_groups,
)
from profiler_core.session.dossier.functions import function_dossier, python_calls
from profiler_core.session.dossier.ledger_runs import LedgerRuns, ledgers_of
from profiler_core.session.dossier.memory_line import caller_dossier
from profiler_core.session.dossier.where import sources_of_modules

_SAME_TIME = 1e-3  # what sums of the same calls differ by at most, relative
_GENERATED = "triton_"


@dataclass(frozen=True)
class Place:
    """What the groups of some runs say of a module or a line."""

    numbers: Sequence[int]  # of its groups, by their places; none: nothing
    times: tuple[RunTime, ...]
    title: str  # its whole name
    answer: str
    about: tuple[str, ...] = ()
    works_for: str = ""  # what its groups do besides: "work for other modules"; "": nothing
    modules: Relation | None = None  # in it
    functions: tuple[str, ...] = ()  # in whose calls it runs, in sentences
    paths: tuple[str, ...] = ()  # of a module, or of those that are one row together


def module_dossier(comparison: Comparison, item: Item) -> Dossier:
    """A module with all below it; raises NothingToAnalyse where no group works for it.

    Its times are its own shares of the groups, which may work for other modules too.
    """
    return _of_place(
        comparison,
        item,
        "module",
        lambda shown: _module_place(shown, item, comparison.in_run(shown.runs[-1])),
    )


def source_dossier(comparison: Comparison, item: Item) -> Dossier:
    """A line of code; of one that only calls such lines what a memory snapshot says.

    Of a line where a function of the user's begins what that function launches.

    Raises:
        NothingToAnalyse: no group comes from it, no snapshot has it, and no such function begins
            there.
    """
    shown = list(ledgers_of(comparison, item.of))
    if not any(_line_place(each, item).numbers for each in shown):
        first = shown[:1]
        caller = caller_dossier(comparison, item, lambda line: _times_in_groups(first, line))
        told = caller if caller is not None else function_dossier(comparison, item)
        if told is not None:
            return told
    return _of_place(
        comparison,
        item,
        "source line",
        lambda shown: _line_place(shown, item, comparison.in_run(shown.runs[-1])),
    )


def _times_in_groups(first: Sequence[LedgerRuns], line: Item) -> tuple[RunTime, ...]:
    """Of a line in the groups of the first runs that have a ledger; () where none is its."""
    places = (_line_place(shown, line) for shown in first)
    return next((place.times for place in places if place.numbers), ())


def _module_place(shown: LedgerRuns, item: Item, in_last: str) -> Place:
    tree = shown.divided.modules
    row = next(
        (
            row
            for row in (*tree.rows, *tree.by_class)
            if row.path and module_item(row.path) == item.named
        ),
        None,
    )
    if row is None:
        numbers = [
            n for n, group in enumerate(shown.groups) if is_in_module(group.module, item.key)
        ]
        times = times_of_groups(shown, [shown.groups[number] for number in numbers])
        return Place(numbers, times, item.key, times_answer(times, tree.span, in_last=in_last))
    times = tuple(
        RunTime(
            run,
            label,
            row.step_ns(side),
            row.per_step(row.sides[side].n_kernels + row.sides[side].n_copies, side),
        )
        for run, label, side in zip(shown.runs, shown.labels, shown.sides, strict=True)
    )
    wholes = times_of_groups(shown, [shown.groups[number] for number in row.groups])
    is_whole = all(
        isclose(own.time_ns or 0.0, whole.time_ns or 0.0, rel_tol=_SAME_TIME)
        for own, whole in zip(times, wholes, strict=True)
    )
    labels = shown.labels[0], shown.labels[-1]
    functions = functions_about(shown.functions_of(row.path), len(shown.runs))
    return Place(
        row.groups,
        times,
        row.path,
        untold_sentence(tree, labels) or times_answer(times, tree.span, in_last=in_last),
        (*functions, *module_about(row, zip(shown.labels, shown.sides, strict=True), tree.span)),
        "" if is_whole else "work for other modules",
        None if shown.pair is not None else _modules_in(shown, row),
        functions=functions,
        paths=row.members or (row.path,),
    )


def _modules_in(shown: LedgerRuns, row: ModuleRow) -> Relation:
    """The modules right below one, or those that are one row together."""
    rows: Iterable[ModuleRow] = shown.divided.modules.rows[1:]
    members = set(row.members)
    entries = slowest_first(
        Related(
            row_title(each) if members else each.name,
            module_item(each.path),
            each.class_name if each.class_name != each.name else "",
            tuple(each.step_ns(side) or None for side in shown.sides),
        )
        for each in rows
        if (each.path in members if members else each.above == row.path)
    )
    return Relation("modules", shown.labels, tuple(entries))


def _line_about(
    shown: LedgerRuns,
    label_of: Mapping[int, str],
    by_line: Mapping[int, Mapping[str, BySide]],
    title: str,
) -> tuple[str, ...]:
    """What has to be known of a line's time: other lines, what counts for these, what it may lack.

    Args:
        shown: the runs.
        label_of: the line, by the groups that have it.
        by_line: the times of all lines of these groups.
        title: as it is shown.
    """
    groups, span = shown.groups, shown.divided.ledger.span
    own = [groups[number] for number in label_of]
    others = {label: None for group in own for label, _ in lines_of(group) if label != title}
    of_baseline = {label for times in by_line.values() for label, (ns, _) in times.items() if ns}
    nowhere = [
        group
        for group in groups
        if not group.sources and group.phase != "update" and not group.serves_replay
    ]
    unplaced_ns = [time.time_ns or 0.0 for time in times_of_groups(shown, nowhere)]
    elsewhere_ns = sum(
        counted_elsewhere_ns(groups[number], label, by_line[number][label][1])
        for number, label in label_of.items()
    )
    return (
        *line_elsewhere(elsewhere_ns, [each for each in others if each in of_baseline], span),
        *line_about(tuple(others), unplaced_ns, span, is_pair=shown.pair is not None),
    )


def _line_place(shown: LedgerRuns, item: Item, in_last: str = "") -> Place:
    groups = shown.groups
    label_of = {
        number: label
        for number, group in enumerate(groups)
        for label, _ in lines_of(group)
        if name_key(label) == item.key
    }
    own = [groups[number] for number in label_of]
    by_line = {number: times_by_line(groups[number]) for number in label_of}
    parts = [by_line[number][label] for number, label in label_of.items()]
    times = tuple(
        replace(of_groups, time_ns=sum(part[side] for part in parts))
        for of_groups, side in zip(times_of_groups(shown, own), shown.sides, strict=True)
    )
    title = next(iter(label_of.values()), item.key)
    span = shown.divided.ledger.span
    about = _line_about(shown, label_of, by_line, title)
    answer = times_answer(times, span, in_last=in_last)
    return Place(tuple(label_of), times, title, answer, about)


def _remedy(comparison: Comparison, of: int | None) -> str:
    """What shows the groups of a place that no run has."""
    choose = "Choose the runs that the link was made for."
    if any(shown.told_by.code is not None for shown in ledgers_of(comparison, of)):
        return choose
    return (
        "Groups know their lines and modules by the compiled run's structured log (TORCH_TRACE): "
        f"capture with it, or {uncapitalised(choose)}"
    )


def _of_place(
    comparison: Comparison,
    item: Item,
    kind: Literal["module", "source line"],
    place_of: Callable[[LedgerRuns], Place],
) -> Dossier:
    of_runs = ((shown, place_of(shown)) for shown in ledgers_of(comparison, item.of))
    places = [(shown, place) for shown, place in of_runs if place.numbers]
    if not places:
        raise NothingToAnalyse(
            f"No fusion group of these runs lies in the {kind} {item.key}.",
            remedy=_remedy(comparison, item.of),
        )
    shown, place = places[0]
    groups = [shown.groups[number] for number in place.numbers]
    log = shown.told_by
    sources = (
        sources_of_modules(log, groups, place.paths)
        if place.paths
        else source_lines(log, groups, item)
    )
    generated = generated_of_groups(log.code, groups) if log.code is not None else ()
    return Dossier(
        item=item,
        kind=kind,
        title=place.title,
        answer=place.answer,
        about=(*place.about, *groups_beside(comparison, shown, place.numbers)),
        times=_with_others(place, [other for _, other in places[1:]]),
        modules=modules_of(groups) if kind == "source line" else (),
        relations=_relations(shown, place, groups),
        sources=sources,
        generated=generated,
        missing=missing_of_place(
            has_log=log.code is not None,
            has_code=bool(generated),
            runs_generated=(
                any(map(_is_generated, groups)) if shown.pair is None else shown.may_be_generated
            ),
            has_sources=bool(sources) or (shown.pair is not None and not place.functions),
            calls=python_calls(comparison, place.functions),
        ),
    )


def _with_others(place: Place, others: Sequence[Place]) -> tuple[RunTime, ...]:
    """The times of a pair with those of the other candidates, in the order of the runs."""
    further = (other.times[-1] for other in others)
    return tuple(sorted((*place.times, *further), key=lambda time: time.run))


def _relations(
    shown: LedgerRuns, place: Place, groups: Sequence[FusionGroup]
) -> tuple[Relation, ...]:
    """Its kernels and operators, and of a pair its groups; alone, a run's groups are no news."""

    def whole(what: str) -> str:
        return listed_whole(what, place.works_for) if place.works_for else ""

    kernels = kernels_of_groups(shown, groups, whole("kernels of its fusion groups"))
    operators = operators_of_groups(shown, groups, whole("operators of its fusion groups"))
    if shown.pair is not None:
        became = related_groups(shown.pair, place.numbers, whole("its fusion groups"))
        return became, kernels, operators
    modules = (place.modules,) if place.modules is not None else ()
    return kernels, operators, *modules


def _is_generated(group: FusionGroup) -> bool:
    return any(kernel.name.startswith(_GENERATED) for kernel in group.candidate.kernels)
