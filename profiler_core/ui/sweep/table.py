"""The points of a sweep in numbers, each with the way to its comparison."""

from html import escape

import streamlit as st

from profiler_core.analysis.sweep.series import Sweep, SweepPoint, VariantAtPoint
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.analysis.wording.sweep import short_failure, value_text
from profiler_core.store.sweeps import SweepGroup
from profiler_core.ui.choice import query_of
from profiler_core.ui.links import href
from profiler_core.ui.page import section
from profiler_core.units import format_bytes, format_count, format_duration

_CLASS = {"faster": "fs-b", "slower": "fs-w", "wrong_numerics": "fs-w"}
_LONGEST_VALUE = 40  # characters


def show_points(group: SweepGroup, sweep: Sweep) -> None:
    """One row for each point and candidate; the value opens the point's comparison."""
    section("Each point", "A value opens its comparison: where the time went, and what was fused.")
    keys = {point.path: tuple(entry.key for entry in point.entries) for point in group.points}
    heads = [
        sweep.label.capitalize(),
        "",
        f"Step, {sweep.baseline}",
        "Step, compiled",
        "Speed\u2011up",
        "95 % interval",
        f"Memory, {sweep.baseline}",
        "Memory, compiled",
        "Compile time",
        "Break-even steps",
    ]
    rows = []
    for point in sweep.points:
        link = href("overview", query_of(keys[point.path]))
        for number, variant in enumerate(point.variants[1:] or point.variants):
            rows.append(
                (_value(point, link) if number == 0 else "", *_cells(sweep, point, variant))
            )
    used = [n for n in range(len(heads)) if n < 2 or any(row[n] != "–" for row in rows)]
    if len(sweep.series) < 2:  # one candidate, or only the baseline: no need to name it
        used.remove(1)
    who = {1: " class=fs-who"}
    head = "".join(f"<th{who.get(n, '')}>{escape(heads[n])}</th>" for n in used)
    body = "".join(
        "<tr>" + "".join(f"<td{who.get(n, '')}>{row[n]}</td>" for n in used) + "</tr>"
        for row in rows
    )
    st.html(
        "<div class=fs-scroll><table class='fs-t fs-sweep'>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _value(point: SweepPoint, link: str) -> str:
    text = escape(clipped(value_text(point), _LONGEST_VALUE))
    return f'<a class=fs-link target=_self href="{escape(link)}">{text}</a>'


def _cells(sweep: Sweep, point: SweepPoint, variant: VariantAtPoint) -> tuple[str, ...]:
    base = point.baseline
    interval = (
        "–"
        if variant.interval is None
        else f"{variant.interval[0]:.2f} to {variant.interval[1]:.2f}"
    )
    ratio = "–"
    if variant.ratio is not None:
        ratio = f"<span class='{_CLASS.get(variant.verdict or '', '')}'>{variant.ratio:.2f}</span>"
    if variant.verdict == "wrong_numerics":
        interval = "<span class=fs-w>wrong results</span>"
    cost = variant.compile
    return (
        escape(variant.series),
        _step(base),
        _step(variant) if variant is not base else "–",
        ratio,
        interval,
        format_bytes(sweep.peak_bytes(base)),
        format_bytes(sweep.peak_bytes(variant)) if variant is not base else "–",
        "–" if cost.seconds is None else format_duration(cost.seconds * 1e9),
        cost.no_break_even or format_count(cost.break_even_steps),
    )


def _step(variant: VariantAtPoint) -> str:
    failure = short_failure(variant)
    if failure is None:
        return format_duration(variant.step_time_ns)
    return f"<span class=fs-w title='{escape(variant.error or '')}'>{escape(failure)}</span>"
