"""A table of analysis on a page."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import streamlit as st

from profiler_core.analysis.rows.table import Table
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.markup import Markup, render
from profiler_core.spreadsheet import harmless_cells
from profiler_core.ui.base_address import WIDE_COOKIE
from profiler_core.ui.dossier.address import item_in_url, item_link
from profiler_core.ui.links import plain_label

NOTHING = "·"  # stands in a cell of a table for a number that there is none of
_FRAME_ROW_PX = 31  # of st.dataframe, at the theme's size of type
_FRAME_BORDERS_PX = 3
_LEAST_CHANGE_NS = 50  # 0.05 µs
_DIGIT_PX, _CELL_PADDING_PX = 7.2, 16  # of st.dataframe
# Of the letters in a cell of st.dataframe, as a browser measured them; all others are as wide as
# most digits.
_LETTERS_PX = {
    3.5: " !',.:;Iijl|`", 4.4: "()/[]ft", 5.2: "_1r{}", 6.1: "-*?s",
    8.7: "ABCDGHKNOPQRSTUVXYZ#$&+<=>~04×", 11.0: "mwMW%@…",
}  # fmt: skip
_PX_OF = {letter: px for px, letters in _LETTERS_PX.items() for letter in letters}
_MORE_PX, _MORE_CHARACTERS = 180, 26  # of a first column in a wide window
_TABLE_PX = 868  # beside the menu, in a window of 1280 px; a wide one is twice `_MORE_PX` wider
_BESIDE_PX, _BESIDE_WIDE_PX = 512, 800  # the same between the menu and a dossier


def is_wide() -> bool:
    """Was the window wide when its document was asked for?"""
    return st.context.cookies.get(WIDE_COOKIE) == "1"


@dataclass(frozen=True)
class NameRoom:
    """The first column of a table: what its width in px is, and how many characters it holds."""

    px: int
    characters: int


def name_room(px: int, characters: int) -> NameRoom:
    """The same in a small window, more in a wide one: a pinned column does not grow by itself."""
    if is_wide():
        return NameRoom(px + _MORE_PX, characters + _MORE_CHARACTERS)
    return NameRoom(px, characters)


def px_of_names(room: NameRoom, least_px: int, described: Mapping[str, Any]) -> int:
    """The width of a column of names that leaves in view the columns which have to be seen.

    Args:
        room: what the names get at the most.
        least_px: what they get however many columns there are.
        described: the others, as `st.dataframe` takes them, each with a width.
    """
    table_px = _TABLE_PX + (2 * _MORE_PX if is_wide() else 0)
    taken: int = sum(column["width"] for column in described.values())
    return max(least_px, min(room.px, table_px - taken))


def columns_in_view(shown: Iterable[str], described: Mapping[str, Any]) -> list[str]:
    """The columns to draw: all, beside an open dossier the first ones that stand there whole.

    A number that the edge of the table cuts reads as another one: 53 calls as 5.

    Args:
        shown: names of the columns, from the left.
        described: the columns as `st.dataframe` takes them, each with a width.
    """
    names = list(shown)
    if item_in_url() is None:
        return names
    room_px = _BESIDE_WIDE_PX if is_wide() else _BESIDE_PX
    ends_px = accumulate(described[name]["width"] for name in names)
    return [name for name, end_px in zip(names, ends_px, strict=True) if end_px <= room_px]


def fitting_names(names: Sequence[str], room: NameRoom) -> list[str]:
    """Shortened names, those shorter still whose letters are too wide for their column.

    Names that differ do so still.

    Args:
        names: of as many characters as there is room for, at the most.
        room: of their column.
    """
    fitting: dict[str, str] = {}
    taken = set(names)
    for name in dict.fromkeys(names):
        shorter = name
        while _text_px(shorter) > room.px - _CELL_PADDING_PX:
            shorter = _without_one(shorter)
        fitting[name] = name if shorter in taken else shorter
        taken.add(shorter)
    return [fitting[name] for name in names]


def _without_one(name: str) -> str:
    """The name without one letter more, at the place where it was cut."""
    if "…" not in name:
        return clipped(name, len(name) - 1)
    cut = len(name) - 1 if name.endswith("…") else name.index("…")
    return name[: max(0, cut - 1)] + name[cut:] if cut else name[:1] + name[2:]


def px_of_longest(texts: Iterable[str], most_px: int) -> int:
    """The width of a column that holds the longest of them, up to `most_px`."""
    longest_px = max(map(_text_px, texts), default=0.0)
    return min(most_px, math.ceil(longest_px) + _CELL_PADDING_PX)


def _text_px(text: str) -> float:
    return sum(_PX_OF.get(letter, _DIGIT_PX) for letter in text)


def foreign_text(columns: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
    """Columns for st.dataframe, whose own menu writes them as CSV: no text is a formula there."""
    return {name: harmless_cells(cells) for name, cells in columns.items()}


def frame_height(n_rows: int, *, most_px: int) -> int:
    """Height of an st.dataframe with its head: no empty rows below, none cut before `most_px`.

    A row more than that stands there whole: nobody scrolls for one.
    """
    whole = _FRAME_BORDERS_PX + _FRAME_ROW_PX * (1 + max(1, n_rows))
    return whole if whole <= most_px + _FRAME_ROW_PX else most_px


def number_column(head: str, *, help: str, **about: Any) -> Any:  # noqa: A002 - as Streamlit's
    """`st.column_config.NumberColumn`, whose help may hold names: Streamlit takes it for Markdown.

    Args:
        head: of the column.
        help: for whoever points at the head, as text.
        about: as there.
    """
    return st.column_config.NumberColumn(head, help=plain_label(help), **about)


def text_column(head: str, *, help: str = "", **about: Any) -> Any:  # noqa: A002
    """The same of `st.column_config.TextColumn`."""
    return st.column_config.TextColumn(head, help=plain_label(help) or None, **about)


def change_us(change_ns: float) -> float:
    """A change in µs for a column with one decimal, which would call less than that "-0.0"."""
    return change_ns / 1e3 if abs(change_ns) >= _LEAST_CHANGE_NS else 0.0


def column_of_time(label: str, longest: int, meaning: str) -> Any:
    """A column of one run's times, µs, as wide as its head, which is cut in the middle.

    Args:
        label: of the run; the whole stands in the help.
        longest: characters of it that there is room for.
        meaning: for whoever points at the head.
    """
    head = clipped(label, longest)
    return number_column(
        f"{head}, µs",
        format="%.1f",
        width=max(76, 34 + 7 * len(head)),
        help=f"{label}: {meaning}",
    )


def wide_enough(columns: Mapping[str, Any], cells: Mapping[str, Iterable[Any]]) -> dict[str, Any]:
    """The columns, those of numbers at least as wide as the longest of them.

    A number is cut at its left, where its sign and first digits stand: -134.29 read as 134.29.

    Args:
        columns: as `st.dataframe` takes them, each with a width.
        cells: of the columns that are shown, by name; None where there is no number.
    """
    fitting = dict(columns)
    for name in fitting.keys() & cells.keys():
        column = fitting[name]
        form = (column.get("type_config") or {}).get("format")
        if form is None:
            continue
        longest = max(
            (len(form % cell) for cell in cells[name] if cell is not None and cell == cell),
            default=0,
        )
        width = max(column["width"], math.ceil(_DIGIT_PX * longest) + _CELL_PADDING_PX)
        fitting[name] = {**column, "width": width}
    return fitting


def with_minus_signs(styled: Any, columns: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Signed numbers with "−", as everywhere else; `printf`, which Streamlit takes, writes "-".

    It shows a number as the Styler writes it where its column has no format; sorting, copying and
    its CSV keep the number.

    Args:
        styled: what is shown, a pandas Styler.
        columns: as `st.dataframe` takes them, each with the width that `wide_enough` gave it.
    """
    unsigned = dict(columns)
    for name in columns.keys() & set(styled.columns):
        kind = columns[name].get("type_config") or {}
        form = str(kind.get("format") or "")
        if form.startswith("%+"):
            styled = styled.format(partial(_signed, form), subset=[name], na_rep=NOTHING)
            unsigned[name] = {**columns[name], "type_config": {**kind, "format": None}}
    return styled, unsigned


