"""The sortable table of kernels, each row of which opens a dossier."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.counters.kernels import KernelCounters
from profiler_core.analysis.item import kernel_item
from profiler_core.analysis.kernel_names import kernel_labels, plain_kernel_name
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.wording.operator import place_text
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.spreadsheet import harmless, harmless_cells
from profiler_core.ui.dossier.address import open_item, picked_row, picking_key
from profiler_core.ui.download import download_button
from profiler_core.ui.style import colors
from profiler_core.ui.table import (
    NOTHING,
    NameRoom,
    change_us,
    column_of_each_run,
    column_of_time,
    columns_in_view,
    fitting_names,
    frame_height,
    name_room,
    number_column,
    px_of_longest,
    px_of_names,
    text_column,
    wide_enough,
    with_minus_signs,
)

_HEIGHT_PX = 460
# (characters of a name, the column that holds them in px, characters of a run's name) of two runs
# and of more.
_ROOM, _LITTLE_ROOM = (32, 248, 16), (29, 230, 10)
_LEAST_NAME_PX, _CHARACTER_PX = 160, 7
_KIND_PX = (110, 170)  # of the column of kinds: the least and the most
_COUNTED = ("dram_read_bytes", "dram_write_bytes", "l2_read_bytes", "l2_write_bytes")
_NO_NEWS_US = 0.5  # per step; smaller than what two profiled runs of the same code differ by


# For each run the counters of its kernels by name; None: it has none.
Measured = Sequence[Mapping[str, KernelCounters] | None]


def show_kernels(
    labels: Sequence[str],
    rows: Sequence[KernelRow],
    span: str,
    measured: Measured,
    *,
    order: Sequence[int],
    is_compared: bool,
    in_place: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Draw the table; a click anywhere in a row opens the dossier of its kernel.

    Args:
        labels: of the runs.
        rows: their kernels.
        span: what their times and calls are of: "per step".
        measured: their counters.
        order: places of the runs in the order of their columns.
        is_compared: say what changed; not of a trace of which an unknown part is missing.
        in_place: of an operator that one run alone calls what the other runs in its place.
    """
    key = picking_key("kernel_table")
    cells = _cells(rows, measured, order, in_place or {}, is_compared=is_compared)
    described = wide_enough(_columns(labels, span, measured), cells)
    room = _room_beside(cells, described, labels)
    described["name"] = text_column("kernel", width=room.px, pinned=True)
    described["category"] = text_column("kind", width=_kind_px(cells, described))
    frame = kernel_frame(_names(rows, room), cells)
    styled, columns = with_minus_signs(_styled(frame), described)
    st.dataframe(
        styled,
        hide_index=True,
        height=frame_height(len(rows), most_px=_HEIGHT_PX),
        column_config=columns,
        column_order=columns_in_view(("name", *cells), columns),
        on_select=lambda: _from_table(key, rows),
        selection_mode="single-cell",
        placeholder=NOTHING,
        key=key,
    )


