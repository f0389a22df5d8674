"""Skipped frames and graph breaks, most expensive first, each with the line that caused it."""

from collections.abc import Mapping, Sequence

import streamlit as st

from profiler_core.analysis.compilation.report import BreakReport, SkipReport, place_text
from profiler_core.analysis.compilation.skipped_frames import LostGain
from profiler_core.markup import Markup, render
from profiler_core.model.compilation import Frame, FrameSkip, GraphBreak, LimitHit
from profiler_core.session.run import Run
from profiler_core.ui.compilation.data import Compiled
from profiler_core.ui.links import plain_label
from profiler_core.ui.page import section
from profiler_core.units import format_count, format_duration

_CONTEXT = 4  # lines shown each way; the capture keeps eight
_MOST = 40


def show_eager(compiled: Compiled) -> None:
    """Functions that run eager: given up because of a break, or at the recompile limit."""
    report = compiled.report
    if not report.skips and not report.log.limit_hits:
        return
    section(
        "Functions that run eager",
        "Worse than a break: the whole function is lost, in every step.",
    )
    if report.lost is not None:
        _lost(report.lost)
    for skip in report.skips[:_MOST]:
        _skip(compiled.run, skip)
    for hit in report.log.limit_hits[:_MOST]:
        _limit(hit)


def show_breaks(compiled: Compiled) -> None:
    """The breaks as a list; each opens up into its code, its reason and what to change."""
    report = compiled.report
    if not report.breaks:
        return
    total = report.break_cost.cost_ns if report.break_cost else 0.0
    section(
        "Graph breaks", "Where compiled code ends and plain Python continues, most expensive first."
    )
    for number, report_of_break in enumerate(report.breaks[:_MOST]):
        _break(compiled.run, report_of_break, total, expanded=number == 0)
    n_more = len(report.breaks) - _MOST
    if n_more > 0:
        st.html(f"<p class=fs-note>… and {n_more} more, see <b>logs --json</b>.</p>")


def code_html(frame: Frame, lines: Mapping[int, str]) -> Markup:
    """A few lines around a place, the place itself marked; its own code where none was kept."""
    return render("page/code.html", lines=_around(frame, lines), code=frame.code)


def _around(frame: Frame, lines: Mapping[int, str]) -> list[tuple[int, str, bool]]:
    """(number, text, is it the place) of the lines shown; none where the place was not kept."""
    if frame.line not in lines:
        return []
    numbers = range(frame.line - _CONTEXT, frame.line + _CONTEXT + 1)
    return [(n, lines[n].rstrip(), n == frame.line) for n in numbers if n in lines]


def _lost(lost: LostGain) -> None:
    """One line for all of them: the trace does not tell them apart."""
    st.html(render("page/definitions.html", definitions=[(lost.price, lost.sentence)]))


def _skip(run: Run, skip: SkipReport) -> None:
    event = skip.event
    title = f"Frame skipped · {event.function or 'a function'} · {skip.cause.label}"
    with st.container(border=True):
        _show(run, skip.cause.what, skip.change, skip.place, event, skip.url, title=title)


def _limit(hit: LimitHit) -> None:
    with st.container(border=True):
        st.html(render("page/limit.html", hit=hit, place=place_text(hit.file, hit.line)))


def _break(run: Run, report: BreakReport, total_ns: float, *, expanded: bool) -> None:
    event, frame = report.event, report.place
    if report.cost_ns is not None and total_ns:
        price = f"{format_duration(report.cost_ns)} per step"
    elif report.cost_ns is not None:
        price = "no cost"
    else:
        price = f"met {_times(event.n)}"
    place = plain_label(place_text(frame.file, frame.line))
    with st.expander(f"{plain_label(report.cause.label)} · {place} · {price}", expanded=expanded):
        ids = f" in {', '.join(event.compile_ids[:8])}" if event.compile_ids else ""
        met = f"Met {_times(event.n)} while compiling{ids}."
        if (frame.file, frame.line) != (event.file, event.line):
            met += f" Dynamo names {place_text(event.file, event.line)}."
        cause = report.cause
        _show(run, cause.what, cause.change, frame, event, report.url, met=met, hints=event.hints)


def _show(
    run: Run,
    what: str,
    change: str,
    place: Frame | None,
    event: GraphBreak | FrameSkip,
    url: str,
    *,
    title: str = "",
    met: str = "",
    hints: Sequence[str] = (),
) -> None:
    """What gave up, what to change, the code, and what PyTorch says."""
    lines = _around(place, run.kept_sources.get(place.file, {})) if place else []
    location = f"{place_text(place.file, place.line)} in {place.function}" if place else ""
    st.html(
        render(
            "page/break.html",
            title=title, what=what, change=change, place=place, location=location, lines=lines,
            reason=event.reason, url=url, gb_id=event.gb_id, met=met, hints=hints,
        )
    )  # fmt: skip


def _times(n: int) -> str:
    return "once" if n == 1 else f"{format_count(n)} times"
