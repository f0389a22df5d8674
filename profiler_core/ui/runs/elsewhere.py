"""Captures of other machines: in the shared history, with their files among the artifacts."""

from collections import defaultdict
from html import escape

import streamlit as st

from profiler_core.dates import minute
from profiler_core.errors import FusionscopeError
from profiler_core.home import home_directory
from profiler_core.model.history import ListedRun
from profiler_core.session.cache import SHARED
from profiler_core.settings import settings
from profiler_core.store import history
from profiler_core.store.library import key_of_recorded
from profiler_core.ui.choice import query_of
from profiler_core.ui.links import page_link, plain_label
from profiler_core.ui.page import section
from profiler_core.ui.problem_card import problem_card

_MOST = 25
_LATEST_RUNS = 500  # of the history; what is older is found on Trends


def show_captures_elsewhere() -> None:
    """A section of links; nothing without a shared history or artifacts."""
    server_settings = settings()
    if server_settings.database_url is None and server_settings.artifacts_url is None:
        return
    try:
        # A list is read, and folders looked for, once after each change.
        key = ("elsewhere", *history.version(), home_directory(), server_settings.artifacts_url)
        captures = SHARED.get(key, _captures)
    except FusionscopeError as error:
        problem_card(error.problem, error.remedy)
        return
    if not captures:
        return
    section("On other machines", "Opening one fetches its files.")
    for members in captures[:_MOST]:
        keys = tuple(key_of_recorded(run) for run in members)
        first = members[0]
        facts = [
            ", ".join(run.variant for run in members),
            first.gpu,
            first.host,
            history.name_of(first.person),
        ]
        with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
            name = first.workload or first.name or "unnamed"
            page_link("overview", plain_label(name), query_of(keys))
            said_of_it = " · ".join(fact for fact in (*facts, minute(first.created_at)) if fact)
            st.html(f"<p class=fs-note>{escape(said_of_it)}</p>")
    if len(captures) > _MOST:
        st.html("<p class=fs-note>Older ones are on Trends.</p>")


def _captures() -> list[tuple[ListedRun, ...]]:
    """The newest few, those none of whose runs lies here; in each the baseline first."""
    groups: dict[str, list[ListedRun]] = defaultdict(list)
    for run in history.listed_runs(limit=_LATEST_RUNS):
        if key_of_recorded(run) != run.key and history.has_files(run):
            groups[run.capture_id].append(run)
    return [
        tuple(sorted(members, key=lambda run: (run.role != "baseline", run.variant)))
        for members in list(groups.values())[: _MOST + 1]
    ]
