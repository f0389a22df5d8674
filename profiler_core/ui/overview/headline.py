"""The first thing on the overview: what was run, and whether it was worth it, in one sentence."""

import re
from html import escape

import streamlit as st

from profiler_core.analysis.compare import CandidateComparison, ComparedNumbers
from profiler_core.analysis.headline import leading, split_headline
from profiler_core.analysis.run_labels import run_facts
from profiler_core.analysis.verdict import verdict_sentence
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.dates import day
from profiler_core.ui.states import state_sentence
from profiler_core.units import format_duration

_FACTOR = re.compile(r"\d+(?:\.\d+)? times")


def show_headline(choice: Choice, comparison: ComparedNumbers) -> None:
    """The line of facts, the verdict on the leading candidate, and one sentence on each other."""
    run = choice.baseline.run
    facts_of_run = entry_facts(choice.baseline)
    if run.world_size > 1:  # of the others, the page ranks tells
        facts_of_run.append(f"rank {run.rank} of {run.world_size}")
    facts = " · ".join(escape(fact) for fact in facts_of_run)
    html = f"<p class=fs-eyebrow>{facts}</p>"
    lead = leading(comparison)
    html += _single(choice, comparison) if lead is None else _verdict(lead, comparison)
    st.html(html + state_paragraphs(choice))


def state_paragraphs(choice: Choice) -> str:
    """One paragraph for each run that did not finish, as HTML."""
    sentences = (
        state_sentence(label, entry.run.status, entry.run.error)
        for label, entry in zip(choice.labels, choice.entries, strict=True)
    )
    return "".join(f'<p class="fs-sub fs-w">{escape(text)}</p>' for text in sentences if text)


def entry_facts(entry: Entry) -> list[str]:
    """What was run, when, and where it comes from."""
    facts = run_facts(entry.run)
    if not (entry.run.workload or entry.run.name):
        facts.insert(0, entry.path.name)
    if entry.run.created_at:
        facts.append(day(entry.run.created_at))
    facts.append({"sample": "sample", "upload": "upload"}.get(entry.origin, ""))
    return [fact for fact in facts if fact]


def _verdict(lead: CandidateComparison, comparison: ComparedNumbers) -> str:
    verdict = verdict_sentence(lead)
    headline, evidence = split_headline(verdict.headline, (lead.label, lead.baseline_label))
    bad = " fs-worse" if verdict.kind in ("wrong_numerics", "slower") else ""
    text = " ".join((evidence, *verdict.details)).strip()
    others = "".join(
        f"<p class=fs-sub>{escape(verdict_sentence(other).headline)}</p>"
        for other in comparison.candidates
        if other is not lead and other.status == "finished"
    )
    return (
        f'<h1 class="fs-verdict{bad}">{_emphasised(headline, lead.label)}</h1>'
        f"<p class=fs-sub>{escape(text)}</p>{others}"
    )


def _emphasised(headline: str, label: str) -> str:
    """The candidate's name and the factor in the accent colour."""
    html = escape(headline)
    name = escape(label)
    if html.startswith(name):
        html = f"<em>{name}</em>{html[len(name) :]}"
    return _FACTOR.sub(lambda m: f"<em>{m.group()}</em>", html, count=1)


def _single(choice: Choice, comparison: ComparedNumbers) -> str:
    """A run alone is described, not judged."""
    side = comparison.baseline
    name = escape(choice.labels[0])
    reason = escape(
        " ".join(verdict_sentence(candidate).headline for candidate in comparison.candidates)
        or "Nothing to compare with is chosen: add a candidate in the sidebar."
    )
    if side.step_time_ns is None:
        return f"<h1 class=fs-verdict>{name}</h1><p class=fs-sub>{reason}</p>"
    profiled = ", profiled" if side.clock == "profiled" else ""
    summary = side.summary
    # Without annotations the trace may hold any number of steps.
    is_whole_trace = profiled and summary is not None and not summary.window.annotated
    per = " in the whole trace" if is_whole_trace else " a step"
    return (
        f"<h1 class=fs-verdict>{name}: {format_duration(side.step_time_ns)}{per}{profiled}.</h1>"
        f"<p class=fs-sub>{reason}</p>"
    )
