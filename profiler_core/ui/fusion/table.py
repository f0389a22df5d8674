"""The groups of one candidate as rows; each opens a dossier."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from profiler_core.analysis.counters.groups import MeasuredLedger
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ranks.job_ledger import JobLedger, Spread
from profiler_core.analysis.wording.groups import confidence_of
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.export.ledger_events import as_parquet, events_of_pairs
from profiler_core.session.pair import Pair
from profiler_core.ui.candidate import tell_of
from profiler_core.ui.counters.words import dram_change
from profiler_core.ui.dossier.address import picked_row, picking_key
from profiler_core.ui.download import download_button
from profiler_core.ui.fusion.address import open_group
from profiler_core.ui.links import plain_option
from profiler_core.ui.style import colors
from profiler_core.ui.table import (
    NOTHING,
    NameRoom,
    change_us,
    column_of_each_run,
    column_of_time,
    columns_in_view,
    fitting_names,
    foreign_text,
    frame_height,
    is_wide,
    name_room,
    number_column,
    px_of_names,
    text_column,
    wide_enough,
    with_minus_signs,
)

_LONGEST_HEAD = 10  # characters of a run's name
_GROUP_PX, _LONGEST_GROUP = (160, 210), 30  # the least and the most, and characters
_SOURCE = NameRoom(166, 60)  # cut by its px alone
# The same of a module with ", …" behind, in a small window and in a wide one: its end is in view.
_MODULE, _WIDE_MODULE = NameRoom(146, 18), NameRoom(180, 24)
# What has to be seen beside the groups in a window of 1280 px.
_NEEDED = ("t0", "t1", "delta", "n0", "n1", "source", "module")
_MOST_ROWS = 2000
_FOREIGN = ("group", "source", "module")  # what the runs' files name
_NO_NEWS_US = 0.5  # per step; what two runs of the same code differ by


def choose_listed(pairs: Mapping[int, Pair], listed: int) -> None:
    """Whose groups the table lists, where several candidates are drawn."""
    if len(pairs) < 2:
        return
    st.session_state["fusion_listed"] = listed
    st.segmented_control(
        "Groups of",
        list(pairs),
        format_func=lambda number: plain_option(pairs[number].labels[1]),
        required=True,
        key="fusion_listed",
        on_change=lambda: tell_of(st.session_state["fusion_listed"]),
    )


def show_table(
    pair: Pair,
    shown: Sequence[FoldedGroup],
    candidate: int,
    measured: MeasuredLedger | None = None,
) -> None:
    """Draw the rows; a click anywhere in one opens the dossier of its slowest group.

    Args:
        pair: baseline and candidate.
        shown: its groups that the filters leave.
        candidate: which one it is, for the URL.
        measured: what hardware counters say of the groups; None: nothing.
    """
    rows = list(shown[:_MOST_ROWS])
    key = picking_key(f"fusion_table_{candidate}")
    cells, described = cells_and_columns(pair, rows, measured)
    styled, columns = with_minus_signs(_styled(cells), described)
    st.dataframe(
        styled,
        hide_index=True,
        height=frame_height(len(rows), most_px=420),
        column_config=columns,
        column_order=columns_in_view(cells, columns),
        on_select=lambda: _from_table(key, rows, candidate),
        selection_mode="single-cell",
        placeholder=NOTHING,
        key=key,
    )
    if len(shown) > _MOST_ROWS:
        st.caption(
            f"The first {_MOST_ROWS} of {len(shown)} rows; use the filters to see the others."
        )


def _from_table(key: str, rows: Sequence[FoldedGroup], candidate: int) -> None:
    row = picked_row(key)
    if row is not None and row < len(rows):
        open_group(candidate, rows[row])


def _group_room(cells: Mapping[str, list[Any]], described: Mapping[str, Any]) -> NameRoom:
    """As much as the columns leave that have to be seen."""
    least_px, most_px = _GROUP_PX
    room = name_room(most_px, _LONGEST_GROUP)
    needed = {name: described[name] for name in _NEEDED if name in cells}
    return NameRoom(px_of_names(room, least_px, needed), room.characters)


def cells_and_columns(
    pair: Pair, rows: Sequence[FoldedGroup], measured: MeasuredLedger | None = None
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """What stands in the columns by name, in their order, and how `st.dataframe` draws each."""
    cells = _cells(rows, measured, pair.over_ranks)
    described = wide_enough(_columns(pair), cells)
    room = _group_room(cells, described)
    names = [clipped(group.label, room.characters) for group in rows]
    described["group"] = text_column("operators of the baseline", width=room.px, pinned=True)
    return {"group": fitting_names(names, room), **cells}, described


def _module_room() -> NameRoom:
    return _WIDE_MODULE if is_wide() else _MODULE


def _cells(
    rows: Sequence[FoldedGroup], measured: MeasuredLedger | None, job: JobLedger | None
) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        "t0": [group.baseline_ns / 1e3 for group in rows],
        "t1": [group.candidate_ns / 1e3 for group in rows],
        "delta": [change_us(group.delta_ns) for group in rows],
        **{f"n{side}": [round(group.n_kernels[side], 2) for group in rows] for side in (0, 1)},
    }
    if job is not None and len(job.ranks) > 1:
        columns["ranks"] = [_over_ranks(job.of_groups(group.numbers, 1)) for group in rows]
    if measured is not None:
        columns["dram"] = [dram_change(measured, group.numbers) for group in rows]
    _add_places(columns, rows)
    columns["how"] = [_how(group) for group in rows]
    return columns


def _add_places(columns: dict[str, list[Any]], rows: Sequence[FoldedGroup]) -> None:
    """Where the groups come from, in the columns that any of them has something for."""
    if any(group.first.sources for group in rows):
        lines = [source_cell([label for label, _ in group.first.sources]) for group in rows]
        columns["source"] = fitting_names(lines, _SOURCE)
    if any(group.first.module for group in rows):
        columns["module"] = [_module(group) for group in rows]
    if len({group.phase for group in rows}) > 1:
        columns["phase"] = [group.phase for group in rows]


def source_cell(labels: Sequence[str]) -> str:
    """The first line and how many more: "resnet.py:155 +1"; a second one was cut."""
    more = f" +{len(labels) - 1}" if len(labels) > 1 else ""
    return f"{labels[0]}{more}" if labels else ""


def _styled(cells: Mapping[str, list[Any]]) -> Any:
    columns = dict(cells)
    palette = colors()

    def colour(change_us: float) -> str:
        if abs(change_us) < _NO_NEWS_US:
            return f"color:{palette.muted}"
        return f"color:{palette.better if change_us < 0 else palette.worse}"

    columns |= foreign_text({name: columns[name] for name in _FOREIGN if name in columns})
    styled: Any = pd.DataFrame(columns).style
    return styled.map(colour, subset=["delta"])


def offer_events(pair: Pair) -> None:
    """A download of the listed candidate's ledger, one row for each device event."""
    download_button(
        "Download the ledger as Parquet",
        lambda: as_parquet(events_of_pairs([pair])),
        file_name="ledger.parquet",
        mime="application/vnd.apache.parquet",
        help="One row for each device event of both runs, with its group.",
        type="tertiary",
        on_click="ignore",
    )


