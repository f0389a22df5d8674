"""How much of the time is matched, in a sentence a candidate, and what the filters leave of it."""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.wording.groups import OTHER_WORKLOADS, how_ledger_knows
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.session.pair import Pair
from profiler_core.ui.fragments import show_fragments
from profiler_core.units import format_count, format_duration, format_share

_LONGEST = 40  # characters of a run's name in a sentence


def show_coverage(pairs: Mapping[int, Pair]) -> None:
    """One sentence for each candidate that is drawn."""
    show_fragments(f"<p class=fs-note>{coverage_sentence(pair)}</p>" for pair in pairs.values())


def coverage_sentence(pair: Pair) -> str:
    """As HTML: shares of both sides, number of groups, and what only one side has."""
    ledger = pair.ledger
    baseline, candidate = (escape(clipped(label, _LONGEST)) for label in pair.labels)
    n_all = len(ledger.groups)
    of_all = f" of {format_count(n_all)}" if ledger.n_placed < n_all else ""
    text = (
        f"<b>{format_share(ledger.coverage_baseline)}</b> of the {pair.time_word} of {baseline} "
        f"and <b>{format_share(ledger.coverage_candidate)}</b> of that of {candidate} is placed, "
        f"in {format_count(ledger.n_placed)}{of_all} group{'' if n_all == 1 else 's'}."
    )
    text += f" {how_ledger_knows(ledger)}"
    if ledger.compiled_only_ns:
        only = format_duration(ledger.compiled_only_step_ns)
        text += f" {only} {ledger.span} is spent by {candidate} alone."
    for note in pair.precision_notes:
        text += f" {escape(note)}"
    if pair.numbers.workloads_differ:
        text += f" {OTHER_WORKLOADS}"
    return text


def show_left(pair: Pair, shown: Sequence[FoldedGroup]) -> None:
    """How many groups and how much of the step the filters leave."""
    ledger = pair.ledger
    n = sum(len(group.groups) for group in shown)
    before = sum(group.baseline_ns for group in shown)
    after = sum(group.candidate_ns for group in shown)
    st.html(
        f"<p class=fs-note>Shown: {format_count(n)} of "
        f"{format_count(len(ledger.groups))} groups of "
        f"{escape(clipped(pair.labels[1], _LONGEST))}: "
        f"<b>{format_duration(before)} → {format_duration(after)}</b> {ledger.span}.</p>"
    )
