"""Who stands behind the verdict."""

from html import escape
from typing import cast

import streamlit as st

from profiler_core.dates import short
from profiler_core.model.review import VERDICTS, Review, ReviewVerdict, SignOff
from profiler_core.store import history
from profiler_core.ui.fragments import show_fragments
from profiler_core.ui.page import section
from profiler_core.ui.review.doing import told
from profiler_core.ui.review.words import WORDS, verdict_chip
from profiler_core.ui.review.writer import writer

_WORD, _NOTE = "fs_rv_sign_word", "fs_rv_sign_note"


def show_sign_offs(review: Review) -> None:
    """The names, and the place for one's own."""
    section("Signed by")
    if review.sign_offs:
        show_fragments(_line(review, sign_off) for sign_off in review.sign_offs)
    else:
        st.html("<p class=fs-note>Nobody yet.</p>")
    own_sign_off = next(
        (sign_off for sign_off in review.sign_offs if sign_off.person == writer()), None
    )
    with st.popover("Sign again" if own_sign_off else "Sign off", key="fs_rv_sign"):
        st.html(
            f"<p class=fs-note>As <b>{escape(history.name_of(writer()) or 'nobody yet')}</b></p>"
        )
        st.pills(
            "What you sign", VERDICTS,
            default=own_sign_off.decision if own_sign_off else review.verdict,
            format_func=WORDS.__getitem__, key=_WORD, label_visibility="collapsed",
        )  # fmt: skip
        st.text_input("A word with it", key=_NOTE, max_chars=500, placeholder="May stay empty")
        st.button("Sign", type="primary", key="fs_rv_do_sign", on_click=_sign, args=(review,))


def _line(review: Review, sign_off: SignOff) -> str:
    note = (
        f"{sign_off.note} · {short(sign_off.signed_at)}"
        if sign_off.note
        else short(sign_off.signed_at)
    )
    name = escape(review.name_of(sign_off.person))
    return (
        f"<div class=fs-rv-sign><b>{name}</b>{verdict_chip(sign_off.decision)}"
        f"<small>{escape(note)}</small></div>"
    )


def _sign(review: Review) -> None:
    with told("Signed."):
        history.sign_off(
            review.review_id,
            cast("ReviewVerdict", st.session_state.get(_WORD) or ""),  # checked by the history
            person=writer(),
            note=st.session_state.get(_NOTE, ""),
        )
