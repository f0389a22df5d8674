"""The first thing on the page of a sweep: where compiling pays, for each candidate."""

from html import escape

from profiler_core.analysis.sweep.series import Sweep, SweepSeries
from profiler_core.analysis.wording.sentence import plain
from profiler_core.analysis.wording.sweep import (
    evidence,
    headline,
    short_failures,
    without_candidate,
)
from profiler_core.dates import day
from profiler_core.store.sweeps import SweepGroup
from profiler_core.ui.fragments import show_fragments
from profiler_core.ui.headline import show_claim

_NEVER_PAYS = frozenset({"never", "unknown"})


def show_headline(group: SweepGroup, sweep: Sweep) -> None:
    """What was run, the sentence on the candidate that gains most, and one on each other."""
    facts = [*sweep.facts, f"sweep of {sweep.label}"]
    if group.created_at:
        facts.append(day(group.created_at))
    if group.is_alive:
        n = len(sweep.points)
        facts.append(f"being captured now: point {n} of {n + len(sweep.missing)}")
    if not sweep.series:
        show_claim(facts, (group.title,), [without_candidate(sweep)])
        return
    lead, *others = sorted(sweep.series, key=lambda series: _gain(sweep, series), reverse=True)
    lines = [
        evidence(sweep, lead),
        *(f"{plain(headline(sweep, series))} {evidence(sweep, series)}" for series in others),
    ]
    bad = lead.crossing.kind in _NEVER_PAYS
    show_claim(facts, headline(sweep, lead), lines, bad=bad)


def show_short_failures(sweep: Sweep) -> None:
    """One line for each; nothing where all went well."""
    sentences = short_failures(sweep)
    if sentences:
        show_fragments(f'<p class="fs-sub fs-w">{escape(text)}</p>' for text in sentences)


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
