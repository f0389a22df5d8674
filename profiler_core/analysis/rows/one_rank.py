"""Groups of a job's ledger that are slower on one rank only, as rows."""

from profiler_core.analysis.item import group_item
from profiler_core.analysis.ranks.job_ledger import JobLedger, SlowerGroups
from profiler_core.analysis.rows.table import Cell, Table
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.units import format_duration

_TITLE = 64  # characters


def one_rank_table(job: JobLedger, labels: tuple[str, str], most: int, run: int = 0) -> Table:
    """The groups of both runs that one rank needs longer for, the most first.

    Args:
        job: the groups on all ranks.
        labels: of baseline and candidate.
        most: rows; the rest is counted.
        run: place of the candidate in the comparison, whose groups have dossiers; 0: none has.
    """
    slower = [(side, groups) for side in (1, 0) for groups in job.slower(side)]
    slower.sort(key=lambda each: -each[1].spread.excess_ns)
    rows = tuple(_row(labels[side], groups, run) for side, groups in slower[:most])
    heads = ("Slower on one rank only, per step", "run", "rank", "more", "all ranks")
    return Table(heads, rows, max(0, len(slower) - most))


def _row(label: str, groups: SlowerGroups, run: int) -> tuple[Cell, ...]:
    spread = groups.spread
    item = group_item(run, groups.group) if run and groups.group is not None else None
    title = f"{groups.n} × {groups.title}" if groups.n > 1 else groups.title
    return (
        Cell(clipped(title, _TITLE), is_code=True, item=item),
        Cell(label),
        Cell(str(spread.slowest), below=("only there",) if groups.is_only_there else ()),
        Cell(format_duration(spread.excess_ns), tone="worse"),
        Cell(
            f"{format_duration(spread.least_ns)} to {format_duration(spread.most_ns)}",
            below=(f"median {format_duration(spread.median_ns)}",),
        ),
    )
