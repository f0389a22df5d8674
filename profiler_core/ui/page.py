"""What every page has in common: a heading, the style sheet, and how an error looks."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException

from profiler_core.errors import FusionscopeError
from profiler_core.markup import prose
from profiler_core.page_specs import PageSpec
from profiler_core.store.catalogue import one_look
from profiler_core.ui.cut_traces import CutTraces, show_what_is_left
from profiler_core.ui.dossier.panel import dossier_beside
from profiler_core.ui.metrics.counted import PageRun, counted_page_run
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.search.box import search_box
from profiler_core.ui.sign_in.guard import let_in
from profiler_core.ui.style import follow_mode, write_style_sheet
from profiler_core.ui.visit import begin_visit

_log = logging.getLogger(__name__)


@contextmanager
def page(spec: PageSpec, *, writes_headline: bool = False) -> Iterator["FirstLine"]:
    """Head the page, and show a `FusionscopeError` as a problem and a remedy, not a traceback.

    Works with and without the entry script around it: Streamlit may run a page file alone when
    a cold link is opened.

    Args:
        spec: as the page declares itself.
        writes_headline: the page does so this time, though it does not always.

    Yields:
        The line below the title: the page's question, until the page answers it.
    """
    st.set_page_config(page_title=f"{spec.title} · Fusionscope", layout="wide")
    begin_visit(spec.title)
    who = let_in()  # again: a cold link may run a page without the entry script
    write_style_sheet()
    follow_mode()
    search_box(spec)
    first_line = FirstLine()
    if not (spec.writes_headline or writes_headline):
        first_line = heading(spec.title, spec.question)
    if spec.for_admins and not who.may("audit"):
        st.html("<p class=fs-note>Only an admin of this server sees this page.</p>")
        st.stop()
    with counted_page_run(spec.title) as run, _problems_as_card(spec, run, first_line), one_look():
        if not spec.has_dossier or spec.draws_dossier:
            yield first_line
            return
        try:
            yield first_line
        except (StopException, FusionscopeError):
            dossier_beside()
            raise
        dossier_beside()


@contextmanager
def _problems_as_card(spec: PageSpec, run: PageRun, first_line: "FirstLine") -> Iterator[None]:
    try:
        yield
    except FusionscopeError as error:
        run.outcome = "problem"
        first_line.drop_question()
        _log.info(
            "Page %s shows a problem.", spec.title,
            extra={"problem": error.problem, "remedy": error.remedy},
        )  # fmt: skip
        problem_card(error.problem, error.remedy)
        if isinstance(error, CutTraces):
            show_what_is_left()


@dataclass
class FirstLine:
    """The line below the title; none where the page writes its headline itself."""

    place: DeltaGenerator | None = None
    is_answer: bool = False  # else the page's question stands there

    def answer(self, sentence: str) -> None:
        """Put the answer for the chosen runs in place of the question; "" leaves it."""
        if self.place is not None and sentence:
            self.place.html(f"<p class=fs-question>{prose(sentence)}</p>")
            self.is_answer = True

    def drop_question(self) -> None:
        """Leave the line out where a card below says why there is no answer."""
        if self.place is not None and not self.is_answer:
            self.place.empty()


def heading(title: str, question: str) -> FirstLine:
    """The title and, below it, the question that the page answers."""
    st.html(f"<h1 class=fs-title>{escape(title)}</h1>")
    place = st.empty()
    place.html(f"<p class=fs-question>{escape(question)}</p>")
    return FirstLine(place)


@contextmanager
def loading(*, height_px: int) -> Iterator[None]:
    """A grey shape where the page will be, while its runs are read.

    In a place of its own: the progress of a first reading is drawn in it, and would move all that
    follows by one on the next run, which closes open menus and draws every chart anew.
    """
    with st.container(), st.skeleton(height=height_px):
        yield


def section(title: str, note: str = "") -> None:
    """A heading inside a page, with an optional sentence below it."""
    below = f"<p class=fs-question>{escape(note)}</p>" if note else ""
    st.html(f"<h2 class=fs-h>{escape(title)}</h2>{below}")


def two_columns(*, left_px: int) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Two places beside each other; below each other where the window has no room for both.

    Args:
        left_px: the width below which the left one does not shrink.
    """
    st.html(
        "<style>.st-key-fs_pair > div:has(> .st-key-fs_left) "
        f"{{ flex-basis:{left_px}px; min-width:min({left_px}px,100%); }}</style>"
    )
    with st.container(key="fs_pair", horizontal=True):
        return st.container(key="fs_left"), st.container(key="fs_right")
