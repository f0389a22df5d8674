"""The first thing on the memory page: the peaks, what changed, and what bounds it."""

from collections.abc import Callable, Sequence

from profiler_core.analysis.environment import differences, is_another_workload
from profiler_core.analysis.memory.comparison import MemoryComparison
from profiler_core.analysis.memory.report import MemoryReport, span_beside
from profiler_core.analysis.rows.table import Cell, Change, Table, Tone
from profiler_core.analysis.span import Span, spanned
from profiler_core.analysis.wording.memory import amounts, bound, headline, through, where_made
from profiler_core.ui.headline import show_claim
from profiler_core.ui.memory.data import Remembered
from profiler_core.ui.notes import show_notes
from profiler_core.ui.overview.headline import entry_facts
from profiler_core.ui.table import show_table
from profiler_core.units import format_bytes, format_change, format_count, format_peak

_Value = Callable[[MemoryReport], float | None]
_PEAKS = ("Peak reserved", "Peak allocated")
# (row, what it means, value, how it is written)
_ROWS: tuple[tuple[str, str, _Value, Callable[[float | None], str]], ...] = (
    (
        "Peak reserved",
        "The most that the caching allocator held from the device, the pools of CUDA graphs "
        "included: what other processes cannot have.",
        lambda r: r.peaks.reserved_bytes,
        format_bytes,
    ),
    (
        "Peak allocated",
        "The most that tensors held at once. Leaves out what a CUDA graph's pool holds between "
        "replays, so it is not compared where only one run replays them.",
        lambda r: r.peaks.allocated_bytes,
        format_bytes,
    ),
    (
        "There before the {whole}",
        "Of the allocated peak, what was held since before the {whole}: weights, inputs, optimizer "
        "state, workspaces of libraries. Fusion does not change it. Where steps replay "
        "CUDA graphs a snapshot tells it outside of their pools; what these hold is in no event.",
        lambda r: r.before_bytes,
        format_bytes,
    ),
    (
        "Made {made}",
        "Of the allocated peak, what was allocated {made} and not yet freed: activations, "
        "gradients, workspaces.",
        lambda r: r.made_by_step_bytes,
        format_bytes,
    ),
    (
        "Allocations",
        "How often the allocator was asked for memory; a CUDA graph's replay never does.",
        lambda r: r.churn.n if r.churn else None,
        format_count,
    ),
    (
        "Bytes allocated",
        "All of them added up: most of it is used again and again within a step.",
        lambda r: r.churn.bytes if r.churn else None,
        format_bytes,
    ),
    (
        "In private pools",
        "Reserved for CUDA graphs when the snapshot was taken; kept between replays.",
        lambda r: r.segments.private_bytes if r.segments else None,
        format_bytes,
    ),
    (
        "Free, locked in",
        "Free blocks between blocks in use when the snapshot was taken: reserved, and cannot be "
        "given back.",
        lambda r: r.segments.split_free_bytes if r.segments else None,
        format_bytes,
    ),
)

_UNKNOWN = format_bytes(None)
_PARTS_OF_PEAK = ("There before the {whole}", "Made {made}")
# Of what the allocator hands out, which a replay of a CUDA graph never asks for.
_ADDED_UP = ("Allocations", "Bytes allocated")  # over a step, or a trace without any
_OF_TENSORS = ("Peak allocated", "Made {made}", *_ADDED_UP)


def show_headline(runs: Sequence[Remembered], comparison: MemoryComparison | None) -> None:
    """Facts, one sentence, what bounds the change, and the numbers as a table."""
    first = runs[0]
    bounds: tuple[str, ...] = ()
    parts = "" if comparison is None else through(comparison)
    if comparison is not None:
        labels = (first.label, runs[1].label)
        sentence, bounds = headline(comparison, labels), bound(comparison, labels)
    else:
        peaks = first.report.peaks
        peak = peaks.allocated_bytes if peaks.reserved_bytes is None else peaks.reserved_bytes
        least = "at least " if peaks.is_least else ""
        size = format_bytes(peak, "down" if peaks.is_least else "nearest")
        sentence = f"{first.label} holds {least}{size} at its peak."
    if len(runs) > 1 and is_another_workload(differences(first.entry.run, runs[1].entry.run)):
        bounds = (
            f"{first.label} and {runs[1].label} are different workloads: what differs between "
            "them is not what compiling did.",
            *bounds,
        )
    sources = dict.fromkeys(r.report.peaks.source for r in runs if r.report.peaks.source)
    record, facts = first.entry.run, entry_facts(first.entry)
    if record.world_size > 1:
        facts.append(f"rank {record.rank} of {record.world_size}")
    is_bad = comparison is not None and any(comparison.least)
    show_claim(facts, (sentence,), [parts, " ".join(bounds)], bad=is_bad)
    show_notes([f"Peaks: {'; '.join(sources) or 'not known'}."])
    show_table(_table(runs), "fs-opened", named=True, width_px=620)


def _table(runs: Sequence[Remembered]) -> Table:
    rows = []
    span = span_beside(run.report for run in runs)
    for name, meaning, value, written in _ROWS:
        is_spanned = _is_spanned(name)
        first, *others = [
            None if is_spanned and run.report.span != span else value(run.report) for run in runs
        ]
        alike = [_compares(name, runs[0].report, run.report) for run in runs[1:]]
        texts = [
            _text(name, amount, written, run.report, span)
            for amount, run in zip((first, *others), runs, strict=True)
        ]
        if set(texts) == {_UNKNOWN}:
            continue
        title = f"{name} {span}" if name in _ADDED_UP else name
        words = {"whole": spanned(span), "made": where_made(span)}
        cells = [Cell(title.format(**words), note=meaning.format(**words)), Cell(texts[0])]
        cells += [
            Cell(text, change=_change(first, other) if is_alike else Change())
            for text, other, is_alike in zip(texts[1:], others, alike, strict=True)
        ]
        rows.append(tuple(cells))
    return Table(("", *(run.label for run in runs)), tuple(rows))


def _text(
    name: str,
    amount: float | None,
    written: Callable[[float | None], str],
    report: MemoryReport,
    span: Span,
) -> str:
    if name in _PEAKS:
        return format_peak(amount, is_least=report.peaks.is_least)
    if name in _PARTS_OF_PEAK and report.span == span:
        return amounts(report)[_PARTS_OF_PEAK.index(name)]
    return written(amount)


def _is_spanned(name: str) -> bool:
    return name in _ADDED_UP or "{" in name


def _compares(name: str, *reports: MemoryReport) -> bool:
    """Is this amount of both runs one of the same thing, and of whole traces?"""
    if name in _OF_TENSORS and len({report.replays for report in reports}) > 1:
        return False
    if name in _PEAKS:
        return not any(report.peaks.is_least for report in reports)
    return not (_is_spanned(name) and any(report.is_cut for report in reports))


def _change(first: float | None, second: float | None) -> Change:
    """Less is better; within 2 % it is the same."""
    if not first or second is None:
        return Change()
    ratio = second / first
    tone: Tone = "" if abs(ratio - 1) < 0.02 else "better" if ratio < 1 else "worse"
    return Change(format_change(ratio), tone)
