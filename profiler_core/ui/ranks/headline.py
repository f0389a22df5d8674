"""The first thing on the page: who waits for whom, in one sentence."""

import streamlit as st

from profiler_core.analysis.ranks.claim import Waiting, claim_of
from profiler_core.analysis.ranks.comparison import overlap_share
from profiler_core.analysis.wording.ranks import (
    evidence,
    headline,
    slow_clock,
    slowest_link,
    without_profiler,
)
from profiler_core.analysis.wording.sentence import Phrase, counted, listed, of_run
from profiler_core.ui.headline import show_claim
from profiler_core.ui.notes import show_notes
from profiler_core.ui.overview.headline import entry_facts
from profiler_core.ui.ranks.data import ChosenJob, ChosenJobs
from profiler_core.ui.ranks.hta import show_counters
from profiler_core.units import format_change_between, format_duration, format_share


def show_headline(chosen: ChosenJobs) -> None:
    """Facts, the sentence on the baseline (or on all, where it is the same), and the evidence."""
    jobs = chosen.jobs
    facts = [*entry_facts(jobs[0].entry), counted(len(jobs[0].job.ranks), "rank")]
    bad = any(claim_of(chosen_job.job).waiting is Waiting.FOR_RANK for chosen_job in jobs)
    lines = []
    for chosen_job in jobs:
        job = chosen_job.job
        texts = (evidence(job), slow_clock(job.critical), without_profiler(job), slowest_link(job))
        start = f"{chosen_job.label}: " if len(jobs) > 1 else ""
        lines += [f"{start}{text}" for text in texts if text]
    if len(jobs) > 1:
        lines.append(_change(jobs[0], jobs[1]))
    show_claim(facts, _title(jobs), lines, bad=bad)


def _title(jobs: tuple[ChosenJob, ...]) -> Phrase:
    """One sentence: a claim that all jobs share, else one for each."""
    first, *others = (headline(chosen_job.job) for chosen_job in jobs)
    labels = [chosen_job.label for chosen_job in jobs]
    if not others:
        return (*first, ".")
    if all(other == first for other in others):
        return (*first, f", in {listed(labels)} alike.")
    title: Phrase = ()
    for position, (label, chosen_job) in enumerate(zip(labels, jobs, strict=True)):
        title += headline(chosen_job.job, f"; in {label}, " if position else f"In {label}, ")
    return (*title, ".")


def _change(first: ChosenJob, second: ChosenJob) -> str:
    a, b = first.job.step_ns, second.job.step_ns
    if not a or not b:
        return ""
    text = (
        f"A profiled step takes {format_duration(b)} in {second.label} and {format_duration(a)} "
        f"in {first.label} ({format_change_between(a, b)})"
    )
    hidden = overlap_share(first.job), overlap_share(second.job)
    if hidden[0] is not None and hidden[1] is not None:
        text += (
            f"; {format_share(hidden[1])} of the communication hides behind compute, "
            f"{format_share(hidden[0])} in {first.label}"
        )
    return f"{text}."


def show_unreadable(chosen: ChosenJobs) -> None:
    """No rank of any job has times of GPU work: why not, and the counters that may be there."""
    st.html("<h1 class=fs-verdict>No rank has GPU times to show</h1>")
    show_notes(
        of_run(chosen_job.label, note)
        for chosen_job in chosen.jobs
        for note in chosen_job.job.notes
    )
    show_counters(chosen.jobs)
