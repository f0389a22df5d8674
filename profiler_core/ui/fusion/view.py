"""The fusion page's choices, map and table; which group is open lies in the URL."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.ledger.folding import FoldedGroup, fold, in_program_order
from profiler_core.analysis.ledger.ledger import FusionLedger
from profiler_core.figures.fusion_map import fusion_legend, fusion_map
from profiler_core.figures.template import CONFIG
from profiler_core.ui.charts import show_legend
from profiler_core.ui.choice import Choice
from profiler_core.ui.fusion.data import Fused
from profiler_core.ui.style import colors
from profiler_core.units import format_duration, format_share

_GROUP = "group"  # the URL parameter: place of the open group's first member in the ledger
_FOLDED, _PROGRAM = "Equal groups folded", "In program order"
_CHANGES = ("All", "Faster", "Slower", "Matched to nothing")
_MOST_ROWS = 2000


def choose_candidate(choice: Choice) -> int:
    """Which candidate is looked at; the first one by default."""
    if len(choice.candidates) < 2:
        return 0
    labels = list(choice.labels[1:])
    picked = st.segmented_control(
        "Candidate", labels, default=labels[0], required=True, key="fusion_candidate"
    )
    return labels.index(picked) if picked in labels else 0


def choose_groups(ledger: FusionLedger) -> tuple[FoldedGroup, ...]:
    """The groups that the filters leave, folded or in program order."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        order = st.segmented_control(
            "Order", (_FOLDED, _PROGRAM), default=_FOLDED, required=True, key="fusion_order"
        )
        change = st.segmented_control(
            "Change", _CHANGES, default=_CHANGES[0], required=True, key="fusion_change"
        )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        present = {
            kernel.category
            for group in ledger.groups
            for side in (group.baseline, group.candidate)
            for kernel in side.kernels
        }
        kinds = [key for key in CATEGORIES if key in present]
        category = st.selectbox(
            "Kind of kernel", [None, *kinds], width=220, key="fusion_kind",
            format_func=lambda key: "any" if key is None else CATEGORIES[key],
        )  # fmt: skip
        words = st.text_input(
            "Search", key="fusion_search", placeholder="operator, kernel, source line",
            width=260, max_chars=200,
        )  # fmt: skip
    shown = fold(ledger.groups) if order != _PROGRAM else in_program_order(ledger.groups)
    return tuple(
        group
        for group in shown
        if _changed(group, change or _CHANGES[0])
        and (category is None or any(category in group.by_category(side) for side in (0, 1)))
        and all(word in _text(group) for word in words.lower().split())
    )


def _changed(group: FoldedGroup, change: str) -> bool:
    if change == "Faster":
        return group.kind in ("matched", "removed") and group.delta_ns < 0
    if change == "Slower":
        return group.kind == "matched" and group.delta_ns > 0
    if change == "Matched to nothing":
        return group.kind != "matched"
    return True


def _text(group: FoldedGroup) -> str:
    first = group.first
    names = [one.op for side in (first.baseline, first.candidate) for one in side.operators]
    names += [one.name for side in (first.baseline, first.candidate) for one in side.kernels]
    lines = [part for source in first.sources for part in source]
    return " ".join((group.title, *names, *lines)).lower()


def show_coverage(found: Fused) -> None:
    """One sentence: how much of the GPU time is matched, and into how many groups."""
    ledger = found.ledger
    matched = sum(1 for _ in ledger.of_kind("matched"))
    parts = [
        f"**{format_share(ledger.coverage_baseline)}** of {found.labels[0]}'s and "
        f"**{format_share(ledger.coverage_candidate)}** of {found.labels[1]}'s {found.time} "
        f"is placed, in **{matched}** groups."
    ]
    if ledger.compiled_only_ns:
        only = ledger.compiled_only_ns / max(1, ledger.n_candidate_steps)
        parts.append(f"{format_duration(only)} a step is spent by {found.labels[1]} alone.")
    unmatched = ledger.unmatched_candidate_ns / max(1, ledger.n_candidate_steps)
    if unmatched:
        parts.append(f"{format_duration(unmatched)} a step of it nobody could place.")
    st.markdown(" ".join(parts))


