"""One fusion group opened: what ran on both sides, how fast, how sure, and the code of both."""

from html import escape

import streamlit as st

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.counters.groups import MeasuredLedger
from profiler_core.analysis.counters.measured import Measured
from profiler_core.analysis.device_peaks import DevicePeaks, peaks_of
from profiler_core.analysis.ledger.bandwidth import Bandwidth, bandwidth
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ledger.result import FusionGroup, short_name
from profiler_core.analysis.wording.groups import how_known, what_kind
from profiler_core.analysis.wording.sentence import capitalised
from profiler_core.figures.names import plain_kernel_name
from profiler_core.session.pair import Pair
from profiler_core.ui.counters.words import traffic_sentence, use_sentence
from profiler_core.ui.fusion.code import show_generated, show_source
from profiler_core.ui.page import section
from profiler_core.ui.style import colors
from profiler_core.units import (
    format_bytes,
    format_change,
    format_count,
    format_difference,
    format_duration,
    format_share,
)

_MOST_KERNELS = 12
_MOST_MODULES = 3


def show_group(pair: Pair, folded: FoldedGroup, measured: MeasuredLedger | None = None) -> None:
    """Draw the first of the folded groups; the others are like it.

    Args:
        pair: baseline and candidate.
        folded: equal groups.
        measured: what hardware counters say of the pair's groups; None: nothing.
    """
    group = folded.first
    section(folded.label, _summary(folded))
    st.html(f"<p class=fs-note>{_about(folded)}</p>")
    left, right = st.columns(2, gap="large")
    for column, side in ((left, 0), (right, 1)):
        with column:
            _show_side(pair, group, side, _counted(pair, group, side, measured))
    left, right = st.columns(2, gap="large")
    with left:
        show_source(pair, group)
    with right:
        show_generated(pair, group)


def _summary(folded: FoldedGroup) -> str:
    before, after = folded.baseline_ns, folded.candidate_ns
    change = f", {format_change(after / before)}" if before and after else ""
    together = f" for all {len(folded.groups)} together" if len(folded.groups) > 1 else ""
    return (
        f"{format_duration(before)} → {format_duration(after)} per step{together} "
        f"({format_difference(after - before)}{change})."
    )


def _about(folded: FoldedGroup) -> str:
    group = folded.first
    parts = []
    if len(folded.groups) > 1:
        alike = "equal groups" if folded.are_equal else "groups of other shapes each"
        parts.append(f"Below is the first of {len(folded.groups)} {alike}.")
    modules = list(
        dict.fromkeys(
            group_of_module.module for group_of_module in folded.groups if group_of_module.module
        )
    )
    if modules:
        ending = f" and {len(modules) - _MOST_MODULES} more" if len(modules) > _MOST_MODULES else ""
        names = ", ".join(f"<b>{escape(name)}</b>" for name in modules[:_MOST_MODULES])
        parts.append(f"Part of {names}{ending}.")
    if folded.occurrence is not None:
        parts.append(f"It runs {folded.occurrence}; times are averages over all steps.")
    parts.append(escape(how_known(group) if group.kind == "matched" else what_kind(group)))
    parts.extend(f"{escape(capitalised(note))}." for note in group.notes[:8])
    return " ".join(parts)


def _counted(
    pair: Pair, group: FusionGroup, side: int, measured: MeasuredLedger | None
) -> Measured | None:
    if measured is None:
        return None
    number = next(
        (n for n, ledger_group in enumerate(pair.ledger.groups) if ledger_group is group), None
    )
    return None if number is None else measured.of(number, side)


