"""The first thing on the page of a sweep: where compiling pays, for each candidate."""

import re
from html import escape

import streamlit as st

from profiler_core.analysis.sweep.series import Sweep, SweepSeries
from profiler_core.analysis.sweep.words import evidence, headline, without_candidate
from profiler_core.store.sweeps import SweepGroup
from profiler_core.ui.dates import day

_NEVER_PAYS = frozenset({"never", "unknown"})


def show_headline(group: SweepGroup, sweep: Sweep) -> None:
    """What was run, the sentence on the candidate that gains most, and one on each other."""
    facts = [*sweep.facts, f"sweep of {sweep.label}"]
    if group.created_at:
        facts.append(day(group.created_at))
    if group.is_alive:
        n = len(sweep.points)
        facts.append(f"being captured now: point {n} of {n + len(sweep.missing)}")
    eyebrow = f"<p class=fs-eyebrow>{' · '.join(escape(fact) for fact in facts)}</p>"
    if not sweep.series:
        sentence = escape(without_candidate(sweep))
        st.html(
            f"{eyebrow}<h1 class=fs-verdict>{escape(group.title)}</h1>"
            f"<p class=fs-sub>{sentence}</p>"
        )
        return
    lead, *others = sorted(sweep.series, key=lambda series: _gain(sweep, series), reverse=True)
    bad = " fs-worse" if lead.crossing.kind in _NEVER_PAYS else ""
    title = _emphasised(headline(sweep, lead), lead.label)
    st.html(
        f"{eyebrow}<h1 class='fs-verdict{bad}'>{title}</h1>"
        f"<p class=fs-sub>{escape(evidence(sweep, lead))}</p>"
        + "".join(
            f"<p class=fs-sub>{escape(f'{headline(sweep, series)} {evidence(sweep, series)}')}</p>"
            for series in others
        )
    )


def _gain(sweep: Sweep, series: SweepSeries) -> float:
    return max(
        (
            variant.ratio
            for point in sweep.points
            for variant in point.variants[1:]
            if variant.series == series.label and variant.ratio is not None
        ),
        default=0.0,
    )


def _emphasised(sentence: str, label: str) -> str:
    html, name = escape(sentence), escape(label)
    if html.startswith(name):
        html = f"<em>{name}</em>{html[len(name) :]}"
    return re.sub(r"(?<= )from .* on(?=\.$)", lambda match: f"<em>{match[0]}</em>", html)
