"""Modules or operators as a sortable table; a click on a row opens its dossier."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from profiler_core.analysis.item import Item, module_item, operator_item
from profiler_core.analysis.kernel_names import kernel_labels
from profiler_core.analysis.modules import ModuleRow, ModuleSide
from profiler_core.analysis.operators import OperatorRow
from profiler_core.analysis.rows.modules import counted_calls, name_in_tree, row_title
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.ui.dossier.address import item_in_url, open_item, picking_key
from profiler_core.ui.modules.data import Shown
from profiler_core.ui.style import colors
from profiler_core.ui.table import (
    NOTHING,
    NameRoom,
    change_us,
    column_of_time,
    columns_in_view,
    foreign_text,
    frame_height,
    name_room,
    number_column,
    px_of_names,
    text_column,
    wide_enough,
    with_minus_signs,
)

_MOST_ROWS = 2000
_LONGEST_HEAD = 10  # characters of a run's name
_LONGEST_NAME = 34  # characters: what the first column has room for
_INDENT, _INDENT_PX = "\u2003", 13
_CHARACTER_PX, _PADDING_PX = 6.9, 20
_NAME_PX = (160, 250)  # of the first column: the least and the most
# What has to be seen in a window of 1280 px; the other columns may lie beyond the right edge.
_NEEDED = (
    "t0", "t1", "delta", "share", "n", "n_change", "bytes", "bytes_change", "made", "made_change",
)  # fmt: skip
_LEAST_NAME = 10  # characters that are left of a name however deep it stands
_LEAST_IN_MB = 10e6  # below, a column with one decimal shows kB: tens of them are 0.0 MB
_NO_NEWS_US = 0.5  # per step; what two runs of the same code differ by


class _Unit(NamedTuple):
    """Of a column of bytes."""

    bytes: float
    name: str


_KB, _MB = _Unit(1e3, "kB"), _Unit(1e6, "MB")


def show_modules(rows: Sequence[ModuleRow], shown: Shown, *, as_tree: bool) -> None:
    """Draw modules; of a tree each indented below what it lies in."""
    columns: dict[str, list[Any]] = {"name": []}
    _add_times(columns, rows, [shown.divided.modules.change_ns(row) for row in rows], shown)
    units = _add_work(columns, rows, shown)
    most_px = _room_px(columns, shown, units)
    columns["name"] = [in_tree(row, most_px) if as_tree else _ending(row) for row in rows]
    if as_tree and any(row.class_name for row in rows):
        columns["class"] = [row.class_name for row in rows]
    if any(row.members or len(row.path) > _LONGEST_NAME for row in rows) and not as_tree:
        columns["path"] = [row.path or ", ".join(row.members[:3]) for row in rows]
    items = [module_item(row.path).beside(shown.beside) if row.path else None for row in rows]
    _draw(columns, items, shown, "module_table", units)


def _add_work(
    columns: dict[str, list[Any]], rows: Sequence[ModuleRow], shown: Shown
) -> Mapping[str, _Unit]:
    """Kernels, bytes that are moved and allocated, what of the time is shared, and copies.

    Returns:
        The units of the columns of bytes, by name.
    """
    of_side: dict[str, Callable[[ModuleSide], float | None]] = {
        "n": lambda own: own.n_kernels,
        "bytes": lambda own: own.bytes_moved,
        "made": lambda own: own.made_bytes,
    }
    units: dict[str, _Unit] = {}
    for name, total in of_side.items():
        sides = [[_per_step(row, side, total(row.sides[side])) for row in rows] for side in (0, 1)]
        if name != "n":
            units[name] = _unit_of(sides)
        one = units[name].bytes if name in units else 1.0
        if any(number is not None for number in sides[1]):
            _add_numbers(columns, name, [_in_units(numbers, one) for numbers in sides], shown)
    columns["shared"] = [row.per_step(row.sides[1].shared_ns, 1) / 1e3 for row in rows]
    copies = [_per_step(row, 1, row.sides[1].n_copies) for row in rows]
    columns["copies"] = _in_units(copies, 1.0)
    return units


def _unit_of(sides: Sequence[Sequence[float | None]]) -> _Unit:
    """That in which the largest of these bytes is written with few digits and the small are not 0.

    One for both runs, and for what changed.
    """
    largest = max((number for side in sides for number in side if number is not None), default=0)
    return _MB if largest >= _LEAST_IN_MB else _KB


def in_tree(row: ModuleRow, most_px: int = _NAME_PX[1]) -> str:
    """The name below its parents', cut in its middle where they leave it too little room.

    Before it stands how many calls fall together in it, where no file says of which modules.

    Args:
        row: of the tree.
        most_px: width of the column.
    """
    room = (most_px - _PADDING_PX - _INDENT_PX * row.depth) / _CHARACTER_PX
    counted = counted_calls(row)
    name = clipped(name_in_tree(row), max(_LEAST_NAME, int(room) - len(counted)))
    return f"{_INDENT * row.depth}{counted}{name}"


def _room_px(columns: Mapping[str, Sequence[Any]], shown: Shown, units: Mapping[str, _Unit]) -> int:
    """What the columns that have to be seen leave to the names."""
    described = wide_enough(_columns(shown, 0, units), columns)
    needed = {name: described[name] for name in columns if name in _NEEDED}
    return px_of_names(_name_room(), _NAME_PX[0], needed)


def _name_room() -> NameRoom:
    return name_room(_NAME_PX[1], _LONGEST_NAME)


def _name_px(names: Sequence[str], most_px: int) -> int:
    """What the longest name takes, as far as the other columns can spare it."""
    longest = max(
        (
            name.count(_INDENT) * _INDENT_PX + len(name.lstrip(_INDENT)) * _CHARACTER_PX
            for name in names
        ),
        default=0,
    )
    return max(_NAME_PX[0], min(most_px, round(longest + _PADDING_PX)))


def _ending(row: ModuleRow) -> str:
    """The title; of a long path its end, which tells it from others."""
    title, longest = row_title(row), _name_room().characters
    return title if len(title) <= longest else f"…{title[1 - longest :]}"


def show_operators(rows: Sequence[OperatorRow], shown: Shown) -> None:
    """Draw operators, the most expensive of the candidate first."""
    longest = _name_room().characters
    # Of kernels that no operator launches the names are long and alike.
    kernels = [row.name for row in rows if len(row.name) > longest]
    label_of = dict(zip(kernels, kernel_labels(kernels, longest), strict=True))
    names = [label_of.get(row.name, row.name) for row in rows]
    columns: dict[str, list[Any]] = {"name": names}
    _add_times(columns, rows, [row.delta_ns for row in rows], shown)
    columns["calls"] = [round(row.calls_per_step, 2) for row in rows]
    counts = [
        [round(row.per_step(row.n_kernels[side], side), 2) for row in rows] for side in (0, 1)
    ]
    _add_numbers(columns, "n", counts, shown)
    columns["shared"] = [row.per_step(row.shared_ns[1], 1) / 1e3 for row in rows]
    columns["copies"] = [round(row.per_step(row.n_copies[1], 1), 2) for row in rows]
    if any(row.is_only_in_candidate for row in rows):
        columns["only"] = ["new" if row.is_only_in_candidate else "" for row in rows]
    _draw(
        columns,
        [operator_item(row.op).beside(shown.beside) for row in rows],
        shown,
        "operator_table",
    )


def _add_times(
    columns: dict[str, list[Any]],
    rows: Sequence[ModuleRow | OperatorRow],
    changes_ns: Sequence[float | None],
    shown: Shown,
) -> None:
    if shown.is_pair:
        columns["t0"] = [row.step_ns(0) / 1e3 for row in rows]
    columns["t1"] = [row.step_ns(1) / 1e3 for row in rows]
    if shown.is_pair:
        columns["delta"] = [None if ns is None else change_us(ns) for ns in changes_ns]
    total = shown.divided.modules.root.step_ns(1)
    columns["share"] = [100 * row.step_ns(1) / total if total else None for row in rows]


def _per_step(row: ModuleRow, side: int, total: float | None) -> float | None:
    return None if total is None else row.per_step(total, side)


def _in_units(numbers: Sequence[float | None], unit: float) -> list[float | None]:
    return [None if number is None else round(number / unit, 2) for number in numbers]


def _add_numbers(
    columns: dict[str, list[Any]],
    name: str,
    sides: Sequence[Sequence[float | None]],
    shown: Shown,
) -> None:
    """The candidate's numbers and, of a pair, what changed: columns that sort by number."""
    columns[name] = list(sides[1])
    if shown.is_pair:
        digits = 2 if name == "n" else 1  # as shown: a change below is 0, and not "-0.0"
        columns[f"{name}_change"] = [
            None if before is None or after is None else round(after - before, digits) + 0.0
            for before, after in zip(*sides, strict=True)
        ]


