"""How far apart the ranks arrive at each collective."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.figures.ranks_arrivals import MOST_MARKS, ranks_arrivals
from profiler_core.ui.charts import show_figure, show_legend
from profiler_core.ui.page import section
from profiler_core.ui.ranks.data import ChosenJob
from profiler_core.ui.style import colors
from profiler_core.units import format_count

_TITLE = "Arrival at each collective"
_EVEN_BELOW_NS = 1_000  # a chart of less would show the clock's grain


def show_arrivals(jobs: Sequence[ChosenJob]) -> None:
    """A bar for each collective, a sentence where all arrive at once.

    Nothing where no collective is on all its ranks.
    """
    drawn = [
        (chosen_job.number, chosen_job.label, chosen_job.job.arrivals)
        for chosen_job in jobs
        if chosen_job.job.arrivals
    ]
    if not drawn:
        return
    skews_ns = [arrival.skew_ns for _, _, arrivals in drawn for arrival in arrivals]
    if max(skews_ns) < _EVEN_BELOW_NS:
        section(_TITLE, "All ranks arrive at each of them within 1 µs of each other.")
        return
    section(
        _TITLE, "The rank that comes last is the one whose kernel is shortest: it waits for nobody."
    )
    palette = colors()
    if len(drawn) > 1:
        show_legend([(label, palette.run(number)) for number, label, _ in drawn])
    show_figure(
        ranks_arrivals(drawn, palette),
        key="ranks_arrivals",
        alt="Time between the first and the last rank's arrival at each collective of a step.",
    )
    most = max(len(arrivals) for _, _, arrivals in drawn)
    if most > MOST_MARKS:
        st.html(
            f"<p class=fs-note>A step has {format_count(most)} collectives; the {MOST_MARKS} with "
            "the largest skew are drawn.</p>"
        )
