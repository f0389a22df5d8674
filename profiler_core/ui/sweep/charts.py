"""The pictures of a sweep: the speed-up large, the other measures beside each other below."""

import streamlit as st

from profiler_core.analysis.sweep.series import Sweep
from profiler_core.analysis.wording.sweep import value_text, without_speedup
from profiler_core.figures.sweep.measure import (
    MEASURES,
    SweepMeasure,
    has_values,
    measure_figure,
)
from profiler_core.figures.sweep.speedup import speedup_figure
from profiler_core.ui.charts import show_figure, show_legend
from profiler_core.ui.page import section
from profiler_core.ui.style import colors


def show_speedup(sweep: Sweep) -> None:
    """Speed-up with its interval at each value, and marks of what failed, or why there is none.

    Nothing where there is no candidate.
    """
    if not sweep.series:
        return
    if all(variant.ratio is None for point in sweep.points for variant in point.variants[1:]):
        section(f"Speed-up against {sweep.label}", without_speedup(sweep))
        return
    section(
        f"Speed-up against {sweep.label}",
        "Bars are 95 % intervals. A filled mark: the whole interval is above 1, compiling pays.",
    )
    alt = "; ".join(
        f"{sweep.label} {value_text(point)}: "
        + ", ".join(
            f"{variant.series} {variant.ratio:.2f} times as fast"
            if variant.ratio
            else f"{variant.series} unknown"
            for variant in point.variants[1:]
        )
        for point in sweep.points
    )
    palette = colors()
    labels = (sweep.baseline, *(variant.label for variant in sweep.series))
    show_legend([(label, palette.run(number)) for number, label in enumerate(labels)])
    show_figure(speedup_figure(sweep, palette), key="sweep_speedup", alt=alt)


def show_measures(sweep: Sweep) -> None:
    """What is known of step time, throughput, memory and compile time, two in a row."""
    present = [measure for measure in MEASURES if has_values(sweep, measure)]
    for start in range(0, len(present), 2):
        with st.container(horizontal=True, gap="medium", key=f"fs_sweep_row_{start}"):
            for number, measure in enumerate(present[start : start + 2], start=start):
                with st.container(key=f"fs_sweep_cell_{number}"):
                    _show_measure(sweep, measure, number)


def _show_measure(sweep: Sweep, measure: SweepMeasure, number: int) -> None:
    section(measure.title, measure.definition(sweep))
    alt = "; ".join(
        f"{sweep.label} {value_text(point)}: "
        + ", ".join(
            f"{variant.series} {measure.text(measure.value(sweep, variant))}"
            for variant in point.variants
        )
        for point in sweep.points
    )
    show_figure(measure_figure(sweep, measure, colors()), key=f"sweep_measure_{number}", alt=alt)
