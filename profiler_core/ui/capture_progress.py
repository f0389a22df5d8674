"""One capture job on the page: what it does now, what it printed, how to stop it, how it ended."""

import time
from html import escape

import streamlit as st

from profiler_core.capture import jobs
from profiler_core.capture.job_progress import FINAL_PHASES, CaptureProgress, PhaseProgress
from profiler_core.capture.jobs import Job
from profiler_core.store import library
from profiler_core.ui.choice import query_of
from profiler_core.ui.links import page_link
from profiler_core.ui.problem_card import problem_card
from profiler_core.units import format_duration

_REFRESH_S = 1.0
_LOG_LINES = 15
_STATE_CLASS = {"running": "fs-live", "queued": "fs-live", "failed": "fs-bad", "lost": "fs-bad"}
_ORDER = (
    "queued",
    "starting",
    "compiling",
    "warm-up",
    "timing",
    "telemetry",
    "profiling",
    "stacks",
    "memory",
    "numerics",
    "warm compile",
)


def job_panel(job_id: str) -> None:
    """Show the job and follow it; when it ends the whole page runs once more.

    Raises:
        BadInput: no such job.
    """
    is_live = jobs.job(job_id).is_live

    def follow() -> None:
        job = jobs.job(job_id)
        if is_live and not job.is_live:
            # Stops the refreshing, and lets the list and the form see the end.
            st.rerun()
        _draw(job)

    # One key for both: the panel must not jump when the refreshing stops.
    st.fragment(follow, run_every=_REFRESH_S if is_live else None)()


def state_chip(job: Job) -> str:
    """The state as a small label, in HTML."""
    text = "stopping" if job.is_live and job.cancel_requested else job.state
    return f'<span class="fs-state {_STATE_CLASS.get(job.state, "")}">{text}</span>'


def elapsed(job: Job) -> str:
    """How long it has run, or ran; how long it has waited while it waits."""
    start = job.started_at or job.spec.submitted_at
    end = job.ended_at or (time.time() if job.is_live else job.heartbeat_at or start)
    return _seconds(end - start)


def _draw(job: Job) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            owner = f" · started by {escape(job.spec.owner)}" if job.spec.owner else ""
            st.html(
                f"<div class=fs-job-head><b>{escape(job.spec.title)}</b> {state_chip(job)} "
                f"<span class=fs-note>{elapsed(job)}{owner}</span></div>",
                width="stretch",
            )
            if job.is_live:
                st.button(
                    "Cancel",
                    key=f"fs_cancel_{job.job_id}",
                    on_click=jobs.cancel,
                    args=(job.job_id,),
                    disabled=job.cancel_requested,
                )
        _sentence(job)
        if job.progress.phases:
            st.html(_phases(job.progress, is_live=job.is_live))
        _log(job)


def _sentence(job: Job) -> None:
    """What a person has to know at this state, and what can be done next."""
    if job.is_live and job.cancel_requested:
        _note("Stopping: processes end and the device is freed. This takes some seconds.")
    elif job.state == "queued":
        _note(job.waiting_for or "Waits for its turn.")
    elif job.state == "running":
        latest = job.progress.latest
        _note(latest.text if latest and latest.text else "Starting the processes.")
    elif job.state == "cancelled":
        _note("Cancelled. What had been measured until then is kept with the runs.")
        _results(job)
    elif job.state == "finished":
        _results(job)
    else:
        problem_card(
            job.error or "The capture ended without a word.",
            "Read the last lines below, correct it in the form, and start it again.",
        )
        _results(job)


def _results(job: Job) -> None:
    """The way to the comparison, and a sentence for each variant that has none."""
    group = _comparison(job)
    if group is None:
        return
    for entry in group.entries:
        if entry.run.status in ("failed", "lost") and entry.run.error:
            _note(entry.run.error, before=entry.variant)
    readable = [entry for entry in group.entries if entry.is_readable]
    if readable:
        label = "See the comparison" if len(readable) > 1 else "See the run"
        page_link("overview", label, query_of(tuple(entry.key for entry in readable)))


