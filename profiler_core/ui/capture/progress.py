"""One capture job on the page: what it does now, what it printed, how to stop it, how it ended."""

import time
from html import escape

import streamlit as st

from profiler_core.errors import BadInput
from profiler_core.jobs import service as jobs
from profiler_core.jobs.capture_progress import (
    FINAL_PHASES,
    CaptureProgress,
    PhaseProgress,
    PointProgress,
)
from profiler_core.jobs.service import Job
from profiler_core.store import history, library
from profiler_core.store.sweeps import key_of, place_of
from profiler_core.ui.choice import choose, query_of
from profiler_core.ui.jobs.stop import cancel_button
from profiler_core.ui.jobs.told import reason_of, show_log, show_logs_of_its_failed, show_problem
from profiler_core.ui.links import go_to
from profiler_core.ui.sign_in.guard import fragment
from profiler_core.ui.sweep.choose import query_of_sweep
from profiler_core.units import format_wait

_REFRESH_S = 1.0
_STATE_CLASS = {
    "running": "fs-live",
    "queued": "fs-live",
    "failed": "fs-bad",
    "interrupted": "fs-bad",
}
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
    "counters",
)


# What eager does there is no compiling.
_ROW = {"compiling": "first call"}


def job_panel(job_id: str) -> None:
    """Show the job and follow it; when it ends the whole page runs once more.

    Raises:
        BadInput: no such capture.
    """
    is_live = capture_of(job_id).is_live

    def follow() -> None:
        job = capture_of(job_id)
        if is_live and not job.is_live:
            # Stops the refreshing, and lets the list and the form see the end.
            st.rerun()
        _draw(job)

    # One key for both: the panel must not jump when the refreshing stops.
    fragment(follow, run_every=_REFRESH_S if is_live else None)()


def capture_of(job_id: str) -> Job:
    """The job of a capture: everybody may follow these; `jobs/told.py` says who sees the rest."""
    job = jobs.job(job_id)
    if job.spec.kind != "capture":
        raise BadInput(f"There is no capture {job_id}.", remedy="Choose one from the list.")
    return job


def state_chip(job: Job) -> str:
    """The state as a small label, in HTML."""
    text = "stopping" if job.is_live and job.cancel_requested else job.state
    return f'<span class="fs-state {_STATE_CLASS.get(job.state, "")}">{text}</span>'


def elapsed(job: Job) -> str:
    """How long it has run, or ran; how long it has waited while it waits."""
    start = job.started_at or job.spec.submitted_at
    end = job.ended_at or (time.time() if job.is_live else job.heartbeat_at or start)
    return format_wait(end - start)


def _draw(job: Job) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            owner = (
                f" · started by {escape(history.name_of(job.spec.owner))}" if job.spec.owner else ""
            )
            st.html(
                f"<div class=fs-job-head><b>{escape(job.spec.title)}</b> {state_chip(job)} "
                f"<span class=fs-note>{elapsed(job)}{owner}</span></div>",
                width="stretch",
            )
            if job.is_live:
                cancel_button(job)
        _sentence(job)
        if job.progress.points:
            st.html(_points(job.progress.points))
        if job.progress.phases:
            st.html(_phases(job.progress, is_live=job.is_live))
        show_log(job, is_open=job.state not in ("finished", "cancelled"))


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
        why = reason_of(job) or "Cancelled."
        kept_note = "What had been measured until then is kept with the runs."
        nothing_note = "Nothing had been measured yet."
        _note(f"{why} {kept_note if _comparison(job) else nothing_note}")
        _results(job)
    elif job.state == "finished":
        _results(job)
    elif job.state == "interrupted":
        show_problem(job, error="", remedy="Start it again.")
        _results(job)
    else:
        show_problem(
            job,
            error="The capture ended without an error message.",
            remedy="Read what it printed below, correct it in the form, and start it again.",
        )
        _results(job)


