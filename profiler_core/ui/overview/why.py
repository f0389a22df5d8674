"""The overview's second half: where the difference comes from, what fusion did, what to do next."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.compare import Comparison
from profiler_core.analysis.explanation import Explanation, not_explained, pair_waterfall
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.headline import leading
from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.waterfall import Waterfall
from profiler_core.errors import FusionscopeError
from profiler_core.figures.fusion_map import fusion_legend, fusion_map
from profiler_core.figures.waterfall import waterfall_figure
from profiler_core.resources import pages_directory
from profiler_core.ui.analyses import Looked
from profiler_core.ui.charts import show_figure, show_legend
from profiler_core.ui.choice import Choice, query_of
from profiler_core.ui.links import Query, href, page_link
from profiler_core.ui.notes import show_notes
from profiler_core.ui.overview.explanation_data import explained
from profiler_core.ui.page import section
from profiler_core.ui.problem_card import problem_card, show_script_error
from profiler_core.ui.style import colors
from profiler_core.units import format_difference, format_duration, format_share

_MAP_PX = 480
_SHOWN = 6  # findings; further ones are folded
_CLOCK = {
    "unprofiled": "timed without the profiler",
    "profiled": "on the profiler's clock",
}


def show_difference(choice: Choice, comparison: Comparison) -> int | None:
    """The waterfall of one candidate, which needs nothing but the summaries.

    Returns:
        Which candidate: the leading one, or what is picked; None: none has a trace to explain.
    """
    numbers = [n for n in range(len(comparison.candidates)) if not_explained(comparison, n) is None]
    if not numbers:
        return None
    section("Where the difference comes from")
    number = _choose(choice, comparison, numbers)
    labels = (choice.labels[0], choice.labels[number + 1])
    result = pair_waterfall(comparison, number)
    before, after = format_duration(result.baseline_ns), format_duration(result.candidate_ns)
    st.html(
        f"<p class=fs-question>A step of {escape(labels[0])} takes {before}, one of "
        f"{escape(labels[1])} {after}, {_CLOCK[result.clock]}; the bars between add up to the "
        "difference exactly.</p>"
    )
    figure = waterfall_figure(result, labels, colors())
    show_figure(figure, key="waterfall", alt=_in_words(result))
    show_notes(result.notes)
    return number


def _choose(choice: Choice, comparison: Comparison, numbers: Sequence[int]) -> int:
    lead = leading(comparison)
    first = next((n for n in numbers if comparison.candidates[n] is lead), numbers[0])
    if len(numbers) == 1:
        return first
    picked = st.segmented_control(
        "Candidate",
        numbers,
        default=first,
        required=True,
        format_func=lambda n: choice.labels[n + 1],
        key=f"overview_candidate_{'_'.join(entry.key for entry in choice.entries)}",
        label_visibility="collapsed",
    )
    return picked if picked in numbers else first


def show_why(choice: Choice, looked: Looked, number: int) -> None:
    """Fusion map and findings. They rest on traces and logs from anywhere: what fails is a card."""
    try:
        with st.skeleton(height=_MAP_PX):
            one = explained(choice, looked, number)
        labels = (choice.labels[0], choice.labels[number + 1])
        query = query_of(
            tuple(
                dict.fromkeys(
                    entry.key
                    for entry in (choice.baseline, choice.candidates[number], *choice.candidates)
                )
            )
        )
        on_gpu = looked.comparison.candidates[number].device_kinds[1] != "cpu"
        if one.ledger is not None:
            _show_fusion(one.ledger, labels, query, "GPU time" if on_gpu else "operator time")
        if one.findings is not None:
            _show_findings(one.findings, labels[1], query)
        _show_problems(one)
    except FusionscopeError as error:
        problem_card(error.problem, error.remedy)
    except Exception as error:  # logged with its traceback; the rest of the page stays
        show_script_error(error)


def _show_fusion(ledger: FusionLedger, labels: tuple[str, str], query: Query, time: str) -> None:
    groups = fold(ledger.groups)
    section(
        "What fusion did",
        f"{time[0].upper()}{time[1:]} of one step, {labels[0]} left, {labels[1]} right; equal "
        "groups are folded, a ribbon shows what became what. "
        f"{format_share(ledger.coverage_baseline)} of {labels[0]}'s "
        f"and {format_share(ledger.coverage_candidate)} of {labels[1]}'s {time} is placed.",
    )
    if not groups:
        st.html("<p class=fs-note>No profiled step has any kernel.</p>")
        return
    saved = sum(group.candidate_ns - group.baseline_ns for group in groups)
    with st.container(key="fs_map_scroll"):  # its labels need room that a phone has not
        show_figure(
            fusion_map(groups, labels, colors(), height_px=_MAP_PX, time=time),
            key="overview_fusion_map",
            alt=f"{len(groups)} kinds of groups; {time} of a step {format_difference(saved)}.",
        )
    show_legend(fusion_legend(groups, colors()))
    page_link("fusion", "Open each group", query)


def _show_findings(found: Sequence[Finding], label: str, query: Query) -> None:
    section("What to do next", f"What stands out in {label}, by the time at stake.")
    if not found:
        st.html("<p class=fs-note>Nothing stands out.</p>")
        return
    st.html(_findings_html(found[:_SHOWN], query))
    n_more = len(found) - _SHOWN
    if n_more > 0:
        with st.expander(f"{n_more} more", type="compact"):
            st.html(_findings_html(found[_SHOWN:], query))


def _findings_html(found: Sequence[Finding], query: Query) -> str:
    return f"<div class=fs-findings>{''.join(_finding_html(f, query) for f in found)}</div>"


def _finding_html(finding: Finding, query: Query) -> str:
    if finding.at_stake_ns is not None:
        stake, unit = format_duration(finding.at_stake_ns), "a step"
    elif finding.one_off_ns is not None:
        stake, unit = format_duration(finding.one_off_ns), "once"
    else:
        stake, unit = "–", "to know" if finding.weight == "note" else ""
    bad = " class=fs-w" if finding.weight in ("first of all", "first") else ""
    link = ""
    if finding.page != "overview" and (pages_directory() / f"{finding.page}.py").is_file():
        link = (
            f'<a class=fs-link href="{escape(href(finding.page, query))}" target="_self">'
            f"{finding.page}&nbsp;→</a>"
        )
    return (
        f"<div class=fs-finding><div class=fs-stake><b>{stake}</b><small>{unit}</small></div>"
        f"<div><b{bad}>{escape(finding.title)}</b>"
        f"<p>{escape(finding.evidence)} <span>{escape(finding.advice)}</span></p></div>"
        f"<div>{link}</div></div>"
    )


def _show_problems(one: Explanation) -> None:
    if one.notes:
        problem_card(" ".join(one.notes), "All other numbers on this page stand.")


def _in_words(result: Waterfall) -> str:
    changes = "; ".join(
        f"{row.label} {format_difference(row.delta_ns)}" for row in result.rows if row.delta_ns
    )
    return f"From {format_duration(result.baseline_ns)} a step: {changes}."
