"""Modules or operators as a sortable table; a click on a row opens its dossier."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from profiler_core.analysis.item import Item, module_item, operator_item
from profiler_core.analysis.modules import ModuleRow
from profiler_core.analysis.operators import OperatorRow
from profiler_core.analysis.rows.modules import row_title
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.ui.dossier.address import item_in_url, open_item, picking_key
from profiler_core.ui.modules.data import Shown
from profiler_core.ui.style import colors
from profiler_core.ui.table import frame_height
from profiler_core.units import format_bytes, format_per_step

_MOST_ROWS = 2000
_LONGEST_HEAD = 10  # characters of a run's name
_LONGEST_NAME = 34  # characters: what the first column has room for
_INDENT = "\u2003"
_NO_NEWS_US = 0.5  # per step; what two runs of the same code differ by


def show_modules(rows: Sequence[ModuleRow], shown: Shown, *, as_tree: bool) -> None:
    """Draw modules; of a tree each indented below what it lies in."""
    columns: dict[str, list[Any]] = {
        "name": [_INDENT * row.depth + row.name if as_tree else _ending(row) for row in rows]
    }
    _add_times(columns, rows, shown)
    _add_work(columns, rows, shown)
    if as_tree and any(row.class_name for row in rows):
        columns["class"] = [row.class_name for row in rows]
    if any(row.members or len(row.path) > _LONGEST_NAME for row in rows) and not as_tree:
        columns["path"] = [row.path or ", ".join(row.members[:3]) for row in rows]
    items = [module_item(row.path) if row.path else None for row in rows]
    _draw(columns, items, shown, "module_table")


def _add_work(columns: dict[str, list[Any]], rows: Sequence[ModuleRow], shown: Shown) -> None:
    """Kernels, what of the time is shared, and bytes that are moved and allocated."""
    columns["n"] = [
        _both(shown, [row.per_step(own.n_kernels, n) for n, own in enumerate(row.sides)])
        for row in rows
    ]
    columns["bytes"] = [_bytes(row, shown, [own.bytes_moved for own in row.sides]) for row in rows]
    if any(own.made_bytes is not None for row in rows for own in row.sides):
        columns["made"] = [
            _bytes(row, shown, [own.made_bytes for own in row.sides]) for row in rows
        ]
    columns["shared"] = [row.per_step(row.sides[1].shared_ns, 1) / 1e3 for row in rows]


def _ending(row: ModuleRow) -> str:
    """The title; of a long path its end, which tells it from others."""
    title = row_title(row)
    return title if len(title) <= _LONGEST_NAME else f"…{title[1 - _LONGEST_NAME :]}"


def show_operators(rows: Sequence[OperatorRow], shown: Shown) -> None:
    """Draw operators, the most expensive of the candidate first."""
    columns: dict[str, list[Any]] = {"name": [row.name for row in rows]}
    _add_times(columns, rows, shown)
    columns["calls"] = [round(row.calls_per_step, 2) for row in rows]
    columns["n"] = [
        _both(
            shown, [n / max(1, steps) for n, steps in zip(row.n_kernels, row.n_steps, strict=True)]
        )
        for row in rows
    ]
    columns["shared"] = [row.shared_ns / max(1, row.n_steps[1]) / 1e3 for row in rows]
    if any(row.is_only_in_candidate for row in rows):
        columns["only"] = [
            f"only in {shown.labels[1]}" if row.is_only_in_candidate else "" for row in rows
        ]
    _draw(columns, [operator_item(row.op) for row in rows], shown, "operator_table")


def _add_times(
    columns: dict[str, list[Any]], rows: Sequence[ModuleRow | OperatorRow], shown: Shown
) -> None:
    if shown.is_pair:
        columns["t0"] = [row.step_ns(0) / 1e3 for row in rows]
    columns["t1"] = [row.step_ns(1) / 1e3 for row in rows]
    if shown.is_pair:
        columns["delta"] = [row.delta_ns / 1e3 for row in rows]
    total = shown.divided.modules.root.step_ns(1)
    columns["share"] = [100 * row.step_ns(1) / total if total else None for row in rows]


def _both(shown: Shown, numbers: Sequence[float]) -> str:
    return " → ".join(format_per_step(n) for n in (numbers if shown.is_pair else numbers[1:]))


def _bytes(row: ModuleRow, shown: Shown, totals: Sequence[float | None]) -> str:
    """Per step, the unit once where both sides have it: "10.5 → 6.30 GB"."""
    sides = [
        "·" if total is None else format_bytes(row.per_step(total, side))
        for side, total in enumerate(totals)
        if shown.is_pair or side == 1
    ]
    number, _, unit = sides[0].partition(" ")
    if shown.is_pair and unit and sides[1].endswith(f" {unit}"):
        sides[0] = number
    return " → ".join(sides)


def _draw(
    columns: dict[str, list[Any]], items: Sequence[Item | None], shown: Shown, key: str
) -> None:
    n = len(items)
    opened = item_in_url()
    position = items.index(opened) if opened is not None and opened in items else None
    frame = pd.DataFrame({name: cells[:_MOST_ROWS] for name, cells in columns.items()})
    styled: Any = frame.style
    palette = colors()

    def colour(change_us: float) -> str:
        if abs(change_us) < _NO_NEWS_US:
            return f"color:{palette.muted}"
        return f"color:{palette.better if change_us < 0 else palette.worse}"

    key = picking_key(key)
    st.dataframe(
        styled.map(colour, subset=["delta"]) if shown.is_pair else styled,
        hide_index=True,
        height=frame_height(min(n, _MOST_ROWS), most_px=560),
        column_config=_columns(shown),
        on_select=lambda: _from_table(key, items),
        selection_mode="single-cell",
        selection_default={
            "selection": {"cells": [] if position is None else [(position, "name")]}
        },
        placeholder="·",
        key=key,
    )
    if n > _MOST_ROWS:
        st.caption(f"The first {_MOST_ROWS} of {n} rows; the search finds the others.")


def _from_table(key: str, items: Sequence[Item | None]) -> None:
    cells = st.session_state[key]["selection"]["cells"]
    open_item(items[cells[0][0]] if cells and cells[0][0] < len(items) else None)


def _columns(shown: Shown) -> dict[str, Any]:
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    heads = [clipped(label, _LONGEST_HEAD) for label in shown.labels]
    sides = "baseline → candidate, " if shown.is_pair else ""
    return {
        "name": text("name", width=180, pinned=True),
        "class": text("class", width=120),
        **{
            f"t{side}": number(
                f"{head}, µs" if shown.is_pair else "time, µs",
                format="%.1f",
                width=max(76, 34 + 7 * len(head)),
                help=f"{shown.labels[side]}: device time per step, with everything below it.",
            )
            for side, head in enumerate(heads)
        },
        "delta": number("Δ µs", format="%+.1f", width=66, help="Below 0: the candidate is faster."),
        "share": number(
            "share",
            format="%.1f %%",
            width=62,
            help=f"Of the device time of {shown.labels[1]}'s step.",
        ),
        "calls": number("calls", format="plain", width=66, help="Calls per step."),
        "n": text(
            "kernels, copies", width=106,
            help=f"{sides}kernels, copies and memsets per step that work for it, shared ones "
            "included.",
        ),
        "shared": number(
            "shared, µs", format="%.1f", width=88,
            help=f"Of {shown.labels[1]}'s time, its part of kernels that work for others too.",
        ),
        "bytes": text(
            "moved", width=124,
            help=f"{sides}read and written per step, at least, by the shapes of the tensors.",
        ),
        "made": text(
            "allocated", width=124,
            help=f"{sides}allocated per step; a CUDA graph's replay allocates nothing.",
        ),
        "only": text("", width=150),
        "path": text("paths", width=230),
    }  # fmt: skip