def _draw(
    columns: dict[str, list[Any]],
    items: Sequence[Item | None],
    shown: Shown,
    key: str,
    units: Mapping[str, _Unit] = MappingProxyType({}),
) -> None:
    n = len(items)
    opened = item_in_url()
    named = [item and item.named for item in items]
    position = named.index(opened.named) if opened is not None and opened.named in named else None
    frame = pd.DataFrame(
        foreign_text({name: cells[:_MOST_ROWS] for name, cells in columns.items()})
    )
    styled: Any = frame.style
    palette = colors()

    def colour(change_us: float) -> str:
        if not abs(change_us) >= _NO_NEWS_US:  # nor where it is not known, which is NaN
            return f"color:{palette.muted}"
        return f"color:{palette.better if change_us < 0 else palette.worse}"

    name_px = _name_px(columns["name"], _room_px(columns, shown, units))
    styled, described = with_minus_signs(
        styled.map(colour, subset=["delta"]) if shown.is_pair else styled,
        wide_enough(_columns(shown, name_px, units), columns),
    )
    key = picking_key(key)
    st.dataframe(
        styled,
        hide_index=True,
        height=frame_height(min(n, _MOST_ROWS), most_px=560),
        column_config=described,
        column_order=columns_in_view(columns, described),
        on_select=lambda: _from_table(key, items),
        selection_mode="single-cell",
        selection_default={
            "selection": {"cells": [] if position is None else [(position, "name")]}
        },
        placeholder=NOTHING,
        key=key,
    )
    if n > _MOST_ROWS:
        st.caption(f"The first {_MOST_ROWS} of {n} rows; search for the others.")


