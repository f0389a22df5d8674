"""The dossier of copies or memsets of one name; they are named like kernels, and are none."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from profiler_core.analysis.dossier.copies import Copied, copied, way_of
from profiler_core.analysis.dossier.launches import arguments_of, kernel_rows
from profiler_core.analysis.dossier.record import (
    Arguments,
    Dossier,
    Launch,
    Related,
    Relation,
    RunTime,
)
from profiler_core.analysis.dossier.roofline import Roofline, roofline
from profiler_core.analysis.item import Item, name_key, operator_item
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.wording.copies import (
    READS_AND_WRITES,
    over_a_link,
    what_copies,
    why_slow,
    without_bytes,
)
from profiler_core.analysis.wording.dossier import copies_about, kernel_answer
from profiler_core.model.trace import one_name
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.calls_in_run import CallsInRun, longest_calls
from profiler_core.session.dossier.common import peaks_of_run, related_groups, slowest_first
from profiler_core.session.dossier.functions import functions_of_kernel
from profiler_core.session.dossier.kernel import kernel_dossier, missing_of_groups
from profiler_core.session.dossier.ledger_runs import LedgerRuns, groups_of_kernel
from profiler_core.session.dossier.where import modules_at, places_of_kernel, runs_at, sources_at
from profiler_core.units import format_per_step


def work_dossier(comparison: Comparison, item: Item, run: int | None = None) -> Dossier:
    """Of a kernel, or of copies or memsets, by the name that the traces have.

    Args:
        comparison: of the runs.
        item: named as a kernel.
        run: place of the run that the first sentences are about; None: the last one that can tell.

    Raises:
        NothingToAnalyse: no trace has work of this name.
    """
    key = one_name(item.key)
    row = next((row for row in comparison.copies if name_key(row.name) == key), None)
    return (
        kernel_dossier(comparison, item, run)
        if row is None
        else _copy_dossier(comparison, item, row, run)
    )


def _copy_dossier(comparison: Comparison, item: Item, row: KernelRow, run: int | None) -> Dossier:
    sides = [_Side.of(comparison, number, row.name) for number in comparison.traced]
    present = [side for side in sides if side.calls.n]
    told = [side for side in present if run in (None, side.number)] or present
    is_memset = row.category == "memset"
    shown, numbers = groups_of_kernel(comparison, row.name, item.of or run)
    groups = [] if shown is None else [shown.groups[number] for number in numbers]
    places = places_of_kernel(comparison, row.name)
    functions = functions_of_kernel(comparison, row.name)
    return Dossier(
        item=item,
        kind="memset" if is_memset else "copy",
        title=row.name,
        answer=kernel_answer(
            _rooflines(told),
            "",
            what_copies(way_of(row.name, is_memset=is_memset)),
            names_run=len(comparison.pairs) > 1,
        ),
        about=(*copies_about(groups, comparison.span), *_about(told)),
        times=_times(comparison, row),
        modules=modules_at(places),
        runs_at=runs_at(places),
        rooflines=_rooflines(present),
        relations=(*_relations(shown, numbers), *functions),
        sources=sources_at(places),
        arguments=tuple(entry for side in present for entry in side.arguments),
        launches=_launches(present),
        durations_ns=tuple(side.calls.dur_ns for side in sides),
        on_timeline=longest_calls(present),
        missing=(
            *missing_of_groups(comparison, shown, groups, functions),
            *(without_bytes(side.label) for side in present if side.copied is None),
        ),
    )


def _rooflines(sides: Sequence["_Side"]) -> tuple[Roofline, ...]:
    return tuple(side.roofline for side in sides if side.roofline is not None)


def _launches(sides: Sequence["_Side"]) -> tuple[Launch, ...]:
    return tuple(
        Launch(side.label, launched_by=tuple(side.calls.by_launch))
        for side in sides
        if side.calls.by_launch
    )


def _relations(shown: LedgerRuns | None, numbers: Sequence[int]) -> tuple[Relation, ...]:
    """What starts them, and of a pair the groups that have them."""
    if shown is None:
        return ()
    operators = _operators(shown, [shown.groups[number] for number in numbers])
    pair = shown.pair
    return (operators,) if pair is None else (operators, related_groups(pair, numbers))


def _operators(shown: LedgerRuns, groups: Sequence[FusionGroup]) -> Relation:
    """The operators of some groups that start copies or memsets, and how many of them.

    Their times are those of all that they start in these groups.
    """
    times: dict[str, list[float | None]] = {}
    n_copies: dict[str, list[float]] = {}
    for group in groups:
        for n, (side, of_side) in enumerate(zip(shown.sides, shown.sides_of(group), strict=True)):
            for operator in of_side.operators:
                if operator.n_copies:
                    of_runs = times.setdefault(operator.op, [None] * len(shown.sides))
                    of_runs[n] = (of_runs[n] or 0.0) + group.per_step(operator.time_ns, side)
                    counts = n_copies.setdefault(operator.op, [0.0] * len(shown.sides))
                    counts[n] += group.per_step(operator.n_copies, side)
    entries = slowest_first(
        Related(
            op,
            operator_item(op),
            f"starts {' → '.join(dict.fromkeys(map(format_per_step, n_copies[op])))} copies "
            "and memsets",
            tuple(of_runs),
        )
        for op, of_runs in times.items()
    )
    sentence = "Times are of all that these operators start in its fusion groups."
    return Relation("operators", shown.labels, tuple(entries), sentence if entries else "")


def _about(sides: Sequence["_Side"]) -> tuple[str, ...]:
    """What crosses a link in each run; of the last one within the device why it takes so long."""
    links = tuple(
        over_a_link(side.label, side.copied, side.n_steps, side.comparison.span)
        for side in sides
        if side.copied is not None and side.copied.traffic is None
    )
    within = [side for side in sides if side.copied is not None and side.roofline is not None]
    if not within or within[-1].copied is None or within[-1].roofline is None:
        return links
    last, line = within[-1].copied, within[-1].roofline
    both = (READS_AND_WRITES,) if last.way == "within the device" else ()
    return (*links, *both, *filter(None, [why_slow(line, last)]))


def _times(comparison: Comparison, row: KernelRow) -> tuple[RunTime, ...]:
    return tuple(
        RunTime(number, comparison.labels[number])
        if side is None
        else RunTime(
            number, comparison.labels[number],
            side.time_ns, side.n, side.mean_ns, side.min_ns, side.max_ns,
        )
        for number, side in zip(comparison.traced, row.sides, strict=True)
    )  # fmt: skip


@dataclass(frozen=True)
class _Side(CallsInRun):
    """The copies or memsets in one run."""

    @cached_property
    def copied(self) -> Copied | None:
        return copied(self.run.required_trace(), self.calls.name)

    @cached_property
    def roofline(self) -> Roofline | None:
        """None where it crosses a link, or tells no bytes."""
        traffic = None if self.copied is None else self.copied.traffic
        peaks = peaks_of_run(self.comparison, self.number)
        return roofline(self.label, peaks, self.n_steps, traffic)

    @property
    def arguments(self) -> tuple[Arguments, ...]:
        trace = self.run.required_trace()
        return arguments_of(self.label, trace, kernel_rows(trace, self.calls.name), self.n_steps)
