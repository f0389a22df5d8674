"""The memory of two runs in words."""

from collections.abc import Callable

from profiler_core.analysis.memory.comparison import Held, MemoryComparison
from profiler_core.analysis.memory.report import MemoryReport
from profiler_core.analysis.span import IN_TRACE, PER_STEP, Span, spanned
from profiler_core.analysis.trace_notes import cut_clause
from profiler_core.analysis.wording.sentence import listed
from profiler_core.units import format_bytes, format_change, format_share

_ALIKE = 0.02  # peaks repeat nearly from run to run
_PARTS: tuple[tuple[Callable[[Held], int], str], ...] = (
    (lambda held: held.made_bytes, "allocated {made}"),
    (lambda held: held.before_bytes, "in use since before it{outside}"),
    (lambda held: held.free_bytes, "held free"),
    (lambda held: held.pool_bytes, "in private pools of CUDA graphs"),
)


def where_made(span: Span) -> str:
    """Behind "made": by the step, or in a trace without steps."""
    return "by the step" if span == PER_STEP else IN_TRACE


def amounts(report: MemoryReport) -> tuple[str, str]:
    """(there before the step, made by it) of the allocated peak; a dash: not known.

    Beside CUDA graphs the two are known of what lies outside of their pools.
    """
    outside = report.outside_pools
    if outside is None:
        return format_bytes(report.before_bytes), format_bytes(report.made_by_step_bytes)
    before, made = format_bytes(outside.before_bytes), format_bytes(outside.made_bytes)
    return f"{before} outside of pools", f"{made} outside of pools"


def headline(comparison: MemoryComparison, labels: tuple[str, str]) -> str:
    """How much more or less the candidate takes.

    Args:
        comparison: of both.
        labels: what they are called.
    """
    cut = [label for label, is_least in zip(labels, comparison.least, strict=True) if is_least]
    if cut:
        return f"Not compared: {cut_clause(cut)}"
    if comparison.peak_bytes is None:
        return "The files do not say the peaks of both runs."
    before, after = comparison.peak_bytes
    baseline, candidate = labels
    verb = "reserves" if comparison.peak_of == "reserved" else "allocates"
    peaks = format_bytes(before), format_bytes(after)
    if peaks[0] == peaks[1]:
        return f"{candidate} {verb} as much as {baseline}: {peaks[1]}."
    if abs(after / before - 1) < _ALIKE:
        return (
            f"{candidate} {verb} about as much as {baseline} at its peak: {peaks[1]} against "
            f"{peaks[0]}."
        )
    return (
        f"{candidate} {verb} {_amount(after / before)} at its peak: {peaks[1]} against {peaks[0]}."
    )


def through(comparison: MemoryComparison) -> str:
    """Which parts of the reserved peak are smaller or larger; "" where it is alike or not known.

    Those that are told add up to the difference, as it is written; smaller ones are left out.
    """
    if comparison.held is None or comparison.peak_bytes is None:
        return ""
    before, after = comparison.peak_bytes
    if abs(after / before - 1) < _ALIKE:
        return ""
    was, now = comparison.held
    made = where_made(comparison.span)
    # What pools hold since before the step no file says.
    outside = " (outside of pools)" if was.pool_bytes or now.pool_bytes else ""
    changes = (
        (part(now) - part(was), what.format(made=made, outside=outside)) for part, what in _PARTS
    )
    parts = sorted(changes, key=lambda each: -abs(each[0]))
    sign = 1 if after > before else -1
    whole = format_bytes(sign * (after - before))
    while format_bytes(max(0, sign * sum(change for change, _ in parts[:-1]))) == whole:
        parts.pop()
    parts.sort(key=lambda each: each[0])
    less = [f"{format_bytes(-change)} less {what}" for change, what in parts if change < 0]
    more = [f"{format_bytes(change)} more {what}" for change, what in reversed(parts) if change > 0]
    first, second = (less, more) if after < before else (more, less)
    against = f", against {listed(second)}" if second else ""
    return f"The difference: {listed(first)}{against}."


def bound(comparison: MemoryComparison, labels: tuple[str, str]) -> tuple[str, ...]:
    """What keeps the peak from changing more: what was there before, and pools of CUDA graphs."""
    if any(comparison.least):
        return ()
    baseline, candidate = labels
    of_step = comparison.of_step_bytes
    sentences = []
    if comparison.there_before is not None:
        sentences.append(
            f"{format_share(comparison.there_before)} of what {baseline} has allocated at its peak "
            f"was there before the {spanned(comparison.span)} (weights, inputs, optimizer state, "
            "workspaces of libraries), and fusion does not change it; "
            f"{format_bytes(of_step[0])} are made {where_made(comparison.span)}."
        )
        if of_step[1] is not None:
            sentences.append(f"In {candidate} it is {format_bytes(of_step[1])}.")
    profiled = [
        f"{format_bytes(made)} in {label}"
        for label, made in zip(labels, comparison.of_profiled_bytes, strict=True)
        if made is not None
    ]
    if profiled:
        sentences.append(
            f"The profiled steps make at most {listed(profiled)}: the peak is of steps without the "
            "profiler, which had other inputs."
        )
    if comparison.pool_bytes:
        sentences.append(
            f"{format_bytes(comparison.pool_bytes)} of what {candidate} reserves belong to the "
            "private pools of its CUDA graphs: they are kept between replays."
        )
    return tuple(sentences)


def _amount(ratio: float) -> str:
    """A change as people say it: "7 % less", "12 % more", "×11.2 as much"."""
    if ratio >= 9.95 or 0 < ratio < 0.005:
        return f"{format_change(ratio)} as much"
    percent = abs(ratio - 1) * 100
    digits = 1 if percent < 1 else 0
    return f"{percent:.{digits}f} % {'less' if ratio < 1 else 'more'}"
