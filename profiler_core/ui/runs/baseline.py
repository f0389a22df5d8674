"""Baselines in the browser: keep a run under a name, see which are kept, forget one."""

from collections.abc import Mapping
from html import escape

import streamlit as st

from profiler_core.dates import short
from profiler_core.errors import FusionscopeError
from profiler_core.model.history import Baseline, RecordedRun
from profiler_core.store.key_parts import decode_part
from profiler_core.store.library import key_of_recorded
from profiler_core.ui.choice import Choice, query_of
from profiler_core.ui.links import page_link, plain_label
from profiler_core.ui.page import section
from profiler_core.ui.sign_in.guard import who_may

_USUAL = "main"
_RECORDED = ("run", "upload", "history")  # prefixes of keys; samples and opened files are in none
_HELP = (
    "A baseline is a run under a name: the gate and the weekly review hold newer runs against it."
)


def offer_baseline(labels: Mapping[str, str]) -> None:
    """A small menu that keeps one of these runs under a name; for whoever may mark runs.

    Args:
        labels: key of the library -> what the run is called beside the others.
    """
    own = {key: label for key, label in labels.items() if key.partition("/")[0] in _RECORDED}
    if who_may("mark") is None or not own:
        return
    scope = "|".join(own)
    with st.popover(
        "Keep as baseline", type="tertiary", icon=":material/flag:", width="content",
        # Another one after each that was kept: the open one would stay over the page.
        key=f"fs_bl_menu_{scope}_{st.session_state.get(_kept_key(scope), 0)}",
    ):  # fmt: skip
        st.caption(_HELP)
        key = next(iter(own))
        if len(own) > 1:
            key = st.selectbox(
                "Run",
                list(own),
                format_func=own.__getitem__,
                key=f"fs_bl_run_{scope}",
            )
        st.text_input("Name", value=_USUAL, max_chars=100, key=f"fs_bl_name_{scope}")
        st.text_input("Why", max_chars=500, placeholder="May stay empty", key=f"fs_bl_note_{scope}")
        st.button(
            "Keep as baseline", type="primary", key=f"fs_bl_do_{scope}", on_click=_keep,
            args=(key, scope),
        )  # fmt: skip


def labels_of_choice(choice: Choice) -> dict[str, str]:
    """What `offer_baseline` takes: of chosen runs, the candidate that pages show first.

    Without those whose trace is cut: no newer run can be held against one.
    """
    sides = choice.comparison.sides
    by_key = {
        entry.key: side.label
        for entry, side in zip(choice.entries, sides, strict=True)
        if not side.is_cut
    }
    first = [entry.key for entry in choice.candidates[choice.comparison.shown_first :][:1]]
    return {key: by_key[key] for key in dict.fromkeys([*first, *by_key]) if key in by_key}


def show_baselines() -> None:
    """The kept ones, each with its run; nothing where none is kept."""
    from profiler_core.store import history

    baselines = history.baselines()
    if not baselines:
        return
    section("Baselines", "What the gate and the weekly review hold newer runs against.")
    names = history.names_of({baseline.person for baseline in baselines})
    by_id = {run.run_id: run for run in history.baselines_with_newest(baselines)}
    for number, baseline in enumerate(baselines):
        run = by_id.get(baseline.run_id)
        with st.container(
            horizontal=True, vertical_alignment="center", gap="medium", key=f"fs_bl_{number}"
        ):
            st.html(
                f"<p style='margin:0;font-size:14px'><b>{escape(baseline.name)}</b></p>"
                f"<p class=fs-note style='padding:0'>{escape(_facts(baseline, run, names))}</p>",
                width="stretch",
            )
            if run is not None and history.has_files(run):
                page_link("overview", "Open", query_of((key_of_recorded(run),)))
            if who_may("mark") is not None:
                with st.popover("Forget", type="tertiary", key=f"fs_bl_forget_{number}"):
                    st.html("<p class=fs-note>The name is forgotten, and the run stays.</p>")
                    st.button(
                        "Forget this baseline", key=f"fs_bl_forget_do_{number}", on_click=_forget,
                        args=(baseline.name,),
                    )  # fmt: skip


def _facts(baseline: Baseline, run: RecordedRun | None, names: Mapping[str, str]) -> str:
    words = () if run is None else (run.workload, run.variant)
    title = " · ".join(filter(None, (*words, baseline.run_id)))
    facts = f"{title}, set {short(baseline.set_at)} by {names[baseline.person]}"
    return f"{facts}: {baseline.note}" if baseline.note else facts


def _keep(key: str, scope: str) -> None:
    from profiler_core.store import history
    from profiler_core.ui.runs.keeping import recorded_ids

    who = who_may("mark")  # the role may have changed since the page was drawn
    if who is None:
        return
    name = " ".join(st.session_state.get(f"fs_bl_name_{scope}", "").split())
    note = st.session_state.get(f"fs_bl_note_{scope}", "").strip()
    try:
        prefix, _, rest = key.partition("/")
        run_id = decode_part(rest) if prefix == "history" else recorded_ids((key,)).get(key)
        if run_id is None:
            st.toast("This run is not in the history, so it cannot be a baseline.")
            return
        former = next((b.run_id for b in history.baselines() if b.name == name), None)
        history.set_baseline(name, run_id, person=who.person, note=note)
    except FusionscopeError as error:
        st.toast(plain_label(f"{error.problem} {error.remedy}"))
        return
    st.session_state[_kept_key(scope)] = st.session_state.get(_kept_key(scope), 0) + 1
    instead = f"; before it was {former}" if former not in (None, run_id) else ""
    st.toast(plain_label(f"The baseline “{name}” is now {run_id}{instead}."))


def _kept_key(scope: str) -> str:
    return f"fs_bl_kept_{scope}"


def _forget(name: str) -> None:
    from profiler_core.store import history

    who = who_may("mark")
    if who is None:
        return
    try:
        history.remove_baseline(name, person=who.person)
    except FusionscopeError as error:
        st.toast(plain_label(f"{error.problem} {error.remedy}"))
