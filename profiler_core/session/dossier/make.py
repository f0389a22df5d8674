"""`dossier(comparison, item)`: all that is known about one thing, whoever asks."""

from collections.abc import Callable, Collection
from dataclasses import replace

from profiler_core.analysis.dossier.record import Dossier, Relation
from profiler_core.analysis.item import Item, ItemKind, name_key
from profiler_core.analysis.trace_notes import cut_clause, unmarked_clause
from profiler_core.analysis.wording.sentence import capitalised
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.breaks import break_dossier, skip_dossier
from profiler_core.session.dossier.copy import work_dossier
from profiler_core.session.dossier.event import event_dossier
from profiler_core.session.dossier.finding import finding_dossier, findings_about
from profiler_core.session.dossier.group import group_dossier
from profiler_core.session.dossier.operator import operator_dossier
from profiler_core.session.dossier.places import module_dossier, source_dossier
from profiler_core.session.dossier.rank import rank_dossier


def _operator(comparison: Comparison, item: Item) -> Dossier:
    """Of an operator; of runs alone also of a kernel that none launches, as in a graph's replay.

    By the kernel's name *Modules* has a row of such work among the operators.
    """
    if comparison.pairs or _is_called(comparison, item):
        return operator_dossier(comparison, item)
    is_kernel = any(name_key(row.name) == item.key for row in comparison.kernels)
    make = work_dossier if is_kernel else operator_dossier
    return make(comparison, replace(item, kind="kernel") if is_kernel else item)


def _is_called(comparison: Comparison, item: Item) -> bool:
    """Does a trace have a call of this operator?"""
    return any(
        name_key(name) == item.key
        for number in comparison.traced
        for name in comparison.runs[number].required_trace().ops["name"].unique().cast(str)
    )


_MAKERS: dict[ItemKind, Callable[[Comparison, Item], Dossier]] = {
    "kernel": work_dossier,
    "operator": _operator,
    "group": group_dossier,
    "break": break_dossier,
    "skip": skip_dossier,
    "finding": finding_dossier,
    "event": event_dossier,
    "module": module_dossier,
    "source": source_dossier,
    "rank": rank_dossier,
}

# In place of a time.
_CUT = "not in what is left of its trace"
_NO_STEPS = "its trace marks no steps"


def dossier(comparison: Comparison, item: Item) -> Dossier:
    """What is known about one thing.

    Raises:
        NothingToAnalyse: these runs have no such thing.
        BadInput: a file that it rests on cannot be read.
    """
    return comparison.answer(("dossier", item), lambda: _made(comparison, item))


def _made(comparison: Comparison, item: Item) -> Dossier:
    made = _of_whole_steps(comparison, _MAKERS[item.kind](comparison, item))
    every = findings_about(comparison, item)
    if made.advice is not None:  # its own; that of a finding about several may be for another
        every = tuple(replace(each, finding=replace(each.finding, advice="")) for each in every)
    span = comparison.span
    made = replace(made, findings=every, is_of_cpu=_is_of_cpu(comparison), span=span)
    return _beside_one(made, item.candidate) if len(comparison.pairs) > 1 else made


def _beside_one(made: Dossier, candidate: int | None) -> Dossier:
    """Leading on to things beside the same candidate; None: beside that which is shown first."""
    relations = (
        replace(
            relation,
            entries=tuple(
                replace(entry, item=entry.item and entry.item.beside(candidate))
                for entry in relation.entries
            ),
        )
        for relation in made.relations
    )
    return replace(made, relations=tuple(relations), beside=candidate)


def _is_of_cpu(comparison: Comparison) -> bool:
    summaries = (side.summary for side in comparison.sides)
    return {each.device_kind for each in summaries if each is not None} == {"cpu"}


def _of_whole_steps(comparison: Comparison, made: Dossier) -> Dossier:
    """Without what is per step of a run whose trace is cut, or alone without steps.

    A part of a step is none, and of how many steps all of a trace is nobody knows.
    """
    cut = [side.label for side in comparison.sides if side.is_cut]
    unmarked = [side.label for side in comparison.sides if side.is_unmarked]
    unknown = {**dict.fromkeys(unmarked, _NO_STEPS), **dict.fromkeys(cut, _CUT)}
    if not unknown:
        return made
    times = [
        replace(time, time_ns=None, n=None, unknown=unknown[time.label])
        if time.label in unknown
        else time
        for time in made.times
    ]
    arguments = [
        replace(each, n=None) if each.label in unknown else each for each in made.arguments
    ]
    missing = [f"What a step takes is not known: {cut_clause(cut)}"] if cut else []
    missing += [capitalised(unmarked_clause(unmarked))] if unmarked else []
    return replace(
        made,
        # Of a kernel or copy it is of its calls.
        answer=made.answer if made.kind in ("kernel", "copy", "memset") else "",
        times=tuple(times),
        arguments=tuple(arguments),
        relations=tuple(_without_times(relation, unknown) for relation in made.relations),
        rooflines=tuple(line for line in made.rooflines if line.label not in unknown),
        missing=(*missing, *made.missing),
    )


def _without_times(relation: Relation, cut: Collection[str]) -> Relation:
    """Related things without what is per step of runs whose traces have no whole steps."""
    if set(cut).isdisjoint(relation.heads):
        return relation
    entries = []
    for entry in relation.entries:
        of_heads = zip(relation.heads, entry.times_ns, strict=True)
        times = tuple(None if head in cut else ns for head, ns in of_heads)
        # Beside a kernel stands how often it runs per step.
        note = "" if relation.kind == "kernels" else entry.note
        entries.append(replace(entry, note=note, times_ns=times))
    return replace(relation, entries=tuple(entries))
