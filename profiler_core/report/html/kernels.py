"""The chapter of kernels: the longest as bars, more of them as a table, kinds of all."""

from collections.abc import Mapping, Sequence
from typing import Any

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.kernel_names import kernel_labels
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.rows.categories import calls_head, category_rows
from profiler_core.analysis.rows.table import Cell, Table
from profiler_core.analysis.wording.without_work import not_beside_kernels
from profiler_core.figures.kernel_bars import kernel_bars
from profiler_core.figures.theme import LIGHT
from profiler_core.report.contents import Contents
from profiler_core.report.html.charts import Charts
from profiler_core.units import format_count, format_duration

_MOST = 16  # kernels in the table; --tables has all
_LONGEST = 72  # characters of a name


def kernels(contents: Contents, charts: Charts) -> Mapping[str, Any] | None:
    """What `report/kernels.html` shows; None where no run has a trace."""
    rows = contents.kernels
    if not rows:
        return None
    labels = [contents.labels[run] for run in contents.kernel_runs]
    span = contents.kernels_span
    alt = f"Time {span} of the longest kernels in each run; the table below has the numbers."
    heads = ("Kernel", *(head for label in labels for head in (calls_head(label), label)))
    return {
        "span": span,
        "chart": charts.chart(kernel_bars(labels, rows, LIGHT, span=span), alt),
        "table": Table(heads, _rows(rows[:_MOST]), max(0, len(rows) - _MOST)),
        "left_out": [
            not_beside_kernels(side.label)
            for run, side in enumerate(contents.sides)
            if run not in contents.kernel_runs and side.summary and side.summary.n_kernels
        ],
        "heads": heads[1:],
        "categories_span": contents.comparison.span,
        "categories": category_rows([contents.sides[run] for run in contents.kernel_runs]),
    }


def _rows(rows: Sequence[KernelRow]) -> tuple[tuple[Cell, ...], ...]:
    names = kernel_labels([row.name for row in rows], _LONGEST)
    return tuple(map(_row, names, rows))


def _row(name: str, row: KernelRow) -> tuple[Cell, ...]:
    cells = [Cell(name, is_code=True, below=(CATEGORIES.get(row.category, row.category),))]
    for side in row.sides:
        cells.append(Cell("·" if side is None else format_count(side.n)))
        cells.append(Cell("·" if side is None else format_duration(side.time_ns)))
    return tuple(cells)
