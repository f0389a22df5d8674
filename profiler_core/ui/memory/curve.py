"""The curves of both runs, aligned at the start of a step."""

from collections.abc import Mapping, Sequence

import streamlit as st

from profiler_core.analysis.memory.curve import MemoryCurve
from profiler_core.analysis.span import IN_TRACE, PER_STEP, Span, common_span
from profiler_core.figures.memory_curve import curve_side, memory_curve
from profiler_core.ui.address import in_address
from profiler_core.ui.charts import show_figure, show_legend
from profiler_core.ui.memory.data import Remembered
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.style import colors

_MADE: Mapping[Span, str] = {PER_STEP: "Made by the steps", IN_TRACE: "Made in the trace"}
_HELD = "Everything held"
_ALL = "All steps"
_MOST_BUTTONS = 8  # steps that fit beside each other into a window of 1280 px


def show_curves(runs: Sequence[Remembered]) -> None:
    """Choose what is drawn, and draw it; nothing where no run has a curve."""
    drawn = [(run, curve) for run in runs if (curve := run.report.curve) is not None]
    span = common_span(run.report.span for run, _ in drawn)
    if not drawn:  # no trace tells it, but a snapshot's history may
        drawn = [(run, side.curve) for run in runs if (side := run.report.history) is not None]
        if not drawn:
            return
        section("Along the snapshot", "What tensors held, from one change to the next.")
    else:
        along = "Along a step" if span == PER_STEP else "Along the trace"
        section(along, "What was allocated, from one change to the next.")
    quantity, step = _choose(*_steps([curve for _, curve in drawn]), _MADE[span])
    sides = [
        curve_side(run.label, run.number, curve, step, _before(run, made=quantity == _MADE[span]))
        for run, curve in drawn
    ]
    palette = colors()
    show_legend([(run.label, palette.run(run.number)) for run, _ in drawn])
    show_figure(
        memory_curve(sides, palette, reserved=quantity == _HELD),
        key="memory_curve",
        alt="Allocated memory along "
        f"{'the profiled steps' if span == PER_STEP else 'the trace'} of each run.",
    )
    if quantity == _HELD and any(curve.reserved_bytes is not None for _, curve in drawn):
        show_notes(["Dotted: what the allocator held from the device, in use or not."])
    with_line = {run.number for run, _ in drawn}
    show_notes(
        f"{run.label} has no line. {run.report.no_curve}"
        for run in runs
        if run.number not in with_line and run.report.no_curve is not None
    )


def _steps(curves: Sequence[MemoryCurve]) -> tuple[int, int]:
    """How many steps all of them have, and in which one, from 0, the highest has its peak."""
    highest = max(curves, key=lambda curve: curve.peak_allocated_bytes)
    return min(len(curve.step_ts_ns) for curve in curves), highest.peak_step


def _choose(n_steps: int, first: int, made: str) -> tuple[str, int]:
    """Draw the controls: (made or held, number of the step from 0; -1 for all).

    Args:
        n_steps: that can be chosen.
        first: the step that is drawn unless another one is chosen, from 0.
        made: the words for what a step makes.
    """
    with st.container(horizontal=True, gap="medium"):
        quantity = st.segmented_control(
            "What is drawn",
            [made, _HELD],
            default=made,
            label_visibility="collapsed",
            required=True,
            **in_address("memory_what", made),
        )
        if n_steps < 2:
            return quantity, -1
        steps = [_ALL, *(f"Step {n + 1}" for n in range(n_steps))]
        shown = 1 + min(first, n_steps - 1)
        bound = in_address("memory_step", steps[shown])
        if n_steps > _MOST_BUTTONS:
            step: str | None = st.selectbox(
                "Which step", steps, index=shown, label_visibility="collapsed", width=140, **bound
            )
        else:
            step = st.segmented_control(
                "Which step",
                steps,
                default=steps[shown],
                label_visibility="collapsed",
                required=True,
                **bound,
            )
    return quantity, steps.index(step) - 1 if step in steps else -1


def _before(run: Remembered, *, made: bool) -> int:
    return (run.report.before_bytes or 0) if made else 0