def _results(job: Job) -> None:
    """The way to the comparison, and a sentence for each variant that has none."""
    group = _comparison(job)
    if group is None:
        return
    sweep_point = place_of(group)
    if sweep_point is not None:
        if st.button("See the sweep", type="primary", key=f"fs_see_{job.job_id}"):
            query = query_of_sweep(key_of(group, sweep_point))
            go_to("sweep", query)
        return
    for entry in group.entries:
        error = entry.run.error if entry.run.status in ("failed", "lost") else None
        if error and error not in (job.error or ""):  # which stands above
            _note(error, before=entry.variant)
    show_logs_of_its_failed(job, group.entries)
    keys = tuple(entry.key for entry in group.entries if entry.is_readable)
    label = "See the comparison" if len(keys) > 1 else "See the run"
    if keys and st.button(label, type="primary", key=f"fs_see_{job.job_id}"):
        choose(keys)
        go_to("overview", query_of(keys))


def _comparison(job: Job) -> library.Comparable | None:
    return None if job.result is None else library.group_at(job.result)


_POINT_SIGN = {
    "finished": "<span class=fs-tick>✓</span>",
    "running": "<span class=fs-tick style='color:var(--fs-accent)'>▸</span>",
}
_POINT_WORD = {"partly": "a variant failed", "failed": "failed", "cancelled": "cancelled"}


def _points(points: tuple[PointProgress, ...]) -> str:
    """The points of a sweep that were begun, one line each; HTML."""
    lines = []
    for point in points:
        sign = _POINT_SIGN.get(point.state, "<span class='fs-tick fs-w'>✕</span>")
        end = time.time() if point.state == "running" else point.updated_at
        word = _POINT_WORD.get(point.state, "")
        lines.append(
            f"{sign}{escape(point.text)} <span class=fs-d>{format_wait(end - point.started_at)}"
            f"{f' · {word}' if word else ''}</span>"
        )
    return f"<p class=fs-note>{'<br>'.join(lines)}</p>"


def _phases(progress: CaptureProgress, *, is_live: bool) -> str:
    """A table: phases down, variants across; HTML."""
    variants: tuple[str | None, ...] = progress.variants or (None,)
    phase_names = {phase.phase for phase in progress.phases} - FINAL_PHASES
    rows = [phase for phase in _ORDER if phase in phase_names]
    rows += sorted(phase_names - set(_ORDER))  # a newer launcher may know more
    head = "".join(f"<th>{escape(variant or 'all variants')}</th>" for variant in variants)
    body = "".join(
        f"<tr><th>{escape(_ROW.get(name, name))}</th>"
        + "".join(f"<td>{_cell(progress, variant, name, is_live)}</td>" for variant in variants)
        + "</tr>"
        for name in rows
    )
    return (
        "<div class=fs-scroll><table class='fs-t fs-phases'>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(progress: CaptureProgress, variant: str | None, name: str, is_live: bool) -> str:
    # What concerns all variants stands in each column, unless one has a line of its own.
    reports = [p for p in progress.phases if p.phase == name and p.variant == variant]
    reports += [p for p in progress.phases if p.phase == name and p.variant is None]
    if not reports:
        return "<span class=fs-d>·</span>"
    phase = reports[0]
    goes_on = is_live and progress.goes_on(phase)
    ended_at = time.time() if goes_on else phase.ended_at
    sign = "<span class=fs-tick>✓</span>"
    if progress.stopped_in(variant) == phase:
        sign = "<span class='fs-tick fs-w'>✕</span>"
    elif goes_on:
        width = 100 * (phase.fraction or 0.0)
        sign = f"<span class=fs-bar><i style='width:{width:.0f}%'></i></span>"
    took = format_wait(ended_at - phase.started_at)
    return (
        f"{sign}<span class=fs-took>{took}</span><span class=fs-d>{_count(phase, goes_on)}</span>"
    )


def _count(phase: PhaseProgress, goes_on: bool) -> str:
    """Rounds or steps that are done; "" for a phase that counts none."""
    if phase.done is None:
        return ""
    if phase.phase == "timing" and not goes_on:
        # A cap on the time may end it before all rounds that were asked for.
        return f"{phase.done:g} round{'' if phase.done == 1 else 's'}"
    if phase.total:
        return f"{phase.done:g} of {phase.total:g}"
    if phase.phase == "warm-up":
        # It ends when the steps are steady: there is no total.
        return f"{phase.done:g} step{'' if phase.done == 1 else 's'}"
    return ""


def _note(text: str, *, before: str = "") -> None:
    lead = f"<b>{escape(before)}</b> " if before else ""
    st.html(f"<p class=fs-note>{lead}{escape(text)}</p>")
