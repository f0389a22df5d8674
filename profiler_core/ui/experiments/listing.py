"""The experiments of this machine, the newest first."""

import streamlit as st

from profiler_core import home
from profiler_core.analysis.wording.experiment import headline
from profiler_core.analysis.wording.sentence import plain
from profiler_core.dates import minute
from profiler_core.experiments.folder import experiments
from profiler_core.ui.page import section
from profiler_core.ui.problem_card import escape_markdown

_LISTED = 20


def experiment_list(current: str | None) -> None:
    """Draw the list, where there is any.

    Args:
        current: the experiment that the page shows already.
    """
    listed = list(experiments(home.runs_directory(), _LISTED))
    if not listed:
        return
    section("Experiments on this machine")
    for experiment in listed:
        key = experiment.experiment_id
        with st.container(gap="xxsmall", key=f"fs_try_row_{key}"):
            if st.button(
                escape_markdown(experiment.title), key=f"fs_try_{key}", type="tertiary",
                disabled=key == current,
            ):  # fmt: skip
                st.query_params["experiment"] = key
                st.rerun(scope="app")
            st.caption(f"{minute(experiment.created_at)} · {plain(headline(experiment))}")
