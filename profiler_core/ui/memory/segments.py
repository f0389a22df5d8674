"""How the allocator's memory is cut up when the snapshot was taken."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.memory.segments import Segments
from profiler_core.analysis.rows.table import Table, text_row
from profiler_core.figures.memory_segments import MOST_SEGMENTS, memory_segments
from profiler_core.ui.charts import show_figure
from profiler_core.ui.memory.data import Remembered
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.style import colors
from profiler_core.ui.table import show_table
from profiler_core.units import format_bytes, format_count, format_share_of


def show_segments(runs: Sequence[Remembered]) -> None:
    """One column a run; nothing without a snapshot."""
    with_segments = [(run, run.report.segments) for run in runs if run.report.segments is not None]
    if not with_segments:
        return
    beside = [segments for _, segments in with_segments]
    section(
        "Segments and pools",
        "What the allocator holds from the device after the last step: coloured is in use, grey "
        "is free.",
    )
    with st.container(key="fs_sides_segments"):
        columns = st.columns(len(with_segments), gap="large")
    for column, (run, segments) in zip(columns, with_segments, strict=True):
        with column:
            st.html(f"<h3 class=fs-h>{escape(run.label)}</h3>")
            _show_parts(segments)
            show_figure(
                memory_segments(segments, run.number, colors(), beside=beside),
                key=f"memory_segments_{run.number}",
                alt="The largest segments with their used and free blocks.",
            )
            n_more = len(segments.segments) - MOST_SEGMENTS
            if n_more > 0:
                words = "smaller segment is" if n_more == 1 else "smaller segments are"
                show_notes([f"{n_more} {words} not drawn."])


def _show_parts(segments: Segments) -> None:
    total = segments.reserved_bytes or 1
    parts = (
        ("in use", segments.allocated_bytes),
        ("free, locked in by neighbours", segments.split_free_bytes),
        ("free, whole segments (empty_cache gives them back)", segments.whole_free_bytes),
        ("free, in private pools (kept for the next replay)", segments.private_free_bytes),
    )
    rows = tuple(
        text_row(name, format_bytes(size), format_share_of(size, total))
        for name, size in parts
        if size
    )
    show_table(Table((), rows), "fs-opened", named=True)
    pools = "; ".join(
        # Not "default", which torch calls it: a run that was compiled in that mode is called so.
        f"{pool.name if pool.is_private else 'the common one'}: "
        f"{format_bytes(pool.reserved_bytes)} in {format_count(pool.n_segments)}"
        for pool in segments.pools[:6]
    )
    where = " of the common one" if segments.has_private_pools else ""
    show_notes(
        [
            f"{format_bytes(segments.reserved_bytes)} reserved. Pools and their segments: {pools}. "
            f"Largest free block{where}: {format_bytes(segments.largest_free_bytes)}."
        ]
    )
