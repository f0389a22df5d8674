"""What was not fused as rows: the two calls, what it costs at most, why, and what could change."""

from collections.abc import Sequence

from profiler_core.analysis.item import kernel_item
from profiler_core.analysis.rows.table import Cell, Table
from profiler_core.analysis.span import Span
from profiler_core.analysis.unfused.report import Unfused
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.units import format_bytes, format_duration

_NAME = 64  # characters of a kernel's name


def unfused_table(pairs: Sequence[Unfused], most: int, span: Span) -> Table:
    """The most expensive pairs, one row each.

    Args:
        pairs: most expensive first.
        most: rows; the rest is counted.
        span: what their numbers are of.
    """
    rows = tuple(
        (
            Cell(
                clipped(pair.titles[0], _NAME),
                below=(f"→ {clipped(pair.titles[1], _NAME)}", _where(pair, span)),
                is_code=True,
                note=f"{pair.writer} → {pair.reader}",
                item=kernel_item(pair.writer) if pair.writer_is_generated else None,
            ),
            Cell(
                f"≤ {format_duration(pair.at_stake_ns, 'up')}",
                below=(format_bytes(pair.saved_bytes), *_cached(pair)),
            ),
            Cell(
                pair.reason.text,
                below=("as Inductor's log says",) if pair.in_log else (),
            ),
            Cell(pair.reason.change or "Nothing known helps here."),
        )
        for pair in pairs[:most]
    )
    heads = ("Written by → read by", f"at stake {span}", "why not one kernel", "what could change")
    return Table(heads, rows, max(0, len(pairs) - most))


def _where(pair: Unfused, span: Span) -> str:
    times = f"{pair.n:.3g} × {span}" if round(pair.n, 2) != 1 else f"once {span}"
    return ", ".join(part for part in (times, pair.source, pair.graph) if part)


def _cached(pair: Unfused) -> tuple[str, ...]:
    return ("fits in the cache, so less",) if pair.fits_in_cache else ()
