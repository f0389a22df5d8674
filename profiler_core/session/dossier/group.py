"""The dossier of a fusion group: what ran on both sides, how sure that is, and the code of both."""

from dataclasses import replace

import numpy as np

from profiler_core.analysis.counters.measured import Measured
from profiler_core.analysis.dossier.generated import generated_of_groups
from profiler_core.analysis.dossier.launches import event_of_work
from profiler_core.analysis.dossier.record import (
    Dossier,
    Relation,
    TimelineEvent,
)
from profiler_core.analysis.dossier.roofline import what_computes
from profiler_core.analysis.handed_more import HandedMore, handed_more
from profiler_core.analysis.item import Item
from profiler_core.analysis.ledger.folding import FoldedGroup, fold
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.wording.dossier import group_about, group_answer, missing_of_group
from profiler_core.analysis.wording.groups import slower_on_one_rank
from profiler_core.analysis.work import device_work
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.beside_collectives import groups_beside
from profiler_core.session.dossier.common import (
    kernels_of_groups,
    modules_of,
    operators_of_groups,
    pair_of_run,
    related_group,
    slowest_first,
    source_lines,
    times_of_groups,
)
from profiler_core.session.dossier.functions import functions_of_group, python_calls
from profiler_core.session.dossier.group_arguments import (
    arguments_of_group,
    group_takes_lists,
    group_takes_unsized_lists,
)
from profiler_core.session.dossier.ledger_runs import LedgerRuns
from profiler_core.session.dossier.rooflines import PairRooflines
from profiler_core.session.pair import Pair

_MOST_MEMBERS = 200


def group_dossier(comparison: Comparison, item: Item) -> Dossier:
    """Everything about one fusion group.

    Raises:
        NothingToAnalyse: these runs have no such group.
    """
    run, number = item.numbers or (0, -1)
    pair = pair_of_run(comparison, run)
    groups = pair.ledger.groups if pair is not None else ()
    if pair is None or not 0 <= number < len(groups):
        raise NothingToAnalyse(
            f"These runs have no fusion group {item.key}.",
            remedy="The link is of other runs, or of another version of them: choose these again.",
        )
    group = groups[number]
    folded = next(alike for alike in fold(groups) if number in alike.numbers)
    of_pair = PairRooflines(comparison, pair)
    before, after = of_pair.lines(number)
    rooflines = tuple(line for line in (before, after) if line is not None)
    products = of_pair.products(number)
    code, shown = pair.candidate.code, LedgerRuns.of_pair(pair)
    functions = functions_of_group(comparison, pair, number)
    arguments = arguments_of_group(pair, number, of_pair.recorded(number))
    generated = generated_of_groups(code, [group]) if code is not None else ()
    return Dossier(
        item=item,
        kind="fusion group",
        title=group.title,
        answer=group_answer(
            group,
            after,
            what_computes([op for ops in reversed(products) for op in ops]),
            pair.ledger.span,
        ),
        about=(
            *group_about(folded, group, pair.ledger.span, _handed_more(pair, number)),
            *groups_beside(comparison, shown, [number]),
            *_on_ranks(pair, group.title),
        ),
        times=times_of_groups(shown, [group]),
        modules=modules_of([group]),
        rooflines=rooflines,
        relations=(
            *_members(pair, folded, number),
            kernels_of_groups(shown, [group]),
            operators_of_groups(shown, [group]),
            *functions,
        ),
        sources=source_lines(pair.candidate, [group]),
        arguments=arguments,
        measured=_measured(pair, group, number),
        generated=generated,
        on_timeline=_on_timeline(pair, number),
        missing=missing_of_group(
            has_sources=bool(group.sources),
            has_module=bool(group.module),
            has_code=bool(generated),
            runs_compiled=bool(group.candidate.kernels) and shown.may_be_generated,
            has_log=code is not None,
            calls=python_calls(comparison, functions),
            has_traffic=any(line.bytes_moved is not None for line in rooflines),
            has_counters=pair.measured is not None,
            has_arguments=bool(arguments),
            takes_lists=group_takes_lists(pair, number),
            has_unsized_list=group_takes_unsized_lists(pair, number),
        ),
    )


def _on_ranks(pair: Pair, title: str) -> list[str]:
    """Of a job: what one rank alone needs longer for."""
    job = pair.job_ledger
    return [] if job is None else slower_on_one_rank(pair.labels, job, title)


def _members(pair: Pair, folded: FoldedGroup, number: int) -> tuple[Relation, ...]:
    if len(folded.numbers) < 2:
        return ()
    entries = slowest_first(related_group(pair, member) for member in folded.numbers)
    own = related_group(pair, number).item
    marked = [
        replace(entry, note=f"{entry.note} · this one") if entry.item == own else entry
        for entry in entries
    ]
    return (
        Relation(
            "members",
            pair.labels,
            tuple(marked[:_MOST_MEMBERS]),
            n_left_out=max(0, len(marked) - _MOST_MEMBERS),
        ),
    )


def _handed_more(pair: Pair, number: int) -> HandedMore | None:
    """What its operator is handed beside what the baseline's side is, where both traces tell."""
    before, after = (run.worked_trace for run in pair.runs)
    if before is None or after is None:
        return None
    return handed_more(pair.ledger, number, before, after)


def _measured(
    pair: Pair, group: FusionGroup, number: int
) -> tuple[tuple[Measured, float | None] | None, ...]:
    """Hardware counters of both sides; they are of one step that has the group."""
    counters = pair.measured
    sides: list[tuple[Measured, float | None] | None] = []
    for side, of_side in enumerate((group.baseline, group.candidate)):
        counted = counters.of(number, side) if counters is not None else None
        moved = of_side.bytes_moved
        estimate = None if moved is None else group.per_own_step(moved, side)
        sides.append(None if counted is None else (counted, estimate))
    return tuple(sides)


def _on_timeline(pair: Pair, number: int) -> tuple[TimelineEvent, ...]:
    """The first event of either side in the profiled steps."""
    ledger, events = pair.ledger, []
    for side, group_of in enumerate((ledger.baseline_group, ledger.candidate_group)):
        trace = pair.runs[side].worked_trace
        rows = np.flatnonzero(group_of == number)
        if trace is None or not rows.size or device_work(trace).height != group_of.size:
            continue
        event = event_of_work(trace, int(rows[0]))
        if event is not None:
            run = pair.number + 1 if side else 0
            table, row = event
            row = pair.runs[side].recorded_row(table, row)
            events.append(TimelineEvent(run, pair.labels[side], table, row))
    return tuple(events)
