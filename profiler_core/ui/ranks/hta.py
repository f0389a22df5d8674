"""HolisticTraceAnalysis asked the same questions: its figures beside ours, each with its source."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.rows.table import Table, text_row
from profiler_core.errors import FusionscopeError
from profiler_core.markup import render
from profiler_core.ranks.hta.answer import HtaAnalysis, HtaAnswer, Status
from profiler_core.ranks.hta.process import hta_answer
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.ranks.data import ChosenJob
from profiler_core.ui.table import show_table

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
        show_notes([f"{error.problem} {error.remedy}"])
        return
    ranks = f"rank{'s' if len(answer.ranks) > 1 else ''} {', '.join(map(str, answer.ranks))}"
    source = answer.version or "not installed"
    show_notes([f"{last_job.label} · {ranks} · source: {source}", *filter(None, [answer.problem])])
    for analysis in answer.analyses:
        if analysis.status != "absent":
            _show(analysis)
    absent = [analysis for analysis in answer.analyses if analysis.status == "absent"]
    show_notes(f"{analysis.title}: {analysis.sentence}" for analysis in absent)


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
        st.html(render("page/hta.html", analysis=analysis, word=word, kind=kind))
        shown = analysis.figures[:_MOST_FIGURES]
        if shown:
            rows = tuple(text_row(figure.label, *figure.texts) for figure in shown)
            show_table(Table(("", "HTA", "ours"), rows), named=True, width_px=640)
        n_more = len(analysis.figures) - len(shown)
        show_notes([f"… and {n_more} more."] if n_more else [])
