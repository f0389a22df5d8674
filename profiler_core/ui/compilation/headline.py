"""The first thing on the page about compiling: what stands between this run and one graph."""

import streamlit as st

from profiler_core.analysis.wording.compilation import evidence, headline
from profiler_core.ui.candidate import close_item_of_other_run, tell_of
from profiler_core.ui.compilation.data import Compiled
from profiler_core.ui.headline import show_claim
from profiler_core.ui.links import plain_option
from profiler_core.ui.overview.headline import entry_facts

_RUN = "run"
_KEY = "fs_compiled"


def choose_compiled(runs: tuple[Compiled, ...], number: int) -> Compiled:
    """The run that the page is about; a choice only where there is one.

    A candidate is that which all pages tell of. The baseline has a parameter of its own, `run`, by
    its label; in links of earlier versions it names a candidate too.

    Args:
        runs: with logs; at least one.
        number: place in the comparison of the candidate that pages tell of.
    """
    labels = [run.label for run in runs]
    if len(runs) == 1:
        return runs[0]
    told = next((n for n, run in enumerate(runs) if run.number == number), 0)
    named = st.query_params.get(_RUN, "")
    shown = labels.index(named) if named in labels else told
    st.session_state[_KEY] = shown
    st.pills(
        "Run",
        range(len(runs)),
        format_func=lambda n: plain_option(labels[n]),
        key=_KEY,
        on_change=_show_picked,
        args=(runs,),
    )
    return runs[shown]


def _show_picked(runs: tuple[Compiled, ...]) -> None:
    picked = st.session_state[_KEY]
    if picked is None:
        return
    st.query_params.pop(_RUN, None)
    if runs[picked].number:
        tell_of(runs[picked].number - 1)
    else:
        close_item_of_other_run(0)
        st.query_params[_RUN] = runs[picked].label


def show_headline(compiled: Compiled) -> None:
    """Facts, one sentence, and what it rests on."""
    report = compiled.report
    facts = [*entry_facts(compiled.entry), compiled.label]
    lines = [*evidence(report), compiled.without_trace or ""]
    bad = bool(report.skips or report.limited)
    show_claim(facts, headline(report), lines, bad=bad)
