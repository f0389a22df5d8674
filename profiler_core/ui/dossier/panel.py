"""The panel: docked at the side of a wide window, a sheet on a phone; the same on every page."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.dossier.record import Dossier
from profiler_core.analysis.item import Item
from profiler_core.errors import FusionscopeError
from profiler_core.figures.duration_histogram import duration_histogram
from profiler_core.page_specs import page_spec
from profiler_core.session.dossier.make import dossier
from profiler_core.ui.candidate import beside_told
from profiler_core.ui.charts import show_figure
from profiler_core.ui.choice import Choice, Keys, keys_in_url, open_choice
from profiler_core.ui.dossier.address import filters_of, item_in_url, with_item
from profiler_core.ui.dossier.bridge import draw_bridge
from profiler_core.ui.dossier.draw import draw_dossier
from profiler_core.ui.links import page_in_url, page_link, plain_label
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.sign_in.guard import fragment
from profiler_core.ui.style import colors
from profiler_core.ui.timeline.link import link_to_event, link_to_step

Facts = Sequence[tuple[str, str]]


def dossier_beside(selected: Item | None = None, facts: Facts = ()) -> None:
    """Draw the panel of a page; nothing is seen of it while no dossier is open.

    In a fragment: a click on a link in the page or in the panel runs nothing else again.

    Args:
        selected: by the page itself; shown while the address names nothing else.
        facts: terms and texts about it.
    """
    keys = keys_in_url()
    if keys:
        _panel(keys, selected, facts)


@fragment
def _panel(keys: Keys, selected: Item | None, facts: Facts) -> None:
    item = item_in_url() or selected
    with st.container(key="fs_dossier"):
        if draw_bridge(item):
            st.rerun(scope="app")
        if item is None:
            return
        try:
            choice = open_choice(keys)
            _draw(
                choice,
                dossier(choice.comparison, beside_told(item)),
                facts if item == selected else (),
            )
        except FusionscopeError as error:
            st.html("<div class=fs-dossier></div>")
            problem_card(error.problem, error.remedy)


def _draw(choice: Choice, made: Dossier, facts: Facts) -> None:
    draw_dossier(made, facts)
    _way_on(choice, made)
    if sum(map(len, made.durations_ns)) > 1:
        labels = [time.label for time in made.times]
        show_figure(
            duration_histogram(
                labels, [list(durations) for durations in made.durations_ns], colors()
            ),
            key="dossier_durations",
            alt="How long single calls took in each run.",
        )


def _is_here(made: Dossier) -> bool:
    """Is this the page that shows it, with its filters in the address already?"""
    filters = filters_of(made.filters)
    are_set = all(st.query_params.get_all(name) == values for name, values in filters.items())
    return page_in_url() == made.page and are_set


def _way_on(choice: Choice, made: Dossier) -> None:
    """Links to its events on the timeline, and to the page that lists things of its kind."""
    with st.container(horizontal=True, key="fs_way_on_dossier"):
        for event in made.on_timeline:
            trace = choice.comparison.runs[event.run].shown.trace
            if trace is None:
                continue
            place = link_to_event(trace, event.run, event.table, event.row)
            page_link(
                "timeline",
                f"On the timeline, {plain_label(event.label)}",
                {**choice.query, **place},
            )
        for step in made.steps_on_timeline:
            page_link(
                "timeline",
                f"On the timeline, {plain_label(step.label)}",
                {**choice.query, **link_to_step(step)},
            )
        spec = page_spec(made.page) if made.page else None
        if spec is not None and not spec.is_start and not _is_here(made):
            there = with_item({**choice.query, **filters_of(made.filters)}, made.item)
            page_link(made.page, f"See it on {spec.title}", there)
