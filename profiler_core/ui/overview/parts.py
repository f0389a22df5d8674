"""The parts of the overview below its headline."""

from collections.abc import Collection, Sequence

import streamlit as st

from profiler_core.analysis.measures import step_bars_of
from profiler_core.analysis.side import Side
from profiler_core.analysis.wording.comparison import step_bars_alt, why_no_step_bars
from profiler_core.analysis.wording.step_bars import scale_notes
from profiler_core.figures.step_bars import step_legend, step_rows
from profiler_core.markup import render
from profiler_core.session.comparison import Comparison
from profiler_core.store.sweeps import sweep_of_entry
from profiler_core.ui.charts import show_legend
from profiler_core.ui.choice import Choice
from profiler_core.ui.links import page_link
from profiler_core.ui.modules.view import OPERATORS
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.style import colors
from profiler_core.ui.sweep.choose import query_of_sweep


def show_step_bars(sides: Sequence[Side]) -> None:
    """Where each run's step went; says so where there is no trace to tell."""
    labels, parts = step_bars_of(sides)
    if not parts:
        st.html(f"<p class=fs-note>{why_no_step_bars(sides)}</p>")
        return
    palette = colors()
    alt = step_bars_alt(labels, parts)
    caption, rows = step_rows(labels, parts, palette)
    st.html(render("page/step_bars.html", rows=rows, caption=caption, alt=alt))
    show_legend(step_legend(parts, palette))
    show_notes(scale_notes(labels, parts))


def show_what_is_missing(
    comparison: Comparison,
    heading: str = "What these numbers leave out",
    shown: Collection[str] = (),
) -> None:
    """One sentence for each thing that these files cannot tell.

    Args:
        comparison: of the chosen runs.
        heading: above the sentences.
        shown: sentences that stand on the page already.
    """
    sentences = [sentence for sentence in comparison.left_out if sentence not in shown]
    if sentences:
        section(heading)
        show_notes(sentences)


def show_way_on(choice: Choice) -> None:
    """Links to the details, and for a sample a quiet hint at how to get an own measurement."""
    with st.container(horizontal=True, key="fs_way_on"):
        page_link("timeline", "See it on the timeline", choice.query)
        page_link("kernels", "Compare the kernels", choice.query)
        page_link("modules", "Layer by layer", choice.query)
        page_link("modules", "Most expensive operators", {**choice.query, "view": OPERATORS})
        page_link("compilation", "What the compiler did", choice.query)
        page_link("memory", "Where the memory went", choice.query)
        if any(run.job is not None for run in choice.comparison.runs):
            page_link("ranks", "Who waits for whom", choice.query)
        sweep = sweep_of_entry(choice.baseline)
        if sweep is not None:
            page_link("sweep", "The whole sweep", query_of_sweep(sweep))
        if choice.baseline.origin == "sample":
            page_link("capture", "Capture your own model")
            page_link("runs", "Upload your traces")
