"""The first thing on the page about compiling: what stands between this run and one graph."""

import streamlit as st

from profiler_core.analysis.wording.compilation import evidence, headline
from profiler_core.ui.address import in_address
from profiler_core.ui.compilation.data import Compiled
from profiler_core.ui.headline import show_claim
from profiler_core.ui.links import plain_option
from profiler_core.ui.overview.headline import entry_facts


def choose_compiled(runs: tuple[Compiled, ...], number: int) -> Compiled:
    """The run that the page is about; a choice only where there is one. Kept in the URL.

    Args:
        runs: with logs; at least one.
        number: place in the comparison of the run that is shown until another one is picked.
    """
    labels = [run.label for run in runs]
    if len(runs) == 1:
        return runs[0]
    first = next((n for n, run in enumerate(runs) if run.number == number), 0)
    label = st.pills(
        "Run", labels, default=labels[first], format_func=plain_option,
        **in_address("run", labels[first]),
    )  # fmt: skip
    return runs[labels.index(label) if label in labels else first]


def show_headline(compiled: Compiled) -> None:
    """Facts, one sentence, and what it rests on."""
    report = compiled.report
    facts = [*entry_facts(compiled.entry), compiled.label]
    lines = [*evidence(report), compiled.without_trace or ""]
    bad = bool(report.skips or report.limited)
    show_claim(facts, headline(report), lines, bad=bad)