def _comparison(job: Job) -> library.Comparable | None:
    if job.result is None:
        return None
    return next((g for g in library.comparisons() if g.path == job.result), None)


def _phases(progress: CaptureProgress, *, is_live: bool) -> str:
    """A table: phases down, variants across; HTML."""
    variants: tuple[str | None, ...] = progress.variants or (None,)
    met = {phase.phase for phase in progress.phases} - FINAL_PHASES
    rows = [phase for phase in _ORDER if phase in met]
    rows += sorted(met - set(_ORDER))  # a newer launcher may know more
    now = _now(progress) if is_live else None
    head = "".join(f"<th>{escape(variant or 'all variants')}</th>" for variant in variants)
    body = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(f"<td>{_cell(_find(progress, variant, name), now)}</td>" for variant in variants)
        + "</tr>"
        for name in rows
    )
    return (
        f"{_STYLE}<div class=fs-scroll><table class='fs-t fs-phases'>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _find(progress: CaptureProgress, variant: str | None, name: str) -> PhaseProgress | None:
    """The phase of this variant; what concerns all variants stands in each column."""
    for phase in progress.phases:
        if phase.phase == name and phase.variant in (variant, None):
            return phase
    return None


def _now(progress: CaptureProgress) -> frozenset[tuple[str | None, str]]:
    """The phases that go on: the last one met of each variant, unless it is complete."""
    last: dict[str | None, PhaseProgress] = {}
    for phase in progress.phases:
        known = last.get(phase.variant)
        if known is None or phase.updated_at >= known.updated_at:
            last[phase.variant] = phase
    return frozenset(
        (phase.variant, phase.phase) for phase in last.values() if phase.fraction != 1.0
    )


def _cell(phase: PhaseProgress | None, now: frozenset[tuple[str | None, str]] | None) -> str:
    if phase is None:
        return "<span class=fs-d>·</span>"
    goes_on = now is not None and (phase.variant, phase.phase) in now
    took = (time.time() if goes_on else phase.updated_at) - phase.started_at
    count = ""
    if phase.total and phase.done is not None:
        count = f"{phase.done:g} / {phase.total:g}"
    bar = ""
    if goes_on:
        width = 100 * (phase.fraction or 0.0)
        bar = f"<span class=fs-bar><i style='width:{width:.0f}%'></i></span>"
    mark = "" if goes_on else "✓"
    return (
        f"{bar}{count} <span class=fs-d>{_seconds(took)}</span> <span class=fs-tick>{mark}</span>"
    )


def _log(job: Job) -> None:
    tail = jobs.log_tail(job.job_id, _LOG_LINES)
    if tail:
        st.caption("What it printed last" if job.is_live else "The end of what it printed")
        st.code(tail, language=None, height=190, wrap_lines=True)


def _note(text: str, *, before: str = "") -> None:
    lead = f"<b>{escape(before)}</b> " if before else ""
    st.html(f"<p class=fs-note>{lead}{escape(text)}</p>")


def _seconds(seconds: float) -> str:
    if seconds >= 60:
        return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
    return format_duration(max(0.0, seconds) * 1e9) if seconds >= 0.05 else "0 s"


_STYLE = """<style>
.fs-phases { width:auto; min-width:46%; }
.fs-phases td { min-width:15em; padding-top:4px; padding-bottom:4px; }
.fs-phases tbody th, .fs-phases td { font-size:13px; }
.fs-tick { color:var(--fs-better); display:inline-block; width:1em; text-align:center; }
.fs-bar { display:inline-block; width:110px; height:6px; border-radius:3px; overflow:hidden;
  background:var(--fs-line); margin-right:10px; vertical-align:2px; }
.fs-bar i { display:block; height:100%; background:var(--fs-accent); }
</style>"""
