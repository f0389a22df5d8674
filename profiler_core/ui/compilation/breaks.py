"""Skipped frames and graph breaks, most expensive first, each with the line that caused it."""

import streamlit as st

from profiler_core.analysis.compilation.report import BreakReport, SkipReport, place_text
from profiler_core.analysis.compilation.skipped_frames import LostGain
from profiler_core.analysis.item import break_item
from profiler_core.analysis.rows.table import Cell, Table
from profiler_core.analysis.wording.breaks import (
    FOR_NEW_INPUTS,
    LIMITED_CHANGE,
    limited_name,
    limited_sentence,
)
from profiler_core.markup import render
from profiler_core.model.compilation import Frame, FrameSkip, LimitHit
from profiler_core.session.run import Run
from profiler_core.ui.code_lines import lines_around
from profiler_core.ui.compilation.data import Compiled
from profiler_core.ui.page import section
from profiler_core.ui.table import show_table
from profiler_core.units import format_count, format_duration

_MOST = 40
_TOLD = "fs-detail fs-told"


def show_eager(compiled: Compiled) -> None:
    """Functions that run eager: given up because of a break, or at the recompile limit."""
    report = compiled.report
    if not report.skips and not report.limited:
        return
    section(
        "Functions that run eager",
        "Worse than a break: a whole function is lost in every step, or all that follows a break.",
    )
    if report.lost is not None:
        _lost(report.lost)
    for skip in report.skips[:_MOST]:
        _skip(compiled.run, skip)
    for hit in report.limited[:_MOST]:
        _limit(hit)


def show_breaks(compiled: Compiled) -> None:
    """The breaks as a list; each opens a dossier with its code, its reason and what to change."""
    report = compiled.report
    if not report.breaks:
        return
    section(
        "Graph breaks",
        "Where compiled code ends and plain Python continues, most expensive first. A click on a "
        "cause shows its code, why it breaks and what to change.",
    )
    rows = [_row(compiled, broken) for broken in report.breaks[:_MOST]]
    show_table(Table(("cause", "line", "cost per step", "met"), tuple(rows)), _TOLD)
    n_more = len(report.breaks) - _MOST
    if n_more > 0:
        st.html(f"<p class=fs-note>… and {n_more} more, see <b>logs --json</b>.</p>")


def _row(compiled: Compiled, broken: BreakReport) -> tuple[Cell, ...]:
    frame, number = broken.place, compiled.report.place_of(broken)
    item = None if number is None else break_item(compiled.number, number)
    return (
        Cell(broken.cause.label, item=item),
        Cell(place_text(frame.file, frame.line), below=(frame.code,), is_code_below=True),
        _cost(compiled, broken),
        Cell(_times(broken.event.n)),
    )


def _cost(compiled: Compiled, broken: BreakReport) -> Cell:
    """What it costs, or why that is not known where it is of other breaks of the run."""
    if broken.cost_ns is not None:
        return Cell(format_duration(broken.cost_ns))
    if compiled.report.break_cost is None:
        return Cell("–")
    return Cell("not known", below=(compiled.report.unpriced,), tone="muted")


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
        st.html(
            render(
                "page/limit.html",
                name=limited_name(hit),
                extent=FOR_NEW_INPUTS,
                sentence=limited_sentence(hit),
                change=LIMITED_CHANGE,
                place=place_text(hit.file, hit.line),
            )
        )


def _show(
    run: Run,
    what: str,
    change: str,
    frame: Frame | None,
    event: FrameSkip,
    url: str,
    *,
    title: str,
) -> None:
    """What gave up, what to change, the code, and what PyTorch says."""
    lines = lines_around(frame, run.kept_sources.get(frame.file, {})) if frame else []
    location = f"{place_text(frame.file, frame.line)} in {frame.function}" if frame else ""
    st.html(
        render(
            "page/break.html",
            title=title, what=what, change=change, place=frame, location=location, lines=lines,
            reason=event.reason, url=url, gb_id=event.gb_id,
        )
    )  # fmt: skip


def _times(n: int) -> str:
    return "once" if n == 1 else f"{format_count(n)} times"
