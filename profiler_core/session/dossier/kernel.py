"""The dossier of a kernel: its calls in every run, who launches it, how near the limits it is."""

from collections.abc import Sequence

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.dossier.generated import (
    buffers_of_call,
    calls_of_kernel,
    generated_of_calls,
)
from profiler_core.analysis.dossier.launches import arguments_of, launch_of
from profiler_core.analysis.dossier.record import (
    Arguments,
    Dossier,
    Launch,
    RunTime,
    TimelineEvent,
)
from profiler_core.analysis.dossier.roofline import Roofline, roofline, what_computes
from profiler_core.analysis.finding_rules.op_work import PRODUCTS, OpWork, op_work
from profiler_core.analysis.item import Item, name_key
from profiler_core.analysis.kernel_calls import KernelCalls, kernel_calls
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.wording.dossier import (
    kernel_answer,
    launch_sentences,
    missing_of_kernel,
)
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import (
    modules_of,
    pairs_with_ledger,
    peaks_of_run,
    related_groups,
    source_lines,
)
from profiler_core.session.pair import Pair
from profiler_core.session.run import Run


def kernel_dossier(comparison: Comparison, item: Item) -> Dossier:
    """Everything about a kernel, by the name that the traces have.

    Raises:
        NothingToAnalyse: no trace has a kernel of this name.
    """
    row = next((row for row in comparison.kernels if name_key(row.name) == item.key), None)
    if row is None:
        raise NothingToAnalyse(
            f"No chosen run has a kernel {item.key}.",
            remedy="Choose the runs that the link was made for, or search for the kernel.",
        )
    runs = [(number, comparison.runs[number]) for number in comparison.traced]
    labels = comparison.labels
    calls = {number: kernel_calls(run.required_trace(), row.name) for number, run in runs}
    times = _times(comparison, row, calls)
    present = [(number, run) for number, run in runs if calls[number].n]
    products = {number: _products(run, row.name) for number, run in present}
    rooflines = tuple(
        line
        for number, run in present
        if (line := _roofline(comparison, number, run, row.name, products[number])) is not None
    )
    pair, numbers = _groups(comparison, row)
    groups = [pair.ledger.groups[number] for number in numbers] if pair is not None else []
    generated_calls = [
        found
        for number, run in present
        if run.material.code is not None
        for found in calls_of_kernel(run.material.code, row.name)
    ]
    arguments = tuple(
        entry
        for number, run in present
        for entry in arguments_of(
            labels[number], run.required_trace(), row.name, _steps(comparison, number)
        )
    )
    launches = tuple(
        launch
        for number, run in present
        if (launch := _launch(comparison, number, run, calls[number])) is not None
    )
    computes = what_computes([op for ops in products.values() for op in ops])
    return Dossier(
        item=item,
        kind="kernel",
        title=row.name,
        answer=kernel_answer(rooflines, computes, CATEGORIES.get(row.category, row.category)),
        about=launch_sentences(launches),
        times=times,
        modules=modules_of(groups),
        rooflines=rooflines,
        relations=(related_groups(pair, numbers),) if pair is not None and numbers else (),
        sources=source_lines(pair, groups) if pair is not None else (),
        arguments=_with_outputs(arguments, generated_calls),
        launches=launches,
        counters=tuple((run.measured.kernels or {}).get(row.name) for _, run in runs),
        durations_ns=tuple(calls[number].dur_ns for number, _ in runs),
        generated=generated_of_calls(generated_calls),
        on_timeline=tuple(
            TimelineEvent(number, labels[number], *longest)
            for number, _ in present
            if (longest := calls[number].longest) is not None
        ),
        missing=missing_of_kernel(
            has_ledger=pair is not None,
            in_groups=bool(numbers),
            has_sources=any(group.sources for group in groups),
            has_modules=any(group.module for group in groups),
            has_arguments=bool(arguments),
            has_traffic=any(line.bytes_moved is not None for line in rooflines),
            has_counters=any(run.counters.counters is not None for _, run in runs),
            is_generated=row.name.startswith("triton_"),
            has_code=bool(generated_calls),
            has_occupancy=any(launch.occupancy_pct is not None for launch in launches),
        ),
    )


def _times(
    comparison: Comparison, row: KernelRow, calls: dict[int, KernelCalls]
) -> tuple[RunTime, ...]:
    sides = zip(comparison.traced, row.sides, strict=True)
    return tuple(
        RunTime(number, comparison.labels[number])
        if side is None
        else RunTime(
            number, comparison.labels[number],
            side.time_ns, side.n, side.mean_ns, side.min_ns, side.max_ns,
        )
        for number, side in sides
        if number in calls
    )  # fmt: skip


def _steps(comparison: Comparison, number: int) -> int:
    summary = comparison.sides[number].summary
    return summary.n_steps if summary is not None else 1


def _products(run: Run, name: str) -> tuple[OpWork, ...]:
    return tuple(op for op in op_work(run.required_trace(), PRODUCTS) if op.kernel == name)


def _roofline(
    comparison: Comparison, number: int, run: Run, name: str, products: Sequence[OpWork]
) -> Roofline | None:
    return roofline(
        comparison.labels[number],
        peaks_of_run(comparison, number),
        _steps(comparison, number),
        run.traffic.get(name),
        products,
        kernel=name,
    )


def _launch(comparison: Comparison, number: int, run: Run, calls: KernelCalls) -> Launch | None:
    summary = comparison.sides[number].summary
    n_multiprocessors = summary.device.n_multiprocessors if summary is not None else None
    return launch_of(comparison.labels[number], run.required_trace(), calls, n_multiprocessors)


def _groups(comparison: Comparison, row: KernelRow) -> tuple[Pair | None, list[int]]:
    """The first pair whose groups have it, the leading pair before the others, and which groups."""
    first = None
    for pair in pairs_with_ledger(comparison):
        first = first or pair
        numbers = [
            number
            for number, group in enumerate(pair.ledger.groups)
            if any(
                kernel.name == row.name
                for side in (group.baseline, group.candidate)
                for kernel in side.kernels
            )
        ]
        if numbers:
            return pair, numbers
    return first, []


def _with_outputs(
    arguments: tuple[Arguments, ...], calls: Sequence[tuple[object, object]]
) -> tuple[Arguments, ...]:
    """What the log says of the buffers of a generated kernel; traces record inputs alone."""
    described = dict.fromkeys(
        buffers_of_call(graph, call)  # type: ignore[arg-type]
        for graph, call in calls
    )
    named = [(inputs, outputs) for inputs, outputs in described if inputs and outputs]
    if not named:
        return arguments
    label, operator = (arguments[0].label, arguments[0].operator) if arguments else ("", "")
    return tuple(Arguments(label, operator, inputs, outputs) for inputs, outputs in named[:4])
