"""Recompiles on the time axis: which steps paid for compiling again, and why."""

from collections import Counter
from collections.abc import Sequence

import plotly.graph_objects as go

from profiler_core.analysis.compilation.recompiles import RecompileReport
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_duration

_HEIGHT_PX = 260


def recompile_steps(
    reports: Sequence[RecompileReport], step_ns: Sequence[int], palette: Palette
) -> go.Figure:
    """Bars of the first steps' times; those that compiled again in colour, with how often if twice.

    Args:
        reports: recompiles with a known step; others are left out.
        step_ns: the first call, then the warm-up steps.
        palette: of the mode.
    """
    figure = new_figure(palette)
    by_step: dict[int, list[RecompileReport]] = {}
    for report in reports:
        if report.step is not None and report.step < len(step_ns):
            by_step.setdefault(report.step, []).append(report)
    steps = list(range(len(step_ns)))
    figure.add_bar(
        x=steps,
        y=[ns / 1e6 for ns in step_ns],
        marker={"color": [palette.worse if s in by_step else palette.baseline for s in steps]},
        hovertext=[_hover(s, step_ns[s], by_step.get(s, [])) for s in steps],
        hoverinfo="text",
        text=[f"{len(by_step[s])}×" if len(by_step.get(s, ())) > 1 else "" for s in steps],
        textposition="outside",
        textangle=0,
        textfont={"size": 12, "color": palette.worse},
        cliponaxis=False,
        showlegend=False,
    )
    figure.update_layout(
        height=_HEIGHT_PX,
        bargap=0.25,
        margin={"t": 24},
        xaxis={"title": {"text": "step (0 is the first call)"}, "dtick": _tick(len(step_ns))},
        yaxis={
            "title": {"text": "step time, ms"},
            "type": "log",
            "dtick": 1,
            "exponentformat": "none",  # else 10k stands above 1000
            "separatethousands": True,
        },
    )
    return figure


def recompile_times(reports: Sequence[RecompileReport], palette: Palette) -> go.Figure:
    """Without step times: when each recompile began, and how long it took."""
    figure = new_figure(palette)
    timed = [r for r in reports if r.start_ns is not None and r.cost_ns is not None]
    origin = min((r.start_ns for r in timed if r.start_ns is not None), default=0)
    figure.add_bar(
        x=[((r.start_ns or 0) - origin) / 1e9 for r in timed],
        y=[(r.cost_ns or 0) / 1e6 for r in timed],
        width=[max((r.cost_ns or 0) / 1e9, 0.002) for r in timed],
        offset=0,
        marker={"color": palette.worse},
        hovertext=[f"{_cause(r)}<br>{format_duration(r.cost_ns)}" for r in timed],
        hoverinfo="text",
        showlegend=False,
    )
    figure.update_layout(
        height=_HEIGHT_PX,
        xaxis={"title": {"text": "seconds since the first recompile"}, "rangemode": "tozero"},
        yaxis={"title": {"text": "duration, ms"}, "rangemode": "tozero"},
    )
    return figure


def _tick(n: int) -> int:
    return max(1, round(n / 15))


def _hover(step: int, ns: int, reports: Sequence[RecompileReport]) -> str:
    head = f"step {step}: {format_duration(ns)}"
    causes = Counter(_cause(report) for report in reports)
    lines = [f"{cause}{f' × {n}' if n > 1 else ''}" for cause, n in causes.most_common(6)]
    return "<br>".join([head, *lines])


def _cause(report: RecompileReport) -> str:
    guard = report.event.reasons[0].guard if report.event.reasons else ""
    return plotly_text(f"{report.event.function}: {report.cause.label} · {guard[:80]}")
