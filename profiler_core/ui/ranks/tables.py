"""All ranks together, side by side for the runs, and the collectives with their bandwidth."""

from collections.abc import Sequence

from profiler_core.analysis.compare import ComparedNumbers
from profiler_core.analysis.job_step import job_steps
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.ranks.comparison import measures
from profiler_core.analysis.rows.ranks import (
    COMPILING_HEADS,
    collective_rows,
    compiling_rows,
    job_step_rows,
    measure_rows,
)
from profiler_core.analysis.rows.table import Cell, Table
from profiler_core.session.comparison import Comparison
from profiler_core.ui.page import section
from profiler_core.ui.ranks.data import ChosenJob
from profiler_core.ui.table import show_table

_HEADS = (
    ("", ""),
    ("Collective", ""),
    ("Calls", "Per step and rank."),
    ("Bytes", "Per step and rank: the larger of what goes in and what comes out."),
    ("Time", "Of its kernels, per step and rank."),
    ("Without waiting", "Time of the fastest rank: the one that came last waits for nobody."),
    ("Waiting", "What the kernels of the other ranks last longer, per step and rank."),
    (
        "Bus bandwidth",
        "Bytes over the time without waiting, times the factor of nccl-tests for the number of "
        "ranks: comparable with the bandwidth of the links.",
    ),
)


def show_job_steps(jobs: Sequence[ChosenJob], numbers: ComparedNumbers) -> None:
    """The step of each job along its critical path; nothing where no job has one.

    Args:
        jobs: that are shown.
        numbers: of all chosen runs.
    """
    every = job_steps((numbers.baseline, *numbers.sides))
    shown = [(job.label, step) for job in jobs if (step := every[job.number]) is not None]
    if not shown:
        return
    section(
        "The step of the job",
        "Along the rank that the others wait for most, "
        f"{'unprofiled' if shown[0][1].clock == 'unprofiled' else 'profiled'}; the bars of the "
        "waterfall on Overview have the same parts, opened.",
    )
    labels, steps = zip(*shown, strict=True)
    show_table(
        Table(("", *labels), job_step_rows(steps)), named=True, width_px=260 + 230 * len(shown)
    )


def show_measures(jobs: Sequence[ChosenJob]) -> None:
    """One line for each measure, one column for each run."""
    section(
        "All ranks together",
        "Per step, profiled; the step of the slowest rank, everything else as a mean over them.",
    )
    rows = measure_rows(measures(tuple(chosen_job.job for chosen_job in jobs)))
    table = Table(("", *(chosen_job.label for chosen_job in jobs)), rows)
    show_table(table, named=True, width_px=260 + 230 * len(jobs))


def show_collectives(jobs: Sequence[ChosenJob], kernels: Sequence[KernelRow]) -> None:
    """Each kind of collective with what it moves and how fast, the runs below each other.

    Args:
        jobs: that are shown.
        kernels: of all chosen runs: that of a collective has a dossier.
    """
    if not any(chosen_job.job.collectives for chosen_job in jobs):
        return
    section("Collectives")
    names = [row.name for row in kernels if row.category == "communication"]
    rows = tuple(
        (Cell(chosen_job.label if position == 0 else ""), *row)
        for chosen_job in jobs
        for position, row in enumerate(collective_rows(chosen_job.job, names))
    )
    heads, meanings = zip(*_HEADS, strict=True)
    show_table(Table(heads, rows, meanings=meanings), "fs-wide", named=True, width_px=1040)


def show_compiling(jobs: Sequence[ChosenJob], comparison: Comparison) -> None:
    """What compiling cost each rank; nothing where no rank's logs tell it.

    Args:
        jobs: that are shown.
        comparison: of all chosen runs.
    """
    rows = [
        (Cell(job.label if position == 0 else ""), *row)
        for job in jobs
        for position, row in enumerate(
            compiling_rows(comparison.runs[job.number].compiling_by_rank)
        )
    ]
    if rows:
        section(
            "Compiling, rank by rank",
            "While a rank compiles alone, the others wait before their next collective; what they "
            "waited is measured in the profiled steps.",
        )
        show_table(Table(("", *COMPILING_HEADS), tuple(rows)), "fs-wide", named=True, width_px=1040)
