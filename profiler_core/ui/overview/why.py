"""The overview's second half: what fusion did, what to do next, and the open bar's groups."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profiler_core.analysis.explanation import Explanation
from profiler_core.analysis.item import group_item
from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.wording.comparison import fusion_alt, fusion_note
from profiler_core.analysis.wording.groups import OTHER_WORKLOADS
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.errors import FusionscopeError
from profiler_core.figures.fusion_layout import fusion_layout, fusion_legend
from profiler_core.figures.fusion_panel import Panel
from profiler_core.page_specs import CANDIDATE_PARAMETER
from profiler_core.ui.candidate import candidate_run
from profiler_core.ui.charts import show_legend
from profiler_core.ui.choice import Choice
from profiler_core.ui.dossier.address import open_item
from profiler_core.ui.fusion_map.show import draw_map
from profiler_core.ui.links import Query, page_link
from profiler_core.ui.overview.difference import show_difference_notes, show_opened_bar
from profiler_core.ui.overview.findings import show_findings
from profiler_core.ui.page import section
from profiler_core.ui.problem_card import problem_card, show_script_error
from profiler_core.ui.ranks.overlap import show_overlap
from profiler_core.ui.style import colors

_MAP_PX = 480
_LONGEST = 40  # characters of a run's name in a sentence


def show_why(choice: Choice, number: int, below_chart: DeltaGenerator) -> None:
    """Fusion map and findings. They rest on traces and logs from anywhere: what fails is a card.

    Args:
        choice: the runs.
        number: which candidate.
        below_chart: a place under the waterfall, for the groups of the bar that is open.
    """
    pair = choice.comparison.pairs[number]
    try:
        with st.skeleton(height=_MAP_PX):
            explanation = pair.explanation
        with below_chart:
            show_opened_bar(choice, number, explanation)
            show_difference_notes(explanation)
        labels = pair.labels
        query = {**choice.query, CANDIDATE_PARAMETER: str(number + 1)}
        if explanation.ledger is not None:
            _show_fusion(
                explanation.ledger,
                labels,
                number,
                query,
                pair.time_word,
                OTHER_WORKLOADS if pair.numbers.workloads_differ else "",
            )
        if explanation.overlap is not None:
            show_overlap(explanation.overlap)
            page_link("ranks", "See each rank", query)
        if explanation.findings is not None:
            keys = [entry.key for entry in choice.entries]
            name, record = clipped(labels[1], _LONGEST), pair.candidate.record
            show_findings(explanation.findings, name, number + 1, query, record, keys)
        _show_problems(explanation)
    except FusionscopeError as error:
        problem_card(error.problem, error.remedy)
    except Exception as error:  # logged with its traceback; the rest of the page stays
        show_script_error(error)


def show_run_findings(choice: Choice) -> None:
    """What stands out in a run beside which nothing is explained: the candidate, or the only run.

    Of several candidates it is the one that pages tell of.
    """
    try:
        comparison = choice.comparison
        place = candidate_run(choice)
        run, query = comparison.runs[place], dict(choice.query)
        if place:
            query[CANDIDATE_PARAMETER] = str(place)
            findings = comparison.pairs[place - 1].findings
        else:
            findings = run.alone.findings
        if findings is not None:
            keys = [entry.key for entry in choice.entries]
            name = clipped(choice.labels[place], _LONGEST)
            show_findings(findings, name, place, query, run.record, keys)
    except FusionscopeError as error:
        problem_card(error.problem, error.remedy)
    except Exception as error:  # logged with its traceback; the rest of the page stays
        show_script_error(error)


def _show_fusion(
    ledger: FusionLedger,
    labels: tuple[str, str],
    number: int,
    query: Query,
    time: str,
    warning: str,
) -> None:
    groups = fold(ledger.groups)
    short = (clipped(labels[0], _LONGEST), clipped(labels[1], _LONGEST))
    section("What fusion did", " ".join(filter(None, (fusion_note(ledger, short, time), warning))))
    if not groups:
        st.html("<p class=fs-note>No profiled step has any kernel.</p>")
        return
    with st.container(key="fs_map_scroll"):  # its labels need room that a small window has not
        draw_map(
            fusion_layout(
                [Panel(labels[1], groups)],
                labels[0],
                colors(),
                height_px=_MAP_PX,
                time=time,
                span=ledger.span,
            ),
            key="overview_fusion_map",
            alt=fusion_alt(groups, time, ledger.span),
            on_pick=lambda position, _panel: open_item(
                group_item(number + 1, groups[position].slowest)
            ),
        )
    show_legend(fusion_legend(groups, colors()))
    page_link("fusion", "Open each group", query)


def _show_problems(explanation: Explanation) -> None:
    if explanation.notes:
        problem_card(" ".join(explanation.notes), "All other numbers on this page stand.")