def _show_side(pair: Pair, group: FusionGroup, number: int, counted: Measured | None) -> None:
    side = (group.baseline, group.candidate)[number]
    html = f"<h3 class=fs-h>{escape(pair.labels[number])}</h3>"
    if not side.kernels:
        st.html(f"{html}<p class=fs-note>Nothing runs here for it.</p>")
        return
    html += f"<p class=fs-note>{_counts(group, number)}</p>"
    if number == 0 or not all(operator.op.startswith("triton_") for operator in side.operators):
        operators = ", ".join(
            f"{short_name(operator.op)} ×{times:.4g}"
            if (times := group.per_own_step(operator.n, number)) > 1
            else short_name(operator.op)
            for operator in side.operators
        )
        html += f"<p class=fs-mono>{escape(operators)}</p>"
    html += _kernel_table(group, number)
    summary = pair.sides[number].summary
    peaks = peaks_of(summary.device.name if summary is not None else None)
    reached = bandwidth(side, group.n_steps[number], peaks)
    html += f"<p class=fs-note>{_moved(reached, peaks)}</p>"
    moved = side.bytes_moved
    estimate = None if moved is None else group.per_own_step(moved, number)
    if counted is not None:
        sentences = (traffic_sentence(counted, estimate), use_sentence(counted))
        html += f"<p class=fs-note>{' '.join(filter(None, sentences))}</p>"
    st.html(html)


def _counts(group: FusionGroup, number: int) -> str:
    side = (group.baseline, group.candidate)[number]
    n_copies = sum(kernel.n for kernel in side.kernels if kernel.category in ("memcpy", "memset"))
    copies = group.per_step(n_copies, number)
    kernels = group.per_step(sum(kernel.n for kernel in side.kernels) - n_copies, number)
    parts = [f"{format_count(kernels)} kernel{'' if kernels == 1 else 's'}"] if kernels else []
    if copies:
        parts.append(f"{format_count(copies)} {'copies or memsets' if copies > 1 else 'copy'}")
    time = format_duration(group.per_step(side.time_ns, number))
    return f"<b>{time}</b> per step in {' and '.join(parts)}"


def _kernel_table(group: FusionGroup, number: int) -> str:
    palette = colors()
    side = (group.baseline, group.candidate)[number]
    kernels = sorted(side.kernels, key=lambda kernel: -kernel.time_ns)
    rows = "".join(
        f"<tr><td class='fs-mono fs-free'>{escape(plain_kernel_name(kernel.name)[:160])}<br>"
        "<small><span class=fs-swatch "
        f'style="background:{palette.category(kernel.category)}"></span>'
        f"{escape(CATEGORIES.get(kernel.category, kernel.category))}</small></td>"
        f"<td>{format_count(group.per_step(kernel.n, number))}</td>"
        f"<td>{format_duration(group.per_step(kernel.time_ns, number))}</td></tr>"
        for kernel in kernels[:_MOST_KERNELS]
    )
    n_more = len(kernels) - _MOST_KERNELS
    if n_more > 0:
        rest_ns = group.per_step(sum(kernel.time_ns for kernel in kernels[_MOST_KERNELS:]), number)
        rows += f"<tr><td>and {n_more} more</td><td></td><td>{format_duration(rest_ns)}</td></tr>"
    return (
        '<table class="fs-t fs-detail fs-kernels"><thead><tr><th>kernel</th><th>a step</th>'
        f"<th>time</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _moved(speed: Bandwidth | None, peaks: DevicePeaks | None) -> str:
    """Bytes and speed in words; why they are not known, where they are not."""
    if speed is None:
        return "How many bytes it moves is not known: the trace has not all of the shapes."
    text = (
        f"Moves at least {format_bytes(speed.bytes_moved)} per step, "
        f"{format_bytes(speed.bytes_per_s)}/s"
    )
    if speed.share is None or peaks is None:
        return f"{text}. The peak of this device is not known."
    text += (
        f": {format_share(speed.share)} of the memory's peak on {escape(peaks.name)} "
        f"({format_bytes(peaks.memory_bytes_per_s)}/s)."
    )
    if speed.fits_cache and peaks.l2_bytes:
        return (
            f"{text} One kernel's data fits into the L2 cache ({format_bytes(peaks.l2_bytes)}), "
            "so it need not come from memory, and the share is no limit."
        )
    if speed.at_peak:
        return f"{text} <b>At the memory's limit</b>: only moving fewer bytes makes it faster."
    return text
