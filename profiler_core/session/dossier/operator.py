"""The dossier of an operator: its time on both sides, where it is used, what it became."""

from collections.abc import Sequence

from profiler_core.analysis.dossier.callers import callers_of
from profiler_core.analysis.dossier.elsewhere import counted_elsewhere
from profiler_core.analysis.dossier.launches import started_by
from profiler_core.analysis.dossier.record import Arguments, Dossier, Related, Relation, RunTime
from profiler_core.analysis.dossier.roofline import what_computes
from profiler_core.analysis.finding_rules.op_work import PRODUCTS, OpWork, op_work, work_on_cpu
from profiler_core.analysis.item import Item, kernel_item, name_key, operator_item
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.operators import naming_side
from profiler_core.analysis.wording.dossier import (
    PythonCalls,
    copies_about,
    missing_of_operator,
    missing_of_some,
)
from profiler_core.analysis.wording.operator import (
    callers_about,
    elsewhere_about,
    inside_about,
    operator_about,
    operator_answer,
)
from profiler_core.analysis.wording.places import listed_whole
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import (
    MOST_RELATED,
    kernel_entries,
    kernels_of_groups,
    modules_of,
    per_step,
    related_groups,
    slowest_first,
)
from profiler_core.session.dossier.functions import functions_of_operator, python_calls
from profiler_core.session.dossier.ledger_runs import LedgerRuns, ledgers_of, pairs_with_ledger
from profiler_core.session.dossier.operator_times import (
    alone_times,
    ledger_times,
    own_times,
)
from profiler_core.session.dossier.where import sources_of_operator
from profiler_core.session.pair import Pair


def operator_dossier(comparison: Comparison, item: Item) -> Dossier:
    """Everything about an operator, by the name that the traces have.

    Times are of the device's kernels that it launches. Beside a baseline they are the ledger's: in
    the candidate of what became of it, whatever launches that.

    Raises:
        NothingToAnalyse: no trace has a call of this operator with device work.
    """
    shown, numbers = _groups(comparison, item)
    pair = None if shown is None else shown.pair
    works = {number: _work(comparison, number, item) for number in comparison.traced}
    named = [op for ops in works.values() for op in ops]
    groups = [] if shown is None else [shown.groups[number] for number in numbers]
    name = _name(item, named, groups)
    became = _became(comparison, item)
    times = own_times(comparison, works, name)
    further: tuple[RunTime, ...] = ()
    about: tuple[str, ...] = ()
    own = times
    if shown is not None:
        times, about = _by_groups(shown, groups, name, own)
    if pair is not None:
        others = {run: of_run for run, of_run in became.items() if run != pair.number + 1}
        further, of_others = _of_others(comparison, others, name, own)
        about += of_others
    functions = functions_of_operator(comparison, name)
    counted_ns = {time.label: time.time_ns for time in (*times, *further)}
    callers = {  # of runs whose time is that of its calls, and not what the ledger has of it
        time.label: names
        for time in own
        if (names := _callers_in(comparison, works, time.run, name))
        and counted_ns.get(time.label) == time.time_ns
    }
    return Dossier(
        item=item,
        kind="operator",
        title=name,
        answer=operator_answer(
            times,
            what_computes([op for op in named if op.name in PRODUCTS]),
            comparison.span,
            is_one_of_many=pair is not None and len(comparison.pairs) > 1,
            callers=callers,
        ),
        about=(
            *copies_about(groups, comparison.span),
            *inside_about((*times, *further)),
            *callers_about(callers),
            *dict.fromkeys(about),  # each candidate says the same of the baseline
        ),
        times=tuple(sorted((*times, *further), key=lambda time: time.run)),
        modules=modules_of(groups),
        relations=(
            *_calling_and_becoming(shown, numbers, callers, functions),
            _kernels_shown(comparison, shown, groups, works, became),
        ),
        sources=sources_of_operator(shown.told_by, groups, name) if shown is not None else (),
        arguments=_arguments(comparison, works),
        missing=_missing(
            named,
            shown,
            groups,
            python_calls(comparison, functions),
            became_elsewhere=bool(callers) or not comparison.pairs,
        ),
    )


def _by_groups(
    shown: LedgerRuns, groups: Sequence[FusionGroup], name: str, own: tuple[RunTime, ...]
) -> tuple[tuple[RunTime, ...], tuple[str, ...]]:
    """Its times by the groups of a pair or of a run alone, with what has to be known of them."""
    if shown.pair is None:
        return alone_times(shown, name, own), ()
    return _beside_baseline(shown.pair, groups, name, own)