def _over_ranks(spread: Spread) -> str:
    """From the fastest to the slowest rank, which is named, µs."""
    least, most = (ns / 1e3 for ns in (spread.least_ns, spread.most_ns))
    return f"{least:.1f} – {most:.1f} (rank {spread.slowest})"


def _module(group: FoldedGroup) -> str:
    modules = list(dict.fromkeys(member.module for member in group.groups if member.module))
    if not modules:
        return ""
    first, longest = modules[0], _module_room().characters
    if len(first) > longest:  # its end tells it from the others of its layer
        first = f"…{first[1 - longest :]}"
    return first if len(modules) == 1 else f"{first}, …"


def _how(group: FoldedGroup) -> str:
    return confidence_of(group) if group.kind == "matched" else group.kind


def _columns(pair: Pair) -> dict[str, Any]:
    span = pair.ledger.span
    return {
        **{
            f"t{side}": column_of_time(label, _LONGEST_HEAD, f"{pair.time_word} {span}.")
            for side, label in enumerate(pair.labels)
        },
        "delta": number_column(
            "Δ µs", format="%+.1f", width=66, help="Below 0: the candidate is faster."
        ),
        **column_of_each_run(
            "n",
            "kernels",
            pair.labels,
            f"kernels {span}, without copies and memsets.",
            width_px=66,
        ),
        "ranks": text_column(
            "all ranks, µs",
            width=170,
            help=f"Of {pair.labels[1]}: from the fastest to the slowest rank, {span}.",
        ),
        "dram": text_column(
            "DRAM",
            width=150,
            help=f"Bytes read and written in memory {span}, measured by Nsight Compute.",
        ),
        "source": text_column(
            "source line",
            width=_SOURCE.px,
            help="The first, and how many more; a click opens the dossier, which has them all.",
        ),
        "module": text_column("module", width=_module_room().px),
        "phase": text_column("phase", width=80),
        "how": text_column("known with", width=170),
    }
