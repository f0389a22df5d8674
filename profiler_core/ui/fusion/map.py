"""The picture of the fusion page: which candidates it shows, and what a click on it opens."""

from collections.abc import Mapping, Sequence

import streamlit as st

from profiler_core.analysis.ledger.beside import in_the_order_of, place_of_the_same
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.figures.fusion_layout import fusion_layout, fusion_legend
from profiler_core.figures.fusion_panel import Panel
from profiler_core.session.pair import Pair
from profiler_core.ui.candidate import candidate_of
from profiler_core.ui.charts import show_legend
from profiler_core.ui.choice import Choice
from profiler_core.ui.fusion.address import (
    beside_in_url,
    group_in_url,
    open_group,
    show_candidate,
)
from profiler_core.ui.fusion_map.show import draw_map
from profiler_core.ui.links import plain_option
from profiler_core.ui.style import colors

MOST_BESIDE = 4  # more have no room for a ribbon
_BESIDE = -1
_LEAST_PX = {1: 640, 2: 820}  # width of a map of so many candidates
_LEAST_ON_PHONE_PX = {1: 0, 2: 500}  # there one fits, and more are scrolled
_LEAST_PANEL_PX = 290  # of each of more


def choose_candidates(choice: Choice) -> tuple[tuple[int, ...], int]:
    """Which candidates are drawn, and whose groups are listed, counted from 0."""
    n = len(choice.candidates)
    if n < 2:
        return tuple(range(n)), 0
    listed = candidate_of(choice)
    st.session_state["fusion_shown"] = _BESIDE if beside_in_url() else listed
    st.segmented_control(
        "Candidate",
        [_BESIDE, *range(n)],
        format_func=lambda k: (
            "Beside each other" if k == _BESIDE else plain_option(choice.labels[k + 1])
        ),
        required=True,
        key="fusion_shown",
        label_visibility="collapsed",
        on_change=_from_control,
    )
    if not beside_in_url():
        return (listed,), listed
    drawn = tuple(range(min(n, MOST_BESIDE)))
    if listed not in drawn:
        drawn = (*drawn[:-1], listed)
    return drawn, listed


def _from_control() -> None:
    number = st.session_state["fusion_shown"]
    show_candidate(None if number == _BESIDE else number)


def show_map(
    pairs: Mapping[int, Pair],
    groups_of: Mapping[int, Sequence[FoldedGroup]],
    listed: int,
    *,
    program_order: bool,
) -> None:
    """All given candidates on one scale; a click on a ribbon opens its dossier.

    Args:
        pairs: baseline and candidate, by number of the candidate.
        groups_of: what the filters leave of them.
        listed: the candidate whose group may be open.
        program_order: keep the groups where they are in the program.
    """
    opened = group_in_url(listed)
    first = next(iter(groups_of.values()))
    shown = {
        number: groups if program_order else in_the_order_of(first, groups)
        for number, groups in groups_of.items()
    }
    open_one = next((g for g in shown.get(listed, ()) if opened in g.numbers), None)
    panels = [
        Panel(
            pairs[number].labels[1],
            groups,
            None if open_one is None else _selected(open_one, groups, mine=number == listed),
        )
        for number, groups in shown.items()
    ]
    pair = pairs[listed] if listed in pairs else next(iter(pairs.values()))
    palette = colors()
    drawing = fusion_layout(
        panels,
        pair.labels[0],
        palette,
        height_px=_height_px(panels),
        time=pair.time_word,
        span=pair.ledger.span,
        program_order=program_order,
    )
    of_more_px = _LEAST_PANEL_PX * len(panels)
    least_px = _LEAST_PX.get(len(panels), of_more_px)
    on_phone_px = _LEAST_ON_PHONE_PX.get(len(panels), of_more_px)
    st.html(
        f"<style>:root {{ --fs-map-least:{least_px}px; --fs-map-least-phone:{on_phone_px}px; }}"
        "</style>"
    )
    with st.container(key="fs_map_scroll"):
        draw_map(
            drawing,
            key="fusion_map",
            in_view=list(shown).index(listed) if listed in shown else 0,
            alt=f"{pair.time_word} {pair.ledger.span}, baseline left, candidate right, with "
            "ribbons for what became what; the table below has the numbers.",
            on_pick=lambda position, panel: _open(shown, position, panel),
        )
    show_legend(fusion_legend([group for panel in panels for group in panel.groups], palette))


def _selected(opened: FoldedGroup, groups: Sequence[FoldedGroup], *, mine: bool) -> int | None:
    """The open group's place; in another candidate's panel that of the same work."""
    if not mine:
        return place_of_the_same(opened, groups)
    return next((position for position, group in enumerate(groups) if group is opened), None)


def _height_px(panels: Sequence[Panel]) -> int:
    """Few groups need no tall picture."""
    n = max(len(panel.groups) for panel in panels)
    return max(300, min(720, 200 + 40 * n))


def _open(shown: Mapping[int, Sequence[FoldedGroup]], position: int, panel: int) -> None:
    candidates = list(shown)
    if 0 <= panel < len(candidates) and 0 <= position < len(shown[candidates[panel]]):
        open_group(candidates[panel], shown[candidates[panel]][position])
