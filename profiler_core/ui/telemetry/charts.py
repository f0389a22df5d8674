"""All runs over one time axis, which the reader may change."""

import streamlit as st

from profiler_core.analysis.rows.table import Table, text_row
from profiler_core.analysis.telemetry.metrics import metric_lines
from profiler_core.analysis.telemetry.series import MOST_RANKS, Axis, lines
from profiler_core.analysis.wording.telemetry import METRIC_HEADS, METRICS_NOTE, metric_rows
from profiler_core.figures.telemetry_series import phase_shades, telemetry_series
from profiler_core.ui.address import in_address
from profiler_core.ui.charts import show_figure, show_legend
from profiler_core.ui.page import section
from profiler_core.ui.style import colors
from profiler_core.ui.table import show_table
from profiler_core.ui.telemetry.data import Recorded, with_traces, without_traces

_AXES: dict[str, Axis] = {
    "Steady state": "steady",
    "Whole capture": "capture",
    "On the trace's axis": "trace",
}
_HELP = (
    "Steady state lays the telemetry phases of the runs over each other. Whole capture is the "
    "clock of the host, with timed rounds, telemetry phase and profiled steps marked. The trace's "
    "axis is that of the page Timeline: 0 is the first event of each run's trace."
)


def show_series(runs_of_page: Recorded) -> None:
    """Small charts of everything that was sampled."""
    section("Over time")
    chosen = st.pills(
        "Time axis", list(_AXES), default="Steady state", help=_HELP,
        label_visibility="collapsed", **in_address("axis", "Steady state"),
    )  # fmt: skip
    axis = _AXES.get(chosen or "", "steady")
    runs = with_traces(runs_of_page.runs) if axis == "trace" else without_traces(runs_of_page.runs)
    drawn = lines(runs, axis)
    if not drawn.keys:
        st.html(f"<p class=fs-note>{_NOTHING[axis]}</p>")
        return
    palette = colors()
    show_legend([(run.label, palette.run(run.number)) for run in runs_of_page.runs])
    if any(line.rank for line in drawn.lines):
        st.html(f"<p class=fs-note>{_RANKS}</p>")
    shades = phase_shades(drawn)
    if shades:
        st.html(f"<p class=fs-note>{shades}</p>")
    show_figure(
        telemetry_series({run.number: run.label for run in runs_of_page.runs}, drawn, palette),
        key=f"telemetry_{axis}",
        alt="Clocks, power, utilisation, temperature, memory and CPU of each run over time; the "
        "table above has the numbers.",
    )


def show_metrics(runs_of_page: Recorded) -> None:
    """What the profiler sampled during the profiled steps; nothing where it sampled nothing."""
    if not runs_of_page.metrics:
        return
    section("Sampled by the profiler", METRICS_NOTE)
    palette = colors()
    show_legend([(label, palette.run(number)) for number, label, _ in runs_of_page.metrics])
    drawn = metric_lines([(number, metrics) for number, _, metrics in runs_of_page.metrics])
    labels = {number: label for number, label, _ in runs_of_page.metrics}
    show_figure(
        telemetry_series(labels, drawn, palette),
        key="telemetry_metrics",
        alt="Each metric that the profiler sampled, over the profiled steps; the table below has "
        "the numbers.",
    )
    rows = tuple(
        text_row(label, *row)
        for _, label, metrics in runs_of_page.metrics
        for row in metric_rows(metrics)
    )
    show_table(Table(("", *METRIC_HEADS), rows), named=True, width_px=1040)


_RANKS = (
    f"Of a job a line for each rank's GPU, of up to {MOST_RANKS}: rank 0's is solid, those of the "
    "other ranks are dotted. The process is rank 0's."
)
_NOTHING: dict[Axis, str] = {
    "steady": "No run has a phase in which it ran alone.",
    "capture": "There is nothing to draw.",
    "trace": "None of these runs has a trace, so there is no such axis.",
}
