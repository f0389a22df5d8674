"""The first thing on the page: who waits for whom, in one sentence."""

import re
from html import escape

import streamlit as st

from profiler_core.analysis.ranks.comparison import overlap_share
from profiler_core.analysis.ranks.words import evidence, headline
from profiler_core.ui.overview.headline import entry_facts
from profiler_core.ui.ranks.data import Seen, SeenJob
from profiler_core.units import format_change, format_duration, format_share

_RANK = re.compile(r"(?<=for )rank \d+")


def show_headline(chosen: Seen) -> None:
    """Facts, the sentence on the baseline (or on all, where it is the same), and the evidence."""
    jobs = chosen.jobs
    facts = [*entry_facts(jobs[0].entry), f"{len(jobs[0].job.ranks)} ranks"]
    sentences = [headline(job_seen.job) for job_seen in jobs]
    bad = " fs-worse" if any(job_seen.job.straggler for job_seen in jobs) else ""
    if len(set(sentences)) == 1:
        title = _emphasised(sentences[0])
        if len(jobs) > 1:
            title += f", {_with(jobs)}"
    else:
        title = "; ".join(
            f"in {escape(job_seen.label)}, {_emphasised(sentence[:1].lower() + sentence[1:])}"
            for job_seen, sentence in zip(jobs, sentences, strict=True)
        )
        title = title[:1].upper() + title[1:]
    lines = []
    for job_seen in jobs:
        text = evidence(job_seen.job)
        if text:
            lines.append(f"{job_seen.label}: {text}" if len(jobs) > 1 else text)
    if len(jobs) > 1:
        lines.append(_change(jobs[0], jobs[1]))
    st.html(
        f"<p class=fs-eyebrow>{' · '.join(escape(fact) for fact in facts)}</p>"
        f"<h1 class='fs-verdict{bad}'>{title}</h1>"
        + "".join(f"<p class=fs-sub>{escape(line)}</p>" for line in lines if line)
    )


def _with(jobs: tuple[SeenJob, ...]) -> str:
    names = [escape(job_seen.label) for job_seen in jobs]
    return f"in {', '.join(names[:-1])} and {names[-1]} alike"


def _emphasised(sentence: str) -> str:
    return _RANK.sub(lambda match: f"<em>{match[0]}</em>", escape(sentence))


def _change(first: SeenJob, second: SeenJob) -> str:
    a, b = first.job.step_ns, second.job.step_ns
    if not a or not b:
        return ""
    text = (
        f"A profiled step takes {format_duration(b)} in {second.label} and {format_duration(a)} "
        f"in {first.label} ({format_change(b / a)})"
    )
    hidden = overlap_share(first.job), overlap_share(second.job)
    if hidden[0] is not None and hidden[1] is not None:
        text += (
            f"; {format_share(hidden[1])} of the communication hides behind compute, "
            f"{format_share(hidden[0])} in {first.label}"
        )
    return f"{text}."