def _from_table(key: str, items: Sequence[Item | None]) -> None:
    cells = st.session_state[key]["selection"]["cells"]
    open_item(items[cells[0][0]] if cells and cells[0][0] < len(items) else None)


def _columns(shown: Shown, name_px: int, units: Mapping[str, _Unit]) -> dict[str, Any]:
    after, span = shown.labels[1], shown.divided.ledger.span
    moved, made = (units.get(name, _MB).name for name in ("bytes", "made"))
    against = f"Minus what {shown.labels[0]} has."
    return {
        "name": text_column("name", width=name_px, pinned=True),
        "class": text_column("class", width=120),
        **{
            f"t{side}": column_of_time(
                label if shown.is_pair else "time",
                _LONGEST_HEAD,
                f"device time {span}, with everything below it.",
            )
            for side, label in enumerate(shown.labels)
        },
        "delta": number_column(
            "Δ µs", format="%+.1f", width=66, help="Below 0: the candidate is faster."
        ),
        "share": number_column(
            "share",
            format="%.1f %%",
            width=58,
            help=f"Of the device time {span} of {after}.",
        ),
        "calls": number_column("calls", format="%g", width=66, help=f"Calls {span}."),
        "n": number_column(
            "kernels", format="%g", width=66,
            help=f"Kernels {span} of {after} that work for it, shared ones included; copies "
            "and memsets have a column of their own.",
        ),
        "n_change": number_column("Δ", format="%+g", width=46, help=against),
        "shared": number_column(
            "shared, µs", format="%.1f", width=88,
            help=f"Of the time of {after}, its part of kernels that work for others too.",
        ),
        "copies": number_column(
            "copies, memsets", format="%g", width=124,
            help=f"Copies and memsets {span} of {after} that work for it.",
        ),
        "bytes": number_column(
            f"moved, {moved}", format="%.1f", width=80,
            help=f"Read and written {span} of {after}, at least, by the shapes of the tensors.",
        ),
        "bytes_change": number_column(f"Δ {moved}", format="%+.1f", width=62, help=against),
        "made": number_column(
            f"alloc., {made}", format="%.1f", width=82,
            help=f"Allocated {span} of {after}; a CUDA graph's replay allocates nothing.",
        ),
        "made_change": number_column(f"Δ {made}\u200b", format="%+.1f", width=60, help=against),
        "only": text_column("", width=50, help=f"new: only {after} runs it."),
        "path": text_column("paths", width=230),
    }  # fmt: skip
