"""How much of the time is matched, in a sentence a candidate, and what the filters leave of it."""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.figures.names import clipped
from profiler_core.session.pair import Pair
from profiler_core.ui.fusion.words import OTHER_WORKLOADS
from profiler_core.units import format_count, format_duration, format_share

_LONGEST = 40  # characters of a run's name in a sentence


def show_coverage(found: Mapping[int, Pair]) -> None:
    """One sentence for each candidate that is drawn."""
    st.html("".join(f"<p class=fs-note>{coverage_sentence(one)}</p>" for one in found.values()))


def coverage_sentence(found: Pair) -> str:
    """As HTML: shares of both sides, number of groups, and what only one side has."""
    ledger = found.ledger
    baseline, candidate = (escape(clipped(label, _LONGEST)) for label in found.labels)
    n = sum(1 for _ in ledger.of_kind("matched"))
    text = (
        f"<b>{format_share(ledger.coverage_baseline)}</b> of {baseline}'s and "
        f"<b>{format_share(ledger.coverage_candidate)}</b> of {candidate}'s {found.time_word} is "
        f"placed, in {format_count(n)} group{'' if n == 1 else 's'}."
    )
    if ledger.compiled_only_ns:
        only = format_duration(ledger.compiled_only_step_ns)
        text += f" {only} per step is spent by {candidate} alone."
    if found.numbers.workloads_differ:
        text += f" {OTHER_WORKLOADS}"
    return text


def show_left(found: Pair, shown: Sequence[FoldedGroup]) -> None:
    """How many groups and how much of the step the filters leave."""
    ledger = found.ledger
    n = sum(len(one.groups) for one in shown)
    before = sum(one.baseline_ns for one in shown)
    after = sum(one.candidate_ns for one in shown)
    st.html(
        f"<p class=fs-note>The filters leave {format_count(n)} of "
        f"{format_count(len(ledger.groups))} groups of "
        f"{escape(clipped(found.labels[1], _LONGEST))}: "
        f"<b>{format_duration(before)} → {format_duration(after)}</b> per step.</p>"
    )
