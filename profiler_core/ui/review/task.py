"""Who looks after a finding, until when, and what became of it; the ways to change that."""

from datetime import UTC, date, datetime
from html import escape

import streamlit as st

from profiler_core.analysis.wording.difference import difference_sentence, prediction_sentence
from profiler_core.dates import day
from profiler_core.markup import with_units
from profiler_core.model.review import STATES, FindingTask, Review, ReviewFinding
from profiler_core.store import history
from profiler_core.store.history.review_tasks import LONGEST_OWNER
from profiler_core.ui.review.doing import told
from profiler_core.ui.review.remeasure import offer_remeasuring
from profiler_core.ui.review.words import STATE_WORDS, state_chip
from profiler_core.ui.review.writer import writer
from profiler_core.ui.sign_in.visitor import visitor


def show_task(review: Review, finding: ReviewFinding) -> None:
    """The line, with what it was closed with, and two small menus."""
    task = review.task_of(finding)
    st.html(_line(review, task))
    with st.container(horizontal=True, gap="medium"):
        _offer_assigning(review, finding, task)
        offer_remeasuring(review, finding, task)


def _line(review: Review, task: FindingTask | None) -> str:
    if task is None:
        return f"<p class=fs-rv-task>{state_chip('open')} <small>no owner yet</small></p>"
    owner = escape(review.name_of(task.owner)) if task.owner else "no owner yet"
    facts = [f"<b>{owner}</b>" if task.owner else owner]
    if task.due:
        is_late = task.state in history.UNFINISHED and task.due < _today().isoformat()
        late = " <span class=fs-late>overdue</span>" if is_late else ""
        facts.append(f"due {escape(day(task.due))}{late}")
    html = f"<p class=fs-rv-task>{state_chip(task.state)} <small>{' · '.join(facts)}</small></p>"
    if task.difference is not None:
        sentences = (difference_sentence(task.difference), prediction_sentence(task.difference))
        text = with_units(" ".join(filter(None, sentences)))
        html += f"<p class=fs-rv-task>{escape(text)}</p>"
    return html


def _offer_assigning(review: Review, finding: ReviewFinding, task: FindingTask | None) -> None:
    version = task.version if task else 0
    # With the version: the fields show what stands there now, and nothing typed for another.
    key = f"{finding.position}_{finding.key}_{version}"
    keys = {name: f"fs_rv_{name}_{key}" for name in ("owner", "somebody", "state", "due")}
    people = _people(review, task)
    with st.popover("Assign", type="tertiary", key=f"fs_rv_assign_{key}"):
        if people:
            st.selectbox(
                "Owner", people, index=0 if task and task.owner else None,
                format_func=lambda person: _shown(review, person), key=keys["owner"],
                placeholder="Nobody yet",
            )  # fmt: skip
        # A field of its own: a list that takes new names drops one that no Enter follows.
        st.text_input(
            "Somebody else" if people else "Owner", key=keys["somebody"],
            max_chars=LONGEST_OWNER, placeholder="A name",
        )  # fmt: skip
        st.segmented_control(
            "State", STATES, default=task.state if task else "open", required=True,
            format_func=STATE_WORDS.__getitem__, key=keys["state"],
        )  # fmt: skip
        due = date.fromisoformat(task.due) if task and task.due else None
        st.date_input("Due", value=due, key=keys["due"], format="YYYY-MM-DD")
        st.button(
            "Save", key=f"fs_rv_assign_do_{key}", on_click=_assign,
            args=(review.review_id, finding, version, keys),
        )  # fmt: skip


def _people(review: Review, task: FindingTask | None) -> list[str]:
    """The owner first, then whoever looks, then all others of this review."""
    owner = [task.owner] if task and task.owner else []
    others = sorted(filter(None, review.names), key=review.name_of)
    return list(dict.fromkeys([*owner, *filter(None, [writer()]), *others]))


def _shown(review: Review, person: str) -> str:
    who = visitor()
    if who is not None and person == who.person:
        return who.shown_name
    return review.name_of(person)


def _assign(review_id: str, finding: ReviewFinding, version: int, keys: dict[str, str]) -> None:
    due = st.session_state[keys["due"]]
    owner = st.session_state[keys["somebody"]].strip() or st.session_state.get(keys["owner"])
    with told("Saved."):
        history.assign_finding(
            review_id,
            finding.reference,
            version,
            owner=owner or "",
            state=st.session_state[keys["state"]],
            due=due.isoformat() if due else None,
            person=writer(),
        )


def _today() -> date:
    return datetime.now(UTC).date()
