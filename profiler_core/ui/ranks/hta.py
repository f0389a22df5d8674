"""HolisticTraceAnalysis asked the same questions: its figures beside ours, each with its source."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.errors import FusionscopeError
from profiler_core.ranks.hta.answer import Figure, HtaAnalysis, HtaAnswer, Status
from profiler_core.ranks.hta.process import hta_answer
from profiler_core.ui.page import section
from profiler_core.ui.ranks.data import ChosenJob
from profiler_core.units import format_count, format_duration, format_share

_STATES: dict[Status, tuple[str, str]] = {
    "agrees": ("agrees with ours", "fs-live"),
    "differs": ("differs: ours stands", "fs-bad"),
    "alone": ("HTA alone", ""),
    "failed": ("ours alone", "fs-bad"),
    "absent": ("nothing to say", ""),
}
_MOST_FIGURES = 12


def show_hta(jobs: Sequence[ChosenJob]) -> None:
    """One section; the last run that is chosen, against the baseline where there is one."""
    last_job = jobs[-1]
    baseline = jobs[0] if len(jobs) > 1 else None
    section(
        "A second opinion: HolisticTraceAnalysis",
        "HTA's analyses run on our columns, not on its own reading of the file, which is wrong on "
        "compiled traces. They are over the whole trace, not per step.",
    )
    try:
        with st.spinner("Asking HTA …"):
            answer = _answer(last_job, baseline)
    except FusionscopeError as error:
        st.html(f"<p class=fs-note>{escape(error.problem)} {escape(error.remedy)}</p>")
        return
    ranks = ", ".join(str(rank) for rank in answer.ranks)
    source = answer.version or "not installed"
    st.html(
        f"<p class=fs-note>{escape(last_job.label)} · rank{'s' if len(answer.ranks) > 1 else ''} "
        f"{ranks} · source: {escape(source)}"
        + (f"<br>{escape(answer.problem)}" if answer.problem else "")
        + "</p>"
    )
    for analysis in answer.analyses:
        if analysis.status != "absent":
            _show(analysis)
    for absent in answer.analyses:
        if absent.status == "absent":
            st.html(f"<p class=fs-note>{escape(absent.title)}: {escape(absent.sentence)}</p>")


def show_counters(jobs: Sequence[ChosenJob]) -> None:
    """Hardware counters, of ranks that have nothing else (their profiler runs kernels singly)."""
    for chosen_job in jobs:
        try:
            answer = _answer(chosen_job, None)
        except FusionscopeError:
            continue  # why no rank can be read is on the page
        with_figures = [analysis for analysis in answer.analyses if analysis.figures]
        if with_figures:
            section(
                "Hardware counters", f"{chosen_job.label} · source: {answer.version or 'our own'}"
            )
            for analysis in with_figures:
                _show(analysis)


# ChosenJob cannot be hashed; what it was made of can.
def _answer(chosen_job: ChosenJob, baseline: ChosenJob | None) -> HtaAnswer:
    path = str(chosen_job.path)
    other = (str(baseline.path), baseline.rank_files) if baseline is not None else None
    return hta_answer(path, chosen_job.rank_files, other)


def _show(analysis: HtaAnalysis) -> None:
    word, kind = _STATES[analysis.status]
    with st.expander(f"{analysis.title} · {word}", type="compact"):
        st.html(
            f"<p class=fs-note><span class='fs-state {kind}'>{word}</span> "
            f"<span class=fs-mono>{escape(analysis.call)}</span> {escape(analysis.sentence)}<br>"
            f"{escape(analysis.meaning)}</p>"
            + (_table(analysis.figures[:_MOST_FIGURES]) if analysis.figures else "")
            + (
                f"<p class=fs-note>… and {len(analysis.figures) - _MOST_FIGURES} more.</p>"
                if len(analysis.figures) > _MOST_FIGURES
                else ""
            )
        )


def _table(figures: Sequence[Figure]) -> str:
    body = "".join(
        f"<tr><th scope=row>{escape(figure.label)}</th><td>{_text(figure, figure.hta)}</td>"
        f"<td>{_text(figure, figure.own)}</td></tr>"
        for figure in figures
    )
    return (
        "<div class=fs-scroll><table class=fs-t style='max-width:640px'><thead>"
        f"<tr><th></th><th>HTA</th><th>ours</th></tr></thead><tbody>{body}</tbody></table></div>"
    )


def _text(figure: Figure, value: float | None) -> str:
    if value is None:
        return "–"
    if figure.unit == "ns":
        return format_duration(value)
    if figure.unit == "share":
        return format_share(value)
    if figure.unit == "GB/s":
        return f"{value:.0f} GB/s"
    return f"rank {value:.0f}" if figure.unit == "rank" else format_count(value)
