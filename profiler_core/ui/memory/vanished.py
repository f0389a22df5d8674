"""Which intermediates the candidate no longer makes, by fusion group or source line."""

from html import escape

import streamlit as st

from profiler_core.analysis.item import group_item
from profiler_core.analysis.memory.comparison import MemoryComparison
from profiler_core.analysis.memory.vanished import Vanished, VanishedRow
from profiler_core.analysis.span import Span
from profiler_core.analysis.wording.sentence import clipped, listed
from profiler_core.markup import breakable, with_units
from profiler_core.ui.dossier.address import item_link
from profiler_core.ui.memory.data import Remembered
from profiler_core.ui.page import section
from profiler_core.units import format_bytes, format_count

_ROWS = 12
_MOST_SOURCES = 3  # lines of one row
_SIZES = 6


def show_vanished(
    comparison: MemoryComparison, baseline: Remembered, candidate: Remembered
) -> None:
    """A sentence, the groups, and the sizes that are gone."""
    vanished = comparison.vanished
    span = comparison.span
    section("What vanished", f"Buffers that one run allocates {span} and the other does not.")
    if vanished is None:
        st.html(f"<p class=fs-note>{escape(comparison.problem or '')}</p>")
        return
    st.html(
        f"<p class=fs-sub>{escape(_sentence(vanished, baseline.label, candidate.label, span))}</p>"
    )
    rows = [row for row in vanished.rows if row.n[0] or row.n[1]]
    st.html(_table(vanished, rows[:_ROWS], baseline, candidate))
    if len(rows) > _ROWS:
        with st.expander(f"{len(rows) - _ROWS} more", type="compact"):
            st.html(_table(vanished, rows[_ROWS:], baseline, candidate))
    if vanished.largest:
        st.html(f"<p class=fs-note>{escape(_sizes_gone(vanished, span))}</p>")


def _sizes_gone(vanished: Vanished, span: Span) -> str:
    """The sizes that add up to most, and how many there are besides with what they add up to."""
    sizes = [
        f"{format_count(was - now)} × {format_bytes(size)}"
        for size, was, now, _ in vanished.largest[:_SIZES]
    ]
    rest = vanished.largest[_SIZES:]
    if rest:
        rest_bytes = sum(gone_bytes for *_, gone_bytes in rest)
        sizes.append(f"{len(rest)} more ({format_bytes(rest_bytes)})")
    return f"Sizes that are gone, {span}: {listed(sizes)}."


def _sentence(vanished: Vanished, baseline: str, candidate: str, span: Span) -> str:
    was, now = (
        f"{format_count(n)} buffers ({format_bytes(size)})"
        for n, size in zip(vanished.n, vanished.bytes, strict=True)
    )
    balance = vanished.vanished_bytes
    return (
        f"{baseline} makes {was} {span}, {candidate} makes {now}: "
        f"{format_bytes(abs(balance))} {'less' if balance > 0 else 'more'}."
    )


def _table(
    vanished: Vanished, rows: list[VanishedRow], baseline: Remembered, candidate: Remembered
) -> str:
    most = max((abs(row.vanished_bytes) for row in vanished.rows), default=0) or 1
    body = ""
    for row in rows:
        further = ", …" if len(row.sources) > _MOST_SOURCES else ""
        of_code = ", ".join(row.sources[:_MOST_SOURCES]) + further
        sources = of_code if row.sources != (row.label,) else ""
        below = f"<br><small>{breakable(sources)}</small>" if sources else ""
        kind = "fs-b" if row.vanished_bytes > 0 else "fs-w" if row.vanished_bytes < 0 else ""
        color = "--fs-better" if row.vanished_bytes > 0 else "--fs-worse"
        width = 90 * abs(row.vanished_bytes) / most
        bar = (
            f'<span class=fs-share style="width:{width:.0f}px;background:var({color})"></span>'
            if width >= 1
            else ""
        )
        body += (
            f'<tr><th scope=row title="{escape(row.label)}">{_name(row, candidate)}{below}</th>'
            f"<td>{_buffers(row, 0)}</td><td>{_buffers(row, 1)}</td>"
            f'<td class="{kind}">{_signed(row.vanished_bytes)}</td>'
            f'<td style="text-align:left">{bar}</td></tr>'
        )
    return (
        f"<div class=fs-scroll><table class='fs-t fs-opened' style='max-width:1100px'><thead><tr>"
        f"<th>{escape(vanished.how)}</th><th>{breakable(baseline.label)}</th><th>{breakable(candidate.label)}</th>"
        f"<th>vanished</th><th></th></tr></thead><tbody>{body}</tbody></table></div>"
    )


def _name(row: VanishedRow, candidate: Remembered) -> str:
    """Of a fusion group a link to its dossier."""
    name = breakable(clipped(row.label, 64))
    if row.group is None:
        return name
    return item_link(group_item(candidate.number, row.group), name)


def _buffers(row: VanishedRow, side: int) -> str:
    """Number and sum."""
    if not row.n[side]:
        return "none"
    return with_units(f"{format_count(row.n[side])}\u00a0· {format_bytes(row.bytes[side])}")


def _signed(size: float) -> str:
    if not size:
        return "–"
    return with_units(f"{'−' if size > 0 else '+'}{format_bytes(abs(size))}")
