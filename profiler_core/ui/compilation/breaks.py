"""Skipped frames and graph breaks, most expensive first, each with the line that caused it."""

from collections.abc import Mapping
from html import escape

import streamlit as st

from profiler_core.analysis.compilation.report import BreakReport, SkipReport, place_text
from profiler_core.analysis.compilation.skipped_frames import LostGain
from profiler_core.model.compilation import Frame, LimitHit
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


def code_html(frame: Frame, lines: Mapping[int, str]) -> str:
    """A few lines around a place, the place itself marked; its own code where none was kept."""
    if frame.line not in lines:
        return f"<pre class=fs-code><b>{escape(frame.code)}</b></pre>" if frame.code else ""
    line_texts = []
    for number in range(frame.line - _CONTEXT, frame.line + _CONTEXT + 1):
        if number in lines:
            text = f"<i>{number:>5}</i>  {escape(lines[number].rstrip())}"
            line_texts.append(f"<b>{text}</b>" if number == frame.line else text)
    return f"<pre class=fs-code>{chr(10).join(line_texts)}</pre>"


def _lost(lost: LostGain) -> None:
    """One line for all of them: the trace does not tell them apart."""
    price = f"<b>{escape(lost.price)}</b> " if lost.price else ""
    st.html(f"<p class=fs-note>{price}{escape(lost.sentence)}</p>")


def _skip(run: Run, skip: SkipReport) -> None:
    frame_skip = skip.event
    title = f"Frame skipped · {frame_skip.function or 'a function'} · {skip.cause.label}"
    with st.container(border=True):
        st.html(
            f"<p class=fs-card-head><b>{escape(title)}</b><span class=fs-w>runs eager</span></p>"
            f"<p class=fs-note>{escape(skip.cause.what)} <b>{escape(skip.change)}</b></p>"
            + (_place_html(run, skip.place) if skip.place else "")
            + _more(frame_skip.reason, skip.url, frame_skip.gb_id)
        )


def _limit(hit: LimitHit) -> None:
    value = f" ({hit.value})" if hit.value else ""
    last = f" Last guard that failed: {hit.last_reason}." if hit.last_reason else ""
    with st.container(border=True):
        st.html(
            f"<p class=fs-card-head><b>{escape(hit.function or 'a function')}</b>"
            f"<span class=fs-w>runs eager for new inputs</span></p>"
            f"<p class=fs-note>It was compiled again and again until "
            f"{escape(hit.limit or 'the recompile limit')}{value} was reached.{escape(last)} "
            f"<b>Remove the cause of the recompiles below.</b></p>"
            f"<p class='fs-note fs-mono'>{escape(place_text(hit.file, hit.line))}</p>"
        )


def _break(run: Run, report: BreakReport, total_ns: float, *, expanded: bool) -> None:
    graph_break, frame = report.event, report.place
    if report.cost_ns is not None and total_ns:
        price = f"{format_duration(report.cost_ns)} per step"
    elif report.cost_ns is not None:
        price = "no cost"
    else:
        price = f"met {_times(graph_break.n)}"
    place = plain_label(place_text(frame.file, frame.line))
    label = f"{plain_label(report.cause.label)} · {place} · {price}"
    with st.expander(label, expanded=expanded):
        dynamo_location = ""
        if (frame.file, frame.line) != (graph_break.file, graph_break.line):
            dynamo_location = (
                f" Dynamo names {escape(place_text(graph_break.file, graph_break.line))}."
            )
        ids = (
            f" in {', '.join(map(escape, graph_break.compile_ids[:8]))}"
            if graph_break.compile_ids
            else ""
        )
        st.html(
            f"<p class=fs-note>{escape(report.cause.what)} <b>{escape(report.cause.change)}</b></p>"
            + _place_html(run, frame)
            + _more(graph_break.reason, report.url, graph_break.gb_id)
            + f"<p class=fs-note>Met {_times(graph_break.n)} while compiling{ids}."
            + f"{dynamo_location}</p>"
        )
        if graph_break.hints:
            items = "".join(f"<li>{escape(hint)}</li>" for hint in graph_break.hints)
            st.html(f"<ul class='fs-note fs-hints'>{items}</ul>")


def _place_html(run: Run, frame: Frame) -> str:
    code = code_html(frame, run.kept_sources.get(frame.file, {}))
    location = f"{place_text(frame.file, frame.line)} in {frame.function}"
    return f"<p class='fs-note fs-mono' title='{escape(frame.file)}'>{escape(location)}</p>{code}"


def _more(reason: str, url: str, gb_id: str | None) -> str:
    name = f"{gb_id} in PyTorch's registry" if gb_id else "PyTorch's page about it"
    link = f"<a class=fs-link href='{escape(url)}' target=_blank rel=noopener>{escape(name)}</a>"
    return f"<p class=fs-note>PyTorch says: {escape(reason)} · {link}</p>"


def _times(n: int) -> str:
    return "once" if n == 1 else f"{format_count(n)} times"
