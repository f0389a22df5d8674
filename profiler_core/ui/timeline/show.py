"""The timeline of a choice of runs: canvas and panels, in a fragment of their own."""

from collections.abc import Mapping

import streamlit as st

from profiler_core.analysis.item import event_item
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.wording.clocks import SHARES_DIFFER
from profiler_core.errors import FusionscopeError
from profiler_core.figures.theme import palette
from profiler_core.session.run import Run
from profiler_core.store.library import Entry
from profiler_core.timeline.cache import trace_key
from profiler_core.timeline.event import event
from profiler_core.ui.choice import Choice, open_choice
from profiler_core.ui.dossier.address import open_item
from profiler_core.ui.dossier.panel import dossier_beside
from profiler_core.ui.notes import show_notes
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.reading import trace_path
from profiler_core.ui.routes.signing import signed
from profiler_core.ui.routes.timeline import SCOPE
from profiler_core.ui.sign_in.guard import fragment
from profiler_core.ui.timeline.address import Address, read_address
from profiler_core.ui.timeline.component import Picked, draw_canvas
from profiler_core.ui.timeline.memory import recall, set_step, write
from profiler_core.ui.timeline.panels import event_facts, show_facts, span_panel
from profiler_core.ui.timeline.prepare import prepared_index
from profiler_core.ui.timeline.scene import (
    SceneRun,
    reading_notes,
    replay_notes,
    scene,
    step_names,
)

Shown = tuple[tuple[int, Entry, str], ...]  # place in the choice, run, label

_STEP = "fs_timeline_step"
_SELECTED = "fs_timeline_selected"  # the event that was selected last, as an item


def show_timeline(choice: Choice) -> tuple[Entry, ...]:
    """Draw everything; indexes that are not there yet are made first, with progress.

    Returns:
        The runs that could be shown.
    """
    shown = tuple(
        (number, entry, label)
        for number, (entry, label) in enumerate(zip(choice.entries, choice.labels, strict=True))
        if _can_be_shown(choice, number)
    )
    if shown:
        _fragment(tuple(entry.key for entry in choice.entries), shown)
    return tuple(entry for _, entry, _ in shown)


def _can_be_shown(choice: Choice, number: int) -> bool:
    """Index the trace if need be; a card where it cannot be read, or holds nothing to measure."""
    address = read_address(dict(st.query_params))
    is_shown = False
    try:
        run = _drawn(choice.comparison.runs[number], number, address)
        is_shown = prepared_index(choice.entries[number], run).layout.n_events > 0
        run.required_work(choice.labels[number])
    except FusionscopeError as error:
        problem_card(error.problem, error.remedy)
    return is_shown


@fragment
def _fragment(keys: tuple[str, ...], shown: Shown) -> None:
    dark = st.context.theme.type == "dark"
    of_choice = open_choice(keys).comparison.runs
    memory = recall(keys)
    address = memory.address
    drawn = {number: _drawn(of_choice[number], number, address) for number, _, _ in shown}
    runs = [
        _scene_run(entry, drawn[number], _label(of_choice[number], label, number, address), number,
                   dark=dark)
        for number, entry, label in shown
    ]  # fmt: skip
    step = _choose_step(step_names(runs), address.step)
    picked = _picked(drawn, runs, address)
    draw_canvas(scene(runs, step, dark=dark), address, picked, revision=memory.revision)
    show_notes([*reading_notes(runs), *replay_notes(runs), *_clock_notes(shown)])
    span_panel(address.span, runs, step)
    if picked is None:
        st.caption("Click an event to see its operator, its launch, its shapes and its group.")
    write(memory)
    if picked is not None and address.rank is not None and address.rank[0] == picked.run:
        show_facts(event_facts(picked, runs))  # dossiers are of the rank that other pages show
        dossier_beside()
    else:
        _dossier(address, picked, runs)


def _drawn(run: Run, number: int, address: Address) -> Run:
    """The rank of a job that the link names, else the one that other pages show; else the run."""
    named = run.of_rank(address.rank[1]) if _is_named(number, address) and address.rank else None
    return named or run.shown


def _is_named(number: int, address: Address) -> bool:
    return address.rank is not None and address.rank[0] == number


def _label(run: Run, label: str, number: int, address: Address) -> str:
    rank = run.shown_rank
    if _is_named(number, address) and address.rank and run.of_rank(address.rank[1]) is not None:
        rank = address.rank[1]
    return label if rank is None else f"{label} · rank {rank}"


def _dossier(address: Address, picked: Picked | None, runs: list[SceneRun]) -> None:
    """Of the selected event, or of what a link or a search has opened since."""
    event = address.event
    item = None if event is None else event_item(event.run, event.table, event.row)
    before = st.session_state.get(_SELECTED, item)
    st.session_state[_SELECTED] = item
    if item is not None and item != before:
        open_item(None)  # another event was clicked: what was open before closes
    dossier_beside(item, event_facts(picked, runs) if picked is not None else ())


def _scene_run(entry: Entry, run: Run, label: str, number: int, *, dark: bool) -> SceneRun:
    colours = palette(dark=dark)
    return SceneRun(
        number=number,
        label=label,
        role="candidate" if number else "baseline",
        colour=colours.accent if number else colours.baseline,
        token=signed(SCOPE, trace_key(trace_path(entry, run))),
        index=prepared_index(entry, run),
    )


def _clock_notes(shown: Shown) -> list[str]:
    """Why a share of busy time is not that of the overview, where a run was timed as well."""
    if all(step_time_ns(entry.run.measurement) is None for _, entry, _ in shown):
        return []
    return [
        "Busy shares here are of the profiled time, those of the overview of timed steps. "
        f"{SHARES_DIFFER}"
    ]


def _choose_step(names: tuple[str, ...], step: int) -> int:
    """The step at which the runs are aligned; the first one where the link names none."""
    if len(names) < 2:
        return 0
    step = min(step, len(names) - 1)
    st.session_state[_STEP] = step  # the address is the truth; the widget shows it
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Runs are aligned at the start of", width="content")
        st.selectbox(
            "Step at whose start the runs are aligned",
            range(len(names)),
            format_func=lambda n: names[n].replace("ProfilerStep#", "step "),
            key=_STEP,
            on_change=_step_changed,
            label_visibility="collapsed",
            width=130,
        )
    return step


def _step_changed() -> None:
    set_step(st.session_state[_STEP])


def _picked(of_runs: Mapping[int, Run], runs: list[SceneRun], address: Address) -> Picked | None:
    chosen = address.event
    drawn = next((run for run in runs if chosen is not None and run.number == chosen.run), None)
    trace = of_runs[drawn.number].trace if drawn is not None else None
    if chosen is None or drawn is None or trace is None:
        return None
    picked_event = event(trace, drawn.index, chosen.table, chosen.row)
    return None if picked_event is None else Picked(drawn.number, picked_event)