def kernel_frame(names: Sequence[str], cells: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """The names with what stands beside them; a column that no row has a number for is of NaN."""
    frame = pd.DataFrame({"name": names, **cells})
    empty = [name for name in frame if frame[name].isna().all()]
    return frame.astype(dict.fromkeys(empty, float))


def _from_table(key: str, rows: Sequence[KernelRow]) -> None:
    row = picked_row(key)
    if row is not None and row < len(rows):
        open_item(kernel_item(rows[row].name))


def offer_csv(
    labels: Sequence[str], rows: Sequence[KernelRow], span: str, measured: Measured
) -> None:
    """A download of exactly the rows that are shown."""
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    download_button(
        f"Download {count} as CSV",
        lambda: kernel_csv(labels, rows, measured, span),
        file_name="kernels.csv",
        mime="text/csv",
        type="tertiary",
        on_click="ignore",
        disabled=not rows,
    )


def kernel_csv(
    labels: Sequence[str],
    rows: Sequence[KernelRow],
    measured: Measured = (),
    span: str = "per step",
) -> str:
    """The rows as CSV: every number, times in ns, bytes per step."""
    of = span.replace(" ", "_")
    out = io.StringIO()
    writer = csv.writer(out)
    heads = (f"n_{of}", f"time_ns_{of}", "mean_ns", "min_ns", "max_ns")
    counted = [
        (label, counters_of_run)
        for label, counters_of_run in zip(labels, measured, strict=False)
        if counters_of_run
    ]
    heads_of_runs = (
        *(f"{r}: {h}" for r in labels for h in heads),
        *(f"{r}: {h}_per_step" for r, _ in counted for h in _COUNTED),
    )
    writer.writerow(["name", "category", *harmless_cells(heads_of_runs)])
    for row in rows:
        cells: list[Any] = [harmless(row.name), row.category]
        for side in row.sides:
            cells += (
                [""] * len(heads)
                if side is None
                else [side.n, side.time_ns, side.mean_ns, side.min_ns, side.max_ns]
            )
        for _, counters_of_run in counted:
            counters = counters_of_run.get(row.name)
            cells += ["" if counters is None else getattr(counters.measured, h) for h in _COUNTED]
        writer.writerow(cells)
    return out.getvalue()


def _styled(frame: pd.DataFrame) -> Any:
    styled: Any = frame.style  # its stubs know no columns by name
    deltas = [name for name in frame if str(name).startswith("d")]
    palette = colors()

    def color(change_us: float) -> str:
        if not abs(change_us) >= _NO_NEWS_US:  # nor where neither run has it, which is NaN
            return f"color:{palette.muted}"
        return f"color:{palette.better if change_us < 0 else palette.worse}"

    return styled.map(color, subset=deltas) if deltas else styled


def _names(rows: Sequence[KernelRow], room: NameRoom) -> list[str]:
    labels = kernel_labels([row.name for row in rows], room.characters)
    return harmless_cells(fitting_names(labels, room))


def _cells(
    rows: Sequence[KernelRow],
    measured: Measured,
    order: Sequence[int],
    in_place: Mapping[str, Sequence[str]],
    *,
    is_compared: bool,
) -> dict[str, list[Any]]:
    """What stands beside the names, by column."""
    cells: dict[str, list[Any]] = {}
    for run in order:
        sides = [row.sides[run] for row in rows]
        cells[f"t{run}"] = [None if side is None else side.time_ns / 1e3 for side in sides]
        if run and is_compared:
            cells[f"d{run}"] = [
                None if row.sides[0] is row.sides[run] is None else change_us(row.delta_ns(run))
                for row in rows
            ]
    cells["category"] = [CATEGORIES.get(row.category, row.category) for row in rows]
    for run in order:
        sides = [row.sides[run] for row in rows]
        cells[f"n{run}"] = [None if side is None else round(side.n, 2) for side in sides]
    if in_place:
        cells["place"] = [_place(row.name, in_place) for row in rows]
    for run in order:
        if counted := measured[run]:
            cells[f"m{run}"] = [_dram_mb(counted.get(row.name)) for row in rows]
    cells["whole"] = [plain_kernel_name(row.name) for row in rows]
    return cells


def _place(name: str, in_place: Mapping[str, Sequence[str]]) -> str | None:
    return harmless(place_text(in_place[name])) if name in in_place else None


def _dram_mb(counters: KernelCounters | None) -> float | None:
    moved = None if counters is None else counters.measured.dram_bytes
    return None if moved is None else moved / 1e6


def _room(labels: Sequence[str]) -> tuple[NameRoom, int]:
    """Of the kernels' names at the most, and the characters of a run's."""
    characters, px, longest_head = _ROOM if len(labels) <= 2 else _LITTLE_ROOM
    return name_room(px, characters), longest_head


def _room_beside(
    cells: Mapping[str, list[Any]], described: Mapping[str, Any], labels: Sequence[str]
) -> NameRoom:
    """Of the kernels' names: what times, changes, kinds and calls leave of a small window."""
    room, _ = _room(labels)
    kind_px = px_of_longest(cells["category"], _KIND_PX[1])
    needed = {**_numbers(cells, described), "category": {"width": kind_px}}
    px = px_of_names(room, _LEAST_NAME_PX, needed)
    return NameRoom(px, min(room.characters, px // _CHARACTER_PX))


def _kind_px(cells: Mapping[str, list[Any]], described: Mapping[str, Any]) -> int:
    """Of the column of kinds: what the longest takes, as far as the others leave it."""
    least_px, most_px = _KIND_PX
    longest = NameRoom(max(least_px, px_of_longest(cells["category"], most_px)), 0)
    needed = {**_numbers(cells, described), "name": described["name"]}
    return px_of_names(longest, least_px, needed)


def _numbers(cells: Mapping[str, list[Any]], described: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of times, changes and calls."""
    return {name: described[name] for name in cells if name[0] in "tdn"}


def _columns(labels: Sequence[str], span: str, measured: Measured) -> dict[str, Any]:
    """Each run's times first, which a phone shows beside the names without scrolling."""
    _, longest_head = _room(labels)
    config: dict[str, Any] = {
        **column_of_each_run("n", "calls", labels, f"calls {span}.", width_px=50),
        "whole": text_column("whole name", width=240),
        "place": text_column(
            "in its place",
            width=240,
            help="of an operator that one run alone calls: what the other one runs in its fusion "
            "groups.",
        ),
    }
    for run, label in enumerate(labels):
        config[f"t{run}"] = column_of_time(
            label, longest_head, f"time of all its calls {span}, µs."
        )
        if run:
            config[f"d{run}"] = number_column(
                "Δ µs" + "\u200b" * run,  # heads must differ
                format="%+.1f",
                width=66,
                help=f"{label}: time {span}, minus the baseline's; a kernel that does not run "
                "takes none.",
            )
    for run, counted in enumerate(measured):
        if counted:
            head = f"DRAM MB, {clipped(labels[run], longest_head)}"
            config[f"m{run}"] = number_column(
                head,
                format="%.1f",
                width=34 + 7 * len(head),
                help=f"{labels[run]}: read from and written to DRAM {span}, MB, as Nsight "
                "Compute measured it.",
            )
    return config