def _signed(form: str, number: float) -> str:
    """0 has no sign, as it is no change."""
    text = form % number
    return text.replace("-", "\N{MINUS SIGN}") if text.strip("+-0.") else text.lstrip("+-")


def column_of_each_run(
    name: str, head: str, labels: Sequence[str], meaning: str, *, width_px: int
) -> dict[str, Any]:
    """A column of numbers for each run, by which each can be sorted: `head`, then `→ head`.

    Args:
        name: of the columns, with the run's number behind it.
        head: what they hold.
        labels: of the runs, the baseline first.
        meaning: for whoever points at the head.
        width_px: of the first one.
    """
    return {
        f"{name}{run}": number_column(
            # Heads must differ.
            f"→ {head}" + "\u200b" * (run - 1) if run else head,
            format="%g",
            width=width_px + (12 if run else 0),
            help=f"{label}: {meaning}",
        )
        for run, label in enumerate(labels)
    }


def show_table(
    table: Table,
    kind: str = "",
    *,
    named: bool = False,
    width_px: int = 0,
    badges: Sequence[Markup] = (),
) -> None:
    """Draw it.

    Args:
        table: heads are names of runs, or of columns.
        kind: classes of the style sheet.
        named: the first cell of a row is its head.
        width_px: no wider than this; 0: as wide as its place.
        badges: beside the heads, one for each.
    """
    st.html(
        render(
            "page/table.html",
            table=table, kind=kind, named=named, width_px=width_px, badges=list(badges),
            item_link=item_link,
        )
    )  # fmt: skip
