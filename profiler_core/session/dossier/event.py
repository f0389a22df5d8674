"""The dossier of an event on the timeline: what it is a part of."""

from dataclasses import replace

from profiler_core.analysis.dossier.launches import event_of_work
from profiler_core.analysis.dossier.record import Dossier, Related, Relation, TimelineEvent
from profiler_core.analysis.item import Item, kernel_item, operator_item
from profiler_core.analysis.work import device_work
from profiler_core.errors import FusionscopeError, NothingToAnalyse
from profiler_core.model.trace import TABLE_SCHEMAS, Trace
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import pair_of_run, related_group
from profiler_core.session.dossier.copy import work_dossier
from profiler_core.session.dossier.ledger_runs import pairs_with_ledger
from profiler_core.session.dossier.operator import operator_dossier


def event_dossier(comparison: Comparison, item: Item) -> Dossier:
    """An event: its kernel's or operator's dossier, with the group that this very event is in.

    Its row is that of the file, which the timeline draws; of a job that of the rank that is shown.

    Raises:
        NothingToAnalyse: the trace has no such event.
    """
    run, table, row = _named(comparison, item)
    of_run = comparison.runs[run]
    trace = of_run.required_trace()
    events = getattr(trace, table)
    if not 0 <= row < events.height:
        raise _no_event(item)
    in_file, row = row, of_run.worked_row(table, row)
    name = str(events["name"][row])
    around = Dossier(item=item, kind="event", title=name)
    is_work = table == "device" or not trace.has_device_events
    named = kernel_item(name) if is_work else operator_item(name)
    is_named = table in ("device", "ops")
    if is_named:
        try:
            around = (
                work_dossier(comparison, named, run)
                if is_work
                else operator_dossier(comparison, named)
            )
        except FusionscopeError:
            is_named = False  # a call without work of the device
    whole = Related(f"all calls of it ({around.kind})", named) if is_named else None
    group = _group(comparison, run, table, row, trace)
    labels = comparison.labels
    relations = [
        Relation("became", group[0], (group[1],), "This event is in the group:") if group else None,
        Relation("kernels", (), (whole,)) if whole is not None else None,
        *(relation for relation in around.relations if not group or relation.kind != "became"),
    ]
    return replace(
        around,
        item=item,
        kind="event",
        relations=tuple(relation for relation in relations if relation is not None),
        on_timeline=(TimelineEvent(run, labels[run], table, in_file),),
    )


def _named(comparison: Comparison, item: Item) -> tuple[int, str, int]:
    run, _, rest = item.key.partition(".")
    table, _, row = rest.partition(".")
    numbers = (run + row).isascii() and run.isdigit() and row.isdigit() and len(run + row) < 16
    if not numbers or table not in TABLE_SCHEMAS or int(run) not in comparison.traced:
        raise _no_event(item)
    return int(run), table, int(row)


def _no_event(item: Item) -> NothingToAnalyse:
    return NothingToAnalyse(
        f"These runs have no event {item.key}.",
        remedy="The link is of other runs, or of another version of them: choose these again.",
    )


def _group(
    comparison: Comparison, run: int, table: str, row: int, trace: Trace
) -> tuple[tuple[str, ...], Related] | None:
    """The fusion group of one event of the device (without one: of an operator)."""
    pair = pair_of_run(comparison, run) if run else next(pairs_with_ledger(comparison), None)
    if pair is None or pair.not_explained is not None:
        return None
    ledger = pair.ledger
    group_of = ledger.candidate_group if run else ledger.baseline_group
    work = device_work(trace)
    if work.height != group_of.size:
        return None  # the ledger is of another rank than this trace
    if not trace.has_device_events:
        ts_ns = trace.ops["ts_ns"][row] if table == "ops" else None
        rows = [] if ts_ns is None else (work["ts_ns"] == ts_ns).arg_true().to_list()
        rows = [position for position in rows if event_of_work(trace, position) == (table, row)]
        position = rows[0] if rows else None
    else:
        position = row if table == "device" else None
    if position is None or group_of[position] < 0:
        return None
    return pair.labels, related_group(pair, int(group_of[position]))