def show_map(found: Fused, shown: Sequence[FoldedGroup]) -> None:
    """The picture; a click on a ribbon opens its group below."""
    open_number = _open_number()
    selected = next((i for i, g in enumerate(shown) if open_number in g.numbers), None)
    figure = fusion_map(shown, found.labels, colors(), selected=selected, time=found.time)
    st.plotly_chart(
        figure,
        theme=None,
        config=CONFIG,
        key="fusion_map",
        on_select=lambda: _from_map(shown),
        selection_mode="points",
        alt=f"{found.time} of a step, baseline left, candidate right, with ribbons for what became "
        "what; the table below has the numbers.",
    )
    show_legend(fusion_legend(shown, colors()))


def show_table(found: Fused, shown: Sequence[FoldedGroup]) -> FoldedGroup | None:
    """The groups as rows; the open one."""
    rows = list(shown[:_MOST_ROWS])
    open_number = _open_number()
    place = next((i for i, group in enumerate(rows) if open_number in group.numbers), None)
    st.dataframe(
        _styled(rows),
        hide_index=True,
        height=min(420, 38 + 35 * max(1, len(rows))),
        column_config=_columns(found.labels),
        on_select=lambda: _from_table(rows),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [] if place is None else [place]}},
        placeholder="·",
        key=f"fusion_table_{open_number}",
    )
    if len(shown) > _MOST_ROWS:
        st.caption(f"The first {_MOST_ROWS} of {len(shown)} groups.")
    return None if place is None else rows[place]


def _open_number() -> int | None:
    text = st.query_params.get(_GROUP, "")
    return int(text) if text.isdigit() else None


def _open(group: FoldedGroup | None) -> None:
    if group is None:
        st.query_params.pop(_GROUP, None)
    else:
        st.query_params[_GROUP] = str(group.numbers[0])


def _from_map(shown: Sequence[FoldedGroup]) -> None:
    points = st.session_state["fusion_map"]["selection"]["points"]
    data: Any = points[0].get("customdata") if points else None
    number = data[0] if isinstance(data, list | tuple) and data else data
    if isinstance(number, int | float) and 0 <= int(number) < len(shown):
        _open(shown[int(number)])


def _from_table(rows: Sequence[FoldedGroup]) -> None:
    picked = st.session_state[f"fusion_table_{_open_number()}"]["selection"]["rows"]
    _open(rows[picked[0]] if picked and picked[0] < len(rows) else None)


def _styled(rows: Sequence[FoldedGroup]) -> Any:
    frame = pd.DataFrame(
        {
            "group": [group.title for group in rows],
            "source": [", ".join(label for label, _ in g.first.sources[:3]) for g in rows],
            "phase": [group.phase for group in rows],
            "n0": [group.n_kernels[0] for group in rows],
            "n1": [group.n_kernels[1] for group in rows],
            "t0": [group.baseline_ns / 1e3 for group in rows],
            "t1": [group.candidate_ns / 1e3 for group in rows],
            "delta": [group.delta_ns / 1e3 for group in rows],
            "how": [_how(group) for group in rows],
        }
    )
    palette = colors()

    def colour(change_us: float) -> str:
        if abs(change_us) < 0.5:  # µs a step: what two runs of the same code differ by
            return f"color:{palette.muted}"
        return f"color:{palette.better if change_us < 0 else palette.worse}"

    styled: Any = frame.style
    return styled.map(colour, subset=["delta"])


def _how(group: FoldedGroup) -> str:
    if group.kind != "matched":
        return group.kind
    return f"{group.first.confidence}: {', '.join(group.first.evidence)}"


def _columns(labels: tuple[str, str]) -> dict[str, Any]:
    number = st.column_config.NumberColumn
    text = st.column_config.TextColumn
    return {
        "group": text("what the baseline did", width=320, pinned=True),
        "source": text("source line", width=170),
        "phase": text("phase", width=80),
        "n0": number(f"{labels[0]}: n", format="%.4g", width=72, help="Kernels a step."),
        "n1": number(f"{labels[1]}: n", format="%.4g", width=72, help="Kernels a step."),
        "t0": number(f"{labels[0]}: µs", format="%.1f", width=88, help="GPU time a step."),
        "t1": number(f"{labels[1]}: µs", format="%.1f", width=88, help="GPU time a step."),
        "delta": number("Δ µs", format="%+.1f", width=84, help="Below 0: the candidate is faster."),
        "how": text("how it is known", width=220),
    }
