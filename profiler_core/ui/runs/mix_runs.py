"""Putting a comparison together from runs of different captures."""

import streamlit as st

from profiler_core.ui.choice import choose, query_of
from profiler_core.ui.links import go_to
from profiler_core.ui.run_picker import line_label, offered_lines, unique_labels

_CANDIDATES_PX = 128  # its label, two runs and the line to type in


def mix_runs() -> None:
    """Two fields and a button; last week's run against today's, say.

    The newest captures are offered; an older run comes in through the page's list.
    """
    names = unique_labels(
        {
            run.key: f"{line_label(line)} · {run.label}"
            for line in offered_lines()
            for run in line.runs
        }
    )
    # With keys: without one a field with other options is another field, and empty, and a capture
    # that starts, or a baseline left out of the candidates, changes the options.
    baseline = st.selectbox(
        "Baseline", list(names), index=None, format_func=names.__getitem__,
        key="fs_mix_baseline", placeholder="any run",
    )  # fmt: skip
    # The field grows while it has the focus; in a box of fixed height the button below stays
    # where it is. It would else move away from under the click that takes the focus.
    with st.container(height=_CANDIDATES_PX, border=False):
        candidates = st.multiselect(
            "Candidates",
            [name for name in names if name != baseline],
            format_func=names.__getitem__,
            key="fs_mix_candidates",
            placeholder="one or more runs",
        )
    if st.button("Compare", disabled=baseline is None or not candidates) and baseline:
        keys = (baseline, *candidates)
        choose(keys)
        go_to("overview", query_of(keys))
