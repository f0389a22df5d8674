"""A job of ranks as rows: its measures beside those of other runs, and its collectives."""

from collections.abc import Sequence

from profiler_core.analysis.item import Item, kernel_item
from profiler_core.analysis.job_step import JobStep
from profiler_core.analysis.ranks.alike import AlikeRanks
from profiler_core.analysis.ranks.collective_kinds import kind_of
from profiler_core.analysis.ranks.comparison import Measure
from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.ranks.links import Link
from profiler_core.analysis.ranks.rank_compiling import RankCompiling
from profiler_core.analysis.rows.table import Cell, Change, Tone, text_row
from profiler_core.analysis.waterfall import OTHER_LABELS
from profiler_core.units import (
    format_bytes,
    format_change_between,
    format_count,
    format_difference,
    format_duration,
)
from profiler_core.units import format_share as share

_SAME = 0.02  # a change below this is the same


def measure_rows(compared: Sequence[Measure]) -> tuple[tuple[Cell, ...], ...]:
    """A row for each measure that a job has, a column for each job, the baseline's first."""
    return tuple(_measure(m) for m in compared if m.unit == "rank" or set(m.values) != {None})


def job_step_rows(steps: Sequence[JobStep]) -> tuple[tuple[Cell, ...], ...]:
    """A row for the step of the jobs and one for each of its parts, a column for each job."""
    first = steps[0]
    keys = dict.fromkeys(key for step in steps for key in step.parts_ns)
    rows = [_times("step of the job", [step.step_ns for step in steps])]
    for key in (key for key in first.labels if key in keys):
        labels = {step.labels[key] for step in steps if key in step.parts_ns}
        label = labels.pop() if len(labels) == 1 else OTHER_LABELS[key]  # no two late ranks
        rows.append(_times(label, [step.parts_ns.get(key, 0) for step in steps]))
    return tuple(rows)


def _times(label: str, values_ns: Sequence[int]) -> tuple[Cell, ...]:
    """A row of times; the change is told in time, for a part may be nothing on one side."""
    first, *others = values_ns
    cells = [Cell(label), Cell(format_duration(first))]
    for value in others:
        change = format_difference(value - first) if value != first else ""
        tone: Tone = ""
        if first and abs(value / first - 1) >= _SAME:
            tone = "better" if value < first else "worse"
        cells.append(Cell(format_duration(value), change=Change(change, tone)))
    return tuple(cells)


def alike_rows(groups: Sequence[AlikeRanks]) -> tuple[tuple[Cell, ...], ...]:
    """Per group of ranks that behave alike: which, how many, their means per step."""
    return tuple(
        text_row(
            group.where,
            format_count(len(group.ranks)),
            *(
                format_duration(ns)
                for ns in (
                    group.step_ns, group.compute_ns, group.exposed_communication_ns,
                    group.idle_ns, group.waited_ns, group.made_wait_ns,
                )
            ),
        )
        for group in groups
    )  # fmt: skip


def link_rows(links: Sequence[Link]) -> tuple[tuple[Cell, ...], ...]:
    """Per group of ranks: collective, ranks, calls, bandwidth, the others' bandwidth, how slow."""
    return tuple(
        (
            *text_row(
                link.label,
                link.group,
                format_count(link.n),
                _bandwidth(link.bus_bandwidth),
                _bandwidth(link.others_bandwidth),
            ),
            Cell(f"{link.slower:.2f} times", "worse" if link.is_slow else ""),
        )
        for link in links
    )


COMPILING_HEADS = (
    "compiling, by its own logs", "time", "compilations", "recompiled", "while no other did",
    "others waited",
)  # fmt: skip


def compiling_rows(ranks: Sequence[RankCompiling]) -> tuple[tuple[Cell, ...], ...]:
    """Per rank: compile time, compilations, recompilations, alone, and what others waited."""
    return tuple(
        text_row(
            f"on rank {row.rank}",
            _compile_time(row),
            format_count(row.n_compilations),
            format_count(len(row.recompiles) if row.has_log else None),
            _seconds(row.alone_s),
            _seconds(row.made_wait_s),
        )
        for row in ranks
    )


def _compile_time(row: RankCompiling) -> str:
    if not row.has_log:
        return "no log of its own"
    return "no times in its log" if row.seconds is None else _seconds(row.seconds)


def _seconds(seconds: float | None) -> str:
    return format_duration(None if seconds is None else seconds * 1e9)


def collective_rows(job: Job, kernels: Sequence[str] = ()) -> tuple[tuple[Cell, ...], ...]:
    """Per step and rank: kind, calls, bytes, time, time without waiting, waiting, bandwidth.

    Args:
        job: of ranks.
        kernels: names of those of collectives that have a dossier, the slowest first.
    """
    item_of: dict[str, Item] = {}
    for name in kernels:
        item_of.setdefault(kind_of(name), kernel_item(name))
    return tuple(
        (
            Cell(
                f"{row.label} of {row.group_size}" if row.group_size else row.label,
                item=item_of.get(row.kind),
            ),
            *text_row(
                format_count(row.n),
                format_bytes(row.bytes),
                format_duration(row.time_ns),
                format_duration(row.transfer_ns),
                format_duration(row.wait_ns),
                _bandwidth(row.bus_bandwidth),
            ),
        )
        for row in job.collectives
    )


def _measure(measure: Measure) -> tuple[Cell, ...]:
    first, *others = measure.values
    cells = [Cell(measure.label, note=measure.meaning), Cell(_text(measure, first))]
    cells += [Cell(_text(measure, value), change=_change(measure, value)) for value in others]
    return tuple(cells)


def _change(measure: Measure, value: float | None) -> Change:
    first = measure.values[0]
    if not first or value is None or measure.unit not in ("ns", "bytes_per_s"):
        return Change()
    tone: Tone = ""
    if measure.better and abs(value / first - 1) >= _SAME:
        tone = "better" if (value > first) == (measure.better > 0) else "worse"
    return Change(format_change_between(first, value), tone)


def _text(measure: Measure, value: float | None) -> str:
    if measure.unit == "ns":
        return format_duration(value)
    if measure.unit == "bytes_per_s":
        return _bandwidth(value)
    if measure.unit == "rank":
        return "none" if value is None else f"rank {value:.0f}"
    return share(value)


def _bandwidth(value: float | None) -> str:
    return "–" if value is None else f"{format_bytes(value)}/s"