def _calling_and_becoming(
    shown: LedgerRuns | None,
    numbers: Sequence[int],
    callers: dict[str, tuple[str, ...]],
    functions: Sequence[Relation],
) -> tuple[Relation, ...]:
    pair = None if shown is None else shown.pair
    became = () if pair is None else (related_groups(pair, numbers),)
    return (*became, *_calling(callers), *functions)


def _kernels_shown(
    comparison: Comparison,
    shown: LedgerRuns | None,
    groups: Sequence[FusionGroup],
    works: dict[int, tuple[OpWork, ...]],
    became: dict[int, list[FusionGroup]],
) -> Relation:
    """Those that its calls start; of a replay alone, which has none, those of its groups."""
    if shown is not None and shown.pair is None and not any(works.values()):
        return kernels_of_groups(shown, groups)
    return _kernels(comparison, works, became)


def _callers_in(
    comparison: Comparison, works: dict[int, tuple[OpWork, ...]], number: int, name: str
) -> tuple[str, ...]:
    """The operators that call it in a run, where each of its calls there is inside of one."""
    return callers_of(comparison.runs[number].required_trace(), name) if works[number] else ()


def _calling(callers: dict[str, tuple[str, ...]]) -> tuple[Relation, ...]:
    """The operators that call it, which lead to what became of it."""
    names = dict.fromkeys(name for of_run in callers.values() for name in of_run)
    if not names:
        return ()
    entries = tuple(Related(name, operator_item(name)) for name in names)
    return (Relation("operators", (), entries[:MOST_RELATED], "They call it."),)


def _missing(
    calls: Sequence[OpWork],
    shown: LedgerRuns | None,
    groups: Sequence[FusionGroup],
    calls_of_code: PythonCalls,
    *,
    became_elsewhere: bool,
) -> tuple[str, ...]:
    """What is not known of it; `became_elsewhere`: what it became is told of others, or of none."""
    has_log = shown is not None and shown.told_by.code is not None
    in_modules = [group for group in groups if group.phase != "update"]
    missing = missing_of_operator(
        has_ledger=became_elsewhere or (shown is not None and shown.pair is not None),
        has_calls=bool(calls),
        has_arguments=any(op.arguments for op in calls),
        has_shapes=any(op.dims for op in calls),
        has_unsized_list=any(op.has_unsized_list for op in calls),
        has_sources=not groups or any(group.sources for group in groups),
        has_modules=not in_modules or any(group.module for group in in_modules),
        has_log=has_log,
        calls=calls_of_code,
    )
    return (*missing, *missing_of_some(groups, has_log=has_log))


def _name(item: Item, works: Sequence[OpWork], groups: Sequence[FusionGroup]) -> str:
    """The operator's whole name; raises NothingToAnalyse where nothing has it."""
    if works:
        return works[0].name
    for group in groups:
        for side in (group.baseline, group.candidate):
            for operator in side.operators:
                if name_key(operator.op) == item.key:
                    return operator.op
    raise NothingToAnalyse(
        f"No chosen run has an operator {item.key} that starts work of the device.",
        remedy="Choose the runs that the link was made for, or search for the operator.",
    )


def _groups(comparison: Comparison, item: Item) -> tuple[LedgerRuns | None, list[int]]:
    """The first runs whose groups have it, and which; None: no groups do."""
    of_runs = ((shown, _numbers(shown.groups, item)) for shown in ledgers_of(comparison, item.of))
    return next(((shown, numbers) for shown, numbers in of_runs if numbers), (None, []))


def _numbers(groups: Sequence[FusionGroup], item: Item) -> list[int]:
    """The groups that have an operator on either side."""
    return [
        number
        for number, group in enumerate(groups)
        if any(
            name_key(operator.op) == item.key
            for side in (group.baseline, group.candidate)
            for operator in side.operators
        )
    ]


def _became(comparison: Comparison, item: Item) -> dict[int, list[FusionGroup]]:
    """Place of a candidate -> its fusion groups that have an operator on either side."""
    of_pairs = (
        (pair, _numbers(pair.ledger.groups, item)) for pair in pairs_with_ledger(comparison)
    )
    return {
        pair.number + 1: [pair.ledger.groups[number] for number in numbers]
        for pair, numbers in of_pairs
        if numbers
    }


def _work(comparison: Comparison, number: int, item: Item) -> tuple[OpWork, ...]:
    trace = comparison.runs[number].required_trace()
    names = trace.ops["name"].unique().cast(str)
    name = next((name for name in names if name_key(name) == item.key), None)
    if name is None:
        return ()
    return op_work(trace, [name]) if trace.has_device_events else work_on_cpu(trace, name)


