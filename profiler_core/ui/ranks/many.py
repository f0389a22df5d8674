"""What shows a job of many ranks: groups that behave alike, waiting by step, the slowest link."""

from collections.abc import Sequence

from profiler_core.analysis.rows.ranks import alike_rows, link_rows
from profiler_core.analysis.rows.table import Cell, Table
from profiler_core.figures.rank_blocks import RanksOfRun
from profiler_core.figures.ranks_waiting import ranks_waiting
from profiler_core.ui.charts import show_figure
from profiler_core.ui.dossier.address import item_in_url, picking_key
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.ranks.data import ChosenJob
from profiler_core.ui.ranks.steps import column_text, open_rank
from profiler_core.ui.style import colors
from profiler_core.ui.table import show_table

_MANY = 3  # fewer ranks are told by their bars
_ALIKE_HEADS = ("", "Ranks", "Of them", "Step", "Compute", "Exposed communication", "Idle",
                "Waited", "Made others wait")  # fmt: skip
_LINK_HEADS = ("", "Collective", "Between ranks", "Calls", "Bus bandwidth", "Other groups",
               "Time against theirs")  # fmt: skip


def show_many(jobs: Sequence[ChosenJob]) -> None:
    """All three; nothing for jobs of one and two ranks."""
    many = [chosen_job for chosen_job in jobs if len(chosen_job.job.ranks) >= _MANY]
    if not many:
        return
    section(
        "Ranks that behave alike",
        "All times within 2 % of the step; a group is named by its place in the process groups "
        "where only its ranks have it.",
    )
    show_notes(filter(None, map(_mesh, many)))
    _show(
        _ALIKE_HEADS, [(job.label, alike_rows(job.job.alike)) for job in many], "fs-alike fs-wide"
    )
    if any(any(row.waited_in_steps_ns) for job in many for row in job.job.ranks):
        section(
            "Waiting in each step",
            f"The more colour, the longer. {column_text(many)} Click a cell for that step of its "
            "rank.",
        )
        show_figure(
            ranks_waiting(
                [RanksOfRun(job.label, job.number, job.job.ranks) for job in many],
                colors(),
                item_in_url(),
            ),
            key=picking_key("ranks_waiting"),
            alt="How long each rank waited in each step, as a heat map; the table above has the "
            "means.",
            on_pick=open_rank,
        )
    linked = [(job.label, link_rows(job.job.links)) for job in many if job.job.links]
    if linked:
        section(
            "Links",
            "Groups whose collectives other groups of as many ranks have too, of as many bytes; "
            "the slowest first.",
        )
        _show(_LINK_HEADS, linked, "fs-wide")


def _mesh(chosen_job: ChosenJob) -> str:
    mesh = " × ".join(f"{d.label} {d.size}" for d in reversed(chosen_job.job.mesh))
    return f"{chosen_job.label}: {mesh}." if mesh else ""


def _show(
    heads: tuple[str, ...],
    jobs: Sequence[tuple[str, tuple[tuple[Cell, ...], ...]]],
    kind: str = "",
) -> None:
    rows = tuple(
        (Cell(label if position == 0 else ""), *row)
        for label, of_job in jobs
        for position, row in enumerate(of_job)
    )
    show_table(Table(heads, rows), kind, named=True, width_px=1040)
