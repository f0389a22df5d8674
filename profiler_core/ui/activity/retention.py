"""What retention would delete now, rule by rule: a preview that deletes nothing."""

import streamlit as st

from profiler_core.dates import minute
from profiler_core.store import history
from profiler_core.store.history import Plan, Rules
from profiler_core.ui.fragments import show_fragments
from profiler_core.ui.page import section
from profiler_core.ui.runs.trash import days_in_trash
from profiler_core.ui.table import foreign_text
from profiler_core.units import format_bytes, format_count

_MOST = 200
_KINDS = {"capture": "Captures", "upload": "Uploads"}


def show_retention() -> None:
    """A button, and the preview below it; made only when asked for, since it looks at every run."""
    section(
        "Retention", "Which files the rules of settings.toml would move to the trash if run now."
    )
    rules = history.configured_rules()
    if rules == Rules():
        st.html(
            "<p class=fs-note>No rule is set, so nothing is deleted: keep_captures, keep_days and "
            "keep_uploads_days in settings.toml.</p>"
        )
        return
    if st.button("Preview", key="fs_retention", help="Deletes nothing."):
        _show(history.planned(rules))


def _show(plan: Plan) -> None:
    totals = history.totals(plan)
    if totals:
        st.dataframe(
            {
                "Of": [_KINDS[total.origin] for total in totals],
                "Rule": [total.rule for total in totals],
                "Captures or uploads": [format_count(total.n_captures) for total in totals],
                "Runs": [format_count(total.n_runs) for total in totals],
                "Files here": [format_bytes(total.n_bytes) for total in totals],
            },
            hide_index=True,
            height="content",
        )
    else:
        st.html("<p class=fs-note>Nothing would be deleted now.</p>")
    kept = "captures and uploads are kept although a rule takes them: a run in them is"
    if plan.n_marked == 1:
        kept = "capture or upload is kept although a rule takes it: a run in it is"
    sentences = [
        *plan.notes,
        *(
            [f"{plan.n_marked} {kept} tagged, a baseline, or part of a review."]
            if plan.n_marked
            else []
        ),
        "This happens when the history is brought up to date. The numbers are kept, and the files "
        f"can be put back for {days_in_trash()}.",
    ]
    show_fragments(f"<p class=fs-note>{sentence}</p>" for sentence in sentences)
    _show_experiments(plan)
    if not plan.removals:
        return
    removals = plan.removals[:_MOST]
    with st.expander(f"The {len(plan.removals)} runs, oldest first", type="compact"):
        st.dataframe(
            foreign_text(
                {
                    "Run": [removal.run.run_id for removal in removals],
                    "Workload": [removal.run.workload for removal in removals],
                    "Made": [minute(removal.run.created_at) for removal in removals],
                    "Why": [removal.reason for removal in removals],
                }
            ),
            hide_index=True,
        )
        if len(plan.removals) > _MOST:
            st.html(
                f"<p class=fs-note>The first {_MOST}. All of them: <span class=fs-mono>python -m "
                "profiler_core runs retention --dry-run</span></p>"
            )


def _show_experiments(plan: Plan) -> None:
    if not plan.experiments:
        return
    st.dataframe(
        foreign_text(
            {
                "Experiment": [old.title for old in plan.experiments],
                "Made": [minute(old.created_at) for old in plan.experiments],
                "Why": [old.reason for old in plan.experiments],
                "Files": [format_bytes(old.n_bytes) for old in plan.experiments],
            }
        ),
        hide_index=True,
        height="content",
    )