def _beside_baseline(
    pair: Pair, groups: Sequence[FusionGroup], name: str, own: Sequence[RunTime]
) -> tuple[tuple[RunTime, ...], tuple[str, ...]]:
    """Its times by the ledger, with what has to be known of them; `own` are those of its calls.

    A run that calls it inside of others alone has them in no group by its name: `aten::addmm` is
    called by eager's `aten::linear`, and by compiled code itself. There its calls' own time counts.
    """
    row = next((row for row in pair.divided.operators if row.op == name), None)
    own_of = {time.run: time for time in own if time.time_ns is not None or time.inside}
    of_ledger = ledger_times(pair, groups, name, row)
    times = [time if time.time_ns else own_of.get(time.run, time) for time in of_ledger]
    has_row = row is not None and not row.is_only_in_candidate
    elsewhere = (
        counted_elsewhere(
            time.label, pair.runs[side].required_trace(), name, time.time_ns, groups, side,
            naming_side(pair.ledger), is_here_too=not has_row,
        )
        for side, run in enumerate((0, pair.number + 1))
        if (time := own_of.get(run)) is not None and time.time_ns
    )  # fmt: skip
    return tuple(times), (
        *operator_about(row, pair.labels),
        *(
            elsewhere_about(counted, pair.ledger.span)
            for counted in elsewhere
            if counted is not None
        ),
    )


def _of_others(
    comparison: Comparison,
    became: dict[int, list[FusionGroup]],
    name: str,
    own: Sequence[RunTime],
) -> tuple[tuple[RunTime, ...], tuple[str, ...]]:
    """The same of further candidates, by their places, without the baseline's time."""
    times: list[RunTime] = []
    about: list[str] = []
    for run, groups in became.items():
        (_, time), sentences = _beside_baseline(comparison.pairs[run - 1], groups, name, own)
        times.append(time)
        about += sentences
    return tuple(times), tuple(about)


def _kernels(
    comparison: Comparison,
    works: dict[int, tuple[OpWork, ...]],
    became: dict[int, list[FusionGroup]],
) -> Relation:
    """The kernels that its calls start, by name; in a candidate with groups all that it became.

    Args:
        comparison: of the runs.
        works: the operator's calls, by the run's place.
        became: the fusion groups with the operator on either side, by the candidate's place.
    """
    # A run that fused it into something else has no call of it.
    works = {number: ops for number, ops in works.items() if ops or number in became}
    heads = tuple(comparison.labels[number] for number in works)
    times: dict[str, list[float | None]] = {}
    items: dict[str, Item | None] = {}
    on_gpu = any(comparison.runs[number].required_trace().has_device_events for number in works)
    sentence = "What its calls start." if on_gpu else "Its own calls, which are the CPU's work."
    for side, (number, ops) in enumerate(works.items()):
        if number in became:
            for entry in kernel_entries(became[number]):
                after_ns = entry.times_ns[1]
                if after_ns:
                    times.setdefault(entry.title, [None] * len(works))[side] = after_ns
                    items[entry.title] = entry.item
            continue
        if not ops:
            continue
        trace, operator = comparison.runs[number].required_trace(), ops[0].name
        started = (
            started_by(trace, operator)
            if trace.has_device_events
            else {operator: sum(op.time_ns for op in ops)}
        )
        for name, ns in started.items():
            times.setdefault(name, [None] * len(works))[side] = per_step(comparison, number, ns)
    if candidates := [comparison.labels[number] for number in works if number in became]:
        whole = listed_whole("kernels of its fusion groups", "replace other operators", candidates)
        sentence += f" {whole}"
    entries = slowest_first(
        Related(kernel, kernel_item(kernel), times_ns=tuple(sides))
        for kernel, sides in times.items()
    )
    return Relation(
        "kernels", heads, tuple(entries[:MOST_RELATED]),
        sentence,
        max(0, len(entries) - MOST_RELATED),
    )  # fmt: skip


def _arguments(
    comparison: Comparison, works: dict[int, tuple[OpWork, ...]]
) -> tuple[Arguments, ...]:
    return tuple(
        Arguments(
            comparison.labels[number], op.name, op.arguments, op.results,
            per_step(comparison, number, len(op.times_ns)),
        )
        for number, ops in works.items()
        for op in sorted(ops, key=lambda op: -op.time_ns)
        if op.arguments
    )  # fmt: skip
