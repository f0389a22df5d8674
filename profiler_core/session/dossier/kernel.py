"""The dossier of a kernel: its calls in every run, who launches it, how near the limits it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from profiler_core.analysis.categories import CATEGORIES, PRODUCT_CATEGORIES
from profiler_core.analysis.counters.kernels import KernelCounters
from profiler_core.analysis.dossier.callers import callers_on_cpu
from profiler_core.analysis.dossier.generated import (
    generated_of_calls,
    roles_of_calls,
    with_outputs,
)
from profiler_core.analysis.dossier.kernel_products import is_product_helper, kernel_products
from profiler_core.analysis.dossier.launches import (
    arguments_of,
    kernel_rows,
    launch_of,
    takes_lists,
    takes_unsized_lists,
)
from profiler_core.analysis.dossier.launching import calls_in_steps, launching_calls
from profiler_core.analysis.dossier.record import (
    Arguments,
    Dossier,
    Launch,
    Relation,
    RunTime,
)
from profiler_core.analysis.dossier.replayed_kernel import replayed_products
from profiler_core.analysis.dossier.roofline import Roofline, roofline, what_computes
from profiler_core.analysis.finding_rules.op_work import OpWork, product_work
from profiler_core.analysis.item import Item, name_key
from profiler_core.analysis.kernel_calls import KernelCalls, kernel_calls
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.launches import is_graph_launch
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.ranks.collective_kinds import kind_of
from profiler_core.analysis.ranks.kernel_times import COMMUNICATION
from profiler_core.analysis.span import Span
from profiler_core.analysis.wording.dossier import (
    TRANSFER_ALONE,
    beside_collectives,
    collective_sentence,
    copies_about,
    kernel_answer,
    launch_sentences,
    missing_of_kernel_groups,
    missing_of_kernel_runs,
    missing_of_some,
)
from profiler_core.analysis.wording.operator import inside_about
from profiler_core.analysis.work import device_work
from profiler_core.errors import NothingToAnalyse
from profiler_core.model.inductor import CompiledGraph, GeneratedCall
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.beside_collectives import share_of_kernel, told_beside
from profiler_core.session.dossier.calls_in_run import CallsInRun, longest_calls
from profiler_core.session.dossier.common import are_in_one_precision, peaks_of_run, related_groups
from profiler_core.session.dossier.functions import functions_of_kernel, python_calls
from profiler_core.session.dossier.its_place import about_its_place
from profiler_core.session.dossier.ledger_runs import (
    LedgerRuns,
    groups_of_kernel,
    pairs_with_ledger,
)
from profiler_core.session.dossier.rooflines import kernel_line
from profiler_core.session.dossier.where import (
    modules_at,
    places_of_kernel,
    runs_at,
    sources_at,
)


def kernel_dossier(comparison: Comparison, item: Item, run: int | None = None) -> Dossier:
    """Everything about a kernel, by the name that the traces have.

    Args:
        comparison: of the runs.
        item: the kernel.
        run: place of the run that the first sentences are about; None: the last one that can tell.

    Raises:
        NothingToAnalyse: no trace has a kernel of this name.
    """
    row = _row(comparison, item)
    times = _times(comparison, row)
    sides = [_Side.of(comparison, number, row.name) for number in comparison.traced]
    present = [side for side in sides if side.calls.n]
    rooflines, launches = _rooflines(present, row), _launches(present)
    of_answer, told = _told(comparison, present, item, run)
    shown, numbers = groups_of_kernel(comparison, row.name, item.of or run)
    pair = None if shown is None else shown.pair
    groups = [] if shown is None else [shown.groups[number] for number in numbers]
    places = places_of_kernel(comparison, row.name)
    generated_calls = [call for side in present for call in side.generated_calls]
    functions = functions_of_kernel(comparison, row.name)
    recorded = tuple(entry for side in present for entry in side.arguments)
    arguments = with_outputs(recorded, generated_calls)
    computes = what_computes([op for side in present for op in side.products])
    return Dossier(
        item=item,
        kind="kernel",
        title=row.name,
        answer=kernel_answer(
            _rooflines(of_answer, row),
            computes,
            CATEGORIES.get(row.category, row.category),
            names_run=len(comparison.pairs) > 1,
        ),
        about=(
            *copies_about(groups, comparison.span),
            *inside_about(times),
            *about_its_place(pair, row.name, times),
            *_about(row, present, _launches(told), comparison.span),
        ),
        times=times,
        modules=modules_at(places),
        runs_at=runs_at(places),
        rooflines=rooflines,
        relations=(
            *(() if pair is None else (related_groups(pair, numbers),)),
            *functions,
        ),
        sources=sources_at(places),
        arguments=arguments,
        launches=launches,
        counters=tuple(side.counters for side in sides),
        durations_ns=tuple(side.calls.dur_ns for side in sides),
        generated=generated_of_calls(generated_calls),
        on_timeline=longest_calls(sides),
        missing=(
            *missing_of_groups(comparison, shown, groups, functions),
            *_missing_of_runs(
                sides,
                arguments,
                rooflines,
                launches,
                is_collective=row.category == COMMUNICATION,
                unsized=[side.label for side in present if side.is_unsized],
                without_flops=_without_flops(present, row),
            ),
        ),
    )


def _row(comparison: Comparison, item: Item) -> KernelRow:
    row = next((row for row in comparison.kernels if name_key(row.name) == item.key), None)
    if row is None:
        raise NothingToAnalyse(
            f"No chosen run has a kernel {item.key}.",
            remedy="Choose the runs that the link was made for, or search for the kernel.",
        )
    return row


def _rooflines(sides: Sequence["_Side"], row: KernelRow) -> tuple[Roofline, ...]:
    lines = (kernel_line(side.comparison, side.roofline, side.number, row) for side in sides)
    return tuple(filter(None, lines))


def _without_flops(sides: Sequence["_Side"], row: KernelRow) -> tuple[str, ...]:
    """The replays in which it computes products that nothing tells the shapes of."""
    if row.category not in PRODUCT_CATEGORIES or is_product_helper(row.name):
        return ()
    return tuple(side.label for side in sides if side.is_replayed and not side.products)


def _launches(sides: Sequence["_Side"]) -> tuple[Launch, ...]:
    return tuple(filter(None, (side.launch for side in sides)))


def _about(
    row: KernelRow, sides: Sequence["_Side"], launches: Sequence[Launch], span: Span
) -> tuple[str, ...]:
    """Of a collective that its times have no waiting; its few blocks are how it is made."""
    if row.category != COMMUNICATION:
        slowed_ns = {s.label: s.recorded_ns for s in sides if s.recorded_ns != s.counted_ns}
        beside = told_beside({side.label: share_of_kernel(side.run, row.name) for side in sides})
        return (*launch_sentences(launches), *beside_collectives(slowed_ns, span), *beside)
    alone = (TRANSFER_ALONE,) if any(side.run.shown_rank is not None for side in sides) else ()
    return (*alone, *(side.moved for side in sides if side.moved))


def missing_of_groups(
    comparison: Comparison,
    shown: LedgerRuns | None,
    groups: Sequence[FusionGroup],
    functions: tuple[Relation, ...],
) -> tuple[str, ...]:
    """What the ledger does not tell of a kernel, copy or memset: a sentence for each thing."""
    has_log = shown is not None and shown.told_by.code is not None
    missing = missing_of_kernel_groups(
        has_ledger=shown is not None and shown.pair is not None,
        in_groups=bool(groups),
        has_sources=any(group.sources for group in groups),
        has_modules=any(group.module for group in groups),
        has_log=has_log,
        calls=python_calls(comparison, functions),
        is_cut=any(side.is_cut for side in comparison.sides),
    )
    return (*missing, *missing_of_some(groups, has_log=has_log))


def _missing_of_runs(
    sides: Sequence["_Side"],
    arguments: Sequence[Arguments],
    rooflines: Sequence[Roofline],
    launches: Sequence[Launch],
    *,
    is_collective: bool,
    unsized: Sequence[str],
    without_flops: Sequence[str],
) -> tuple[str, ...]:
    moves = is_collective and any(side.moved for side in sides)
    return missing_of_kernel_runs(
        has_arguments=bool(arguments) or moves,
        has_traffic=any(line.bytes_moved is not None for line in rooflines) or moves,
        has_counters=moves or any(side.run.counters.counters is not None for side in sides),
        is_generated=sides[0].calls.name.startswith("triton_"),
        has_code=any(side.generated_calls for side in sides),
        has_occupancy=any(launch.occupancy_pct is not None for launch in launches),
        unsized=unsized,
        without_flops=without_flops,
        has_unsized_list=any(side.takes_unsized_lists for side in sides),
        takes_lists=any(side.takes_lists for side in sides),
    )


@dataclass(frozen=True)
class _Side(CallsInRun):
    """The kernel in one run."""

    @property
    def counters(self) -> KernelCounters | None:
        return (self.run.measured.kernels or {}).get(self.calls.name)

    @cached_property
    def products(self) -> tuple[OpWork, ...]:
        """Matrix products and convolutions that it computes, or a part of them.

        Of a replay those of the baseline that it is surely matched with.
        """
        own = kernel_products(self.run.required_trace(), self.calls.name)
        if own or not self.is_replayed:
            return own
        pairs = pairs_with_ledger(self.comparison)
        pair = next((pair for pair in pairs if pair.number + 1 == self.number), None)
        before = pair.baseline.worked_trace if pair is not None else None
        if pair is None or before is None or not are_in_one_precision(pair):
            return ()
        if device_work(before).height != pair.ledger.baseline_group.size:
            return ()  # the ledger is of another rank than this trace
        return replayed_products(product_work(before), pair.ledger, self.calls.name)

    @property
    def is_replayed(self) -> bool:
        """Is it started by CUDA graphs alone?"""
        launches = self.calls.by_launch
        return bool(launches) and all(map(is_graph_launch, launches))

    @property
    def roofline(self) -> Roofline | None:
        return roofline(
            self.label,
            peaks_of_run(self.comparison, self.number),
            self.n_steps,
            self.run.traffic.get(self.calls.name),
            self.products,
            kernel=self.calls.name,
        )

    @property
    def is_unsized(self) -> bool:
        """Do the arguments that its convolutions record not say how large their results are?"""
        has_bytes = self.calls.name in self.run.traffic
        unsized = (op for op in self.products if op.flops is None)
        return not has_bytes and any(op.name == "aten::convolution" for op in unsized)

    @property
    def launch(self) -> Launch | None:
        summary = self.comparison.sides[self.number].summary
        n_multiprocessors = summary.device.n_multiprocessors if summary is not None else None
        return launch_of(self.label, self.run.required_trace(), self.calls, n_multiprocessors)

    @property
    def arguments(self) -> tuple[Arguments, ...]:
        trace = self.run.required_trace()
        rows = kernel_rows(trace, self.calls.name)
        roles = roles_of_calls(self.generated_calls)
        return arguments_of(self.label, trace, rows, self.n_steps, roles)

    @property
    def takes_lists(self) -> bool:
        trace = self.run.required_trace()
        return takes_lists(trace, kernel_rows(trace, self.calls.name))

    @property
    def takes_unsized_lists(self) -> bool:
        trace = self.run.required_trace()
        return takes_unsized_lists(trace, kernel_rows(trace, self.calls.name))

    @property
    def counted_ns(self) -> float:
        """All its calls, per step; of a job as they cost with no collective beside them."""
        return self._per_step(self.calls)

    @cached_property
    def recorded_ns(self) -> float:
        """The same as the trace has them."""
        trace = self.run.shown.trace if self.run.shown_rank is not None else None
        if trace is None:
            return self.counted_ns
        return self._per_step(kernel_calls(trace, self.calls.name))

    def _per_step(self, calls: KernelCalls) -> float:
        summary = self.comparison.sides[self.number].summary
        return 0.0 if summary is None else summary.per_step(sum(calls.dur_ns))

    @cached_property
    def moved(self) -> str:
        """Of a collective: what those of its kind move, where they are all of one group size."""
        job = self.run.job
        rows = [] if job is None else job.collectives
        of_kind = [row for row in rows if row.kind == kind_of(self.calls.name)]
        span = self.comparison.span
        return collective_sentence(self.label, of_kind[0], span) if len(of_kind) == 1 else ""

    @property
    def generated_calls(self) -> list[tuple[CompiledGraph, GeneratedCall]]:
        material = self.run.material
        code, side = material.code, material.ledger_side
        if code is None or side is None:
            return []
        asked = ("launching calls", self.number)
        return calls_in_steps(
            code,
            self.calls.name,
            lambda: self.comparison.answer(asked, lambda: launching_calls(side)),
        )


def _times(comparison: Comparison, row: KernelRow) -> tuple[RunTime, ...]:
    sides = zip(comparison.traced, row.sides, strict=True)
    return tuple(
        RunTime(
            number, comparison.labels[number],
            inside=callers_on_cpu(comparison.runs[number].required_trace(), row.name),
        )
        if side is None
        else RunTime(
            number, comparison.labels[number],
            side.time_ns, side.n, side.mean_ns, side.min_ns, side.max_ns,
        )
        for number, side in sides
    )  # fmt: skip


def _told(
    comparison: Comparison, sides: Sequence["_Side"], item: Item, run: int | None
) -> tuple[Sequence["_Side"], Sequence["_Side"]]:
    """The runs that the answer is about, the asked one last, and those of the first sentences."""
    if run is not None or len(comparison.pairs) < 2:
        asked = [side for side in sides if run in (None, side.number)]
        return asked, asked
    of = comparison.asked_or_first(item.of)
    in_order = sorted(sides, key=lambda side: side.number == of)
    return in_order, in_order[-1:]
