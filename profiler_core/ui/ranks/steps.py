"""A step of each rank: bars for few ranks, a strip and quantiles for many."""

from collections.abc import Callable, Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.item import read_item
from profiler_core.analysis.ranks.rank_row import RankRow
from profiler_core.analysis.ranks.strip import Quantiles, quantiles_of
from profiler_core.figures.rank_blocks import RanksOfRun
from profiler_core.figures.ranks_bars import MOST_RANKS, ranks_bars, ranks_legend
from profiler_core.figures.ranks_strip import MOST_COLUMNS, ranks_strip
from profiler_core.ui.address import in_address
from profiler_core.ui.charts import show_figure, show_legend
from profiler_core.ui.dossier.address import open_item, picking_key
from profiler_core.ui.page import section
from profiler_core.ui.ranks.data import ChosenJob
from profiler_core.ui.style import colors
from profiler_core.units import format_duration

_ORDERS: dict[str, Callable[[RankRow], float]] = {
    "By rank": lambda row: row.rank,
    "Most waited for": lambda row: -row.made_wait_ns,
    "Most compute": lambda row: -row.compute_ns,
    "Most idle": lambda row: -row.idle_ns,
}


def show_steps(jobs: Sequence[ChosenJob]) -> None:
    """Where a step of each rank goes."""
    section("A step of each rank")
    if any(len(chosen_job.job.ranks) > MOST_RANKS for chosen_job in jobs):
        _strip(jobs)
    else:
        _bars(jobs)


def _bars(jobs: Sequence[ChosenJob]) -> None:
    chosen = "By rank"
    if max(len(chosen_job.job.ranks) for chosen_job in jobs) > 2:
        chosen = st.pills(
            "Order of the ranks", list(_ORDERS), default="By rank",
            label_visibility="collapsed", **in_address("order", "By rank"),
        ) or "By rank"  # fmt: skip
    palette = colors()
    show_legend(ranks_legend(palette))
    order = _ORDERS.get(chosen, _ORDERS["By rank"])
    drawn = [
        RanksOfRun(chosen_job.label, chosen_job.number, sorted(chosen_job.job.ranks, key=order))
        for chosen_job in jobs
    ]
    show_figure(
        ranks_bars(drawn, palette),
        key=picking_key("ranks_bars"),
        alt="The step of each rank as a bar: compute, exposed communication, exposed copies and "
        "idle; the tables below have the numbers.",
        on_pick=open_rank,
    )
    st.html(
        "<p class=fs-note>Communication that runs beside compute is not in the bars: it costs the "
        "step nothing. Rest on a bar to see all of it; click it for all of its rank.</p>"
    )


def _strip(jobs: Sequence[ChosenJob]) -> None:
    drawn = [
        RanksOfRun(chosen_job.label, chosen_job.number, chosen_job.job.ranks) for chosen_job in jobs
    ]
    st.html(
        f"<p class=fs-note>{column_text(jobs)} The more colour, the longer; each row has "
        "its own scale, which a difference of less than 2 % of the step does not fill. Click a "
        "cell for all of its rank.</p>"
    )
    show_figure(
        ranks_strip(drawn, colors()),
        key=picking_key("ranks_strip"),
        alt="Step, compute, exposed communication, copies, idle and waiting of all ranks as a "
        "strip of colours; the table below has the quantiles.",
        on_pick=open_rank,
    )
    for chosen_job in jobs:
        st.html(_quantiles(chosen_job.label, quantiles_of(chosen_job.job)))


def open_rank(text: str) -> None:
    """Open the dossier of a rank, or of one of its steps; the callback of figures.

    Args:
        text: of its item.
    """
    open_item(read_item(text))


def column_text(jobs: Sequence[ChosenJob]) -> str:
    """What a column of a heat map of these jobs shows."""
    wide = max(-(-len(chosen_job.job.ranks) // MOST_COLUMNS) for chosen_job in jobs)
    if wide == 1:
        return "A column is one rank."
    return f"A column is {wide} neighbouring ranks, and shows the one furthest from the median."


def _quantiles(label: str, rows: Sequence[Quantiles]) -> str:
    body = "".join(
        f"<tr><th scope=row style='min-width:112px'>{escape(row.label)}</th>"
        f"<td>{format_duration(row.least)} <small>rank {row.least_rank}</small></td>"
        f"<td>{format_duration(row.p5)}</td><td>{format_duration(row.median)}</td>"
        f"<td>{format_duration(row.p95)}</td>"
        f"<td>{format_duration(row.most)} <small>rank {row.most_rank}</small></td></tr>"
        for row in rows
    )
    return (
        "<div class=fs-scroll><table class='fs-t fs-opened'><thead>"
        f"<tr><th>{escape(label)}</th><th>least</th><th>5 %</th><th>median</th><th>95 %</th>"
        f"<th>most</th></tr></thead><tbody>{body}</tbody></table></div>"
    )
