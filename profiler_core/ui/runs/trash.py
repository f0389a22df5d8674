"""What was deleted: undone right away, or put back later from a list."""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from profiler_core.dates import minute
from profiler_core.errors import FusionscopeError
from profiler_core.settings import settings
from profiler_core.store import history
from profiler_core.store.history import Deletion
from profiler_core.ui.links import plain_label
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.sign_in.guard import who_may
from profiler_core.ui.sign_in.visitor import Visitor, visitor
from profiler_core.units import format_bytes

_LAST = "fs_last_deletion"  # (its id, its title), until something else is deleted or put back
_OUTCOME = "fs_trash_outcome"
_MOST = 25


def days_in_trash() -> str:
    """For how long something can be put back: "30 days"."""
    n_days = settings().keep_trash_days
    return f"{n_days} day{'' if n_days == 1 else 's'}"


def offer_undo(deletion_id: str, title: str) -> None:
    """From the next run on, offer to undo this deletion."""
    st.session_state[_LAST] = (deletion_id, title)


def report(text: str) -> None:
    """Say this once, in the next run."""
    st.session_state[_OUTCOME] = text


def show_last_deletion() -> None:
    """What became of the last click, and a button that undoes the last deletion."""
    outcome = st.session_state.pop(_OUTCOME, None)
    if outcome:
        st.toast(plain_label(outcome))
    last = st.session_state.get(_LAST)
    if last is None:
        return
    deletion_id, title = last
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        st.html(f"<p class=fs-note>Deleted <b>{escape(title)}</b>.</p>", width="content")
        st.button(
            "Undo", type="tertiary", key="fs_undo", on_click=_act, args=("restore", deletion_id)
        )


def show_trash() -> None:
    """What this person may put back, the newest first; nothing where there is nothing."""
    who = visitor()
    try:
        deletions = [d for d in history.trash_contents() if may_restore(who, d)]
        names = history.names_of(deletion.person for deletion in deletions)
    except FusionscopeError as error:
        problem_card(error.problem, error.remedy)
        return
    if not deletions:
        return
    n_bytes = format_bytes(sum(deletion.n_bytes for deletion in deletions))
    with st.expander(f"Deleted ({len(deletions)}, {n_bytes})", type="compact"):
        st.html(
            f"<p class=fs-note>Kept for {days_in_trash()}. Until then they still use disk "
            "space and count towards their owner's quota.</p>"
        )
        _rows(deletions[:_MOST], names)
        if len(deletions) > _MOST:
            st.html(
                f"<p class=fs-note>{len(deletions) - _MOST} older ones: <span class=fs-mono>"
                "python -m profiler_core runs trash</span></p>"
            )


def may_restore(who: Visitor | None, deletion: Deletion) -> bool:
    """Whoever deleted it, as long as that person may upload, and an admin."""
    return who is not None and who.may_remove(deletion.person, "upload")


def _rows(deletions: Sequence[Deletion], names: Mapping[str, str]) -> None:
    for deletion in deletions:
        facts = [
            _runs_text(len(deletion.run_ids)),
            format_bytes(deletion.n_bytes),
            minute(deletion.deleted_at),
            f"by {names[deletion.person]}",
            deletion.reason,
            "" if deletion.kind == "runs" else "its numbers stayed",
        ]
        with st.container(
            key=f"fs_deleted_{deletion.deletion_id}",
            horizontal=True,
            gap="medium",
            vertical_alignment="center",
        ):
            st.html(
                f"<p class=fs-note><b>{escape(deletion.title)}</b><br>"
                f"{escape(' · '.join(filter(None, facts)))}</p>"
            )
            st.button(
                "Restore",
                type="tertiary",
                key=f"fs_restore_{deletion.deletion_id}",
                on_click=_act,
                args=("restore", deletion.deletion_id),
            )
            with st.container(width="content"), st.popover("Delete for good", type="tertiary"):
                st.html("<p class=fs-note>After that it cannot be restored.</p>")
                st.button(
                    "Delete for good",
                    key=f"fs_empty_{deletion.deletion_id}",
                    on_click=_act,
                    args=("empty", deletion.deletion_id),
                )


def _runs_text(n: int) -> str:
    """Empty for what was deleted before it was recorded."""
    return f"{n} run{'' if n == 1 else 's'}" if n else ""


def _act(deed: str, deletion_id: str) -> None:
    who = who_may("look")
    if st.session_state.get(_LAST, ("",))[0] == deletion_id:
        del st.session_state[_LAST]
    try:
        deletion = history.in_trash(deletion_id)
        if who is None or not may_restore(who, deletion):  # the role may have changed meanwhile
            return
        if deed == "restore":
            history.restore(deletion_id, person=who.person)
            report(f"{deletion.title} is back.")
        else:
            history.empty(deletion_id, person=who.person)
            report(f"{deletion.title} was deleted for good.")
    except FusionscopeError as error:
        report(f"{error.problem} {error.remedy}")
