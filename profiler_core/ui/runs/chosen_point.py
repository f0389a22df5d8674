"""The run behind a point of a trend: what it was, the way to it, its tags."""

from html import escape

import streamlit as st

from profiler_core.analysis.trend import TrendPoint, is_beyond_noise
from profiler_core.dates import minute
from profiler_core.errors import FusionscopeError
from profiler_core.figures.trend import format_metric
from profiler_core.model.history import RecordedRun
from profiler_core.store import history
from profiler_core.store.library import key_of_recorded
from profiler_core.ui.choice import query_of
from profiler_core.ui.links import href, page_link, plain_label
from profiler_core.ui.routes.run_zip import SCOPE as EXPORT
from profiler_core.ui.routes.signing import signed
from profiler_core.ui.runs.baseline import offer_baseline
from profiler_core.ui.sign_in.guard import who_may
from profiler_core.units import format_change

CHOSEN = "point"  # of the address


def show_chosen_point(point: TrendPoint, metric: str) -> None:
    """Facts and ways on, below its chart."""
    run = point.run
    sides = {side.run_id: side for side in history.runs_of([run.run_id, point.before_id or ""])}
    before = sides.get(point.before_id or "")
    with st.container(border=True, key="fs_point"):
        is_beyond = point.is_beyond_noise
        if is_beyond is None and metric == "step_time_ns" and before and run.run_id in sides:
            is_beyond = is_beyond_noise(before, sides[run.run_id])
        st.html(_facts(point, metric, is_beyond=is_beyond))
        with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
            if history.has_files(run):
                page_link("overview", "Open this run", query_of(_with_baseline(run)))
                token = signed(EXPORT, run.run_id)
                if before is not None and history.has_files(before):
                    keys = (key_of_recorded(before), key_of_recorded(run))
                    page_link("overview", "Compare with the run before", query_of(keys))
                address = escape(href("api/runs/export", {"token": token}))
                st.html(f'<a class=fs-link href="{address}" download>Download as .zip</a>')
            else:
                st.html(f"<p class=fs-note>{escape(_where_files_are(run))}</p>")
            _tags(run)
            offer_baseline({run.key: run.variant or run.name})


def _facts(point: TrendPoint, metric: str, *, is_beyond: bool | None) -> str:
    run = point.run
    facts = [f"<b>{escape(run.variant or run.name)}</b>", format_metric(metric, point.value)]
    if point.ratio is not None:
        change = f"{format_change(point.ratio)} against the run before"
        if is_beyond is not None:
            change += ", beyond the noise" if is_beyond else ", within the noise"
        facts.append(change)
    about = [minute(run.created_at)]
    about += [f"torch {run.torch}"] if run.torch else []
    about += [f"commit {run.git_commit[:10]}"] if run.git_commit else []
    about += [f"branch {run.git_branch}"] if run.git_branch else []
    about += [f"by {history.name_of(run.person)}"] if run.person else []
    about += [" ".join(f"#{tag}" for tag in run.tags)] if run.tags else []
    changed = "; ".join(f"{c.what}: {c.before} → {c.after}" for c in point.changes)
    html = f"<p class=fs-sub>{' · '.join(facts)}</p>"
    html += f"<p class=fs-note>{escape(' · '.join(about))}</p>"
    if changed:
        html += f"<p class=fs-note><b>Changed since the run before:</b> {escape(changed)}</p>"
    return html


def _with_baseline(run: RecordedRun) -> tuple[str, ...]:
    """A candidate is opened beside the baseline that it was measured against, if that is here."""
    key = key_of_recorded(run)
    if run.baseline_run_id is None:
        return (key,)
    try:
        baseline = history.run(run.baseline_run_id)
    except FusionscopeError:
        return (key,)
    return (key_of_recorded(baseline), key) if history.has_files(baseline) else (key,)


def _where_files_are(run: RecordedRun) -> str:
    if run.files_deleted_at is not None:
        return f"Its files were deleted on {run.files_deleted_at[:10]}; the numbers are kept."
    return f"Its files are not on this machine: they were recorded on {run.host or 'another one'}."


def _tags(run: RecordedRun) -> None:
    if who_may("mark") is None:
        return
    with st.popover("Tags", type="tertiary"):
        key = f"fs_tags_{run.run_id}"
        st.text_input(
            "Tags, separated by commas", value=", ".join(run.tags), key=key, max_chars=300,
            on_change=_set_tags, args=(run, key),
        )  # fmt: skip


def _set_tags(run: RecordedRun, key: str) -> None:
    who = who_may("mark")  # the role may have changed since the page was drawn
    if who is None:
        return
    words = [word.strip() for word in st.session_state[key].split(",")]
    tags = {word for word in words if word}
    try:
        if tags - set(run.tags):
            history.tag(run.run_id, *sorted(tags - set(run.tags)), person=who.person)
        if set(run.tags) - tags:
            history.untag(run.run_id, *sorted(set(run.tags) - tags), person=who.person)
    except FusionscopeError as error:
        st.toast(plain_label(f"{error.problem} {error.remedy}"))
