"""Which kernels took the time: the longest as bars, more of them as a table, kinds of all."""

from html import escape

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.figures.kernel_bars import kernel_bars
from profiler_core.figures.names import plain_kernel_name
from profiler_core.figures.theme import LIGHT
from profiler_core.report.contents import Contents
from profiler_core.report.html.charts import Charts
from profiler_core.report.html.pieces import chapter, mono, paragraph, short, table
from profiler_core.units import format_count, format_duration

_MOST = 16  # kernels in the table; --tables has all


def kernels_chapter(contents: Contents, charts: Charts) -> str:
    """Empty where no run has a trace."""
    rows = contents.kernels
    if not rows:
        return ""
    labels = [contents.labels[run] for run in contents.kernel_runs]
    heads = ["Kernel", *(word for label in labels for word in (f"n {label}", label))]
    body = []
    for row in rows[:_MOST]:
        cells = [
            f"{mono(short(plain_kernel_name(row.name), 72))}<br>"
            f"<small>{escape(CATEGORIES.get(row.category, row.category))}</small>"
        ]
        for side in row.sides:
            cells += (
                ["·", "·"]
                if side is None
                else [format_count(side.n), format_duration(side.time_ns)]
            )
        body.append(cells)
    n_left_out = len(rows) - _MOST
    alt = "Time a step of the longest kernels in each run; the table below has the numbers."
    return chapter(
        "kernels",
        "Kernels",
        "Calls and time of each kernel in a step.",
        f'<div class="keep">{charts.html(kernel_bars(labels, rows, LIGHT), alt)}</div>',
        table(heads, body),
        paragraph(f"{n_left_out} further kernels are left out here.", "muted")
        if n_left_out > 0
        else "",
        "<h3>By what they do</h3>",
        _categories(contents),
    )


def _categories(contents: Contents) -> str:
    sides = [contents.sides[run] for run in contents.kernel_runs]
    counts = [side.per_step.category_n if side.per_step else {} for side in sides]
    times = [side.per_step.category_time_ns if side.per_step else {} for side in sides]
    rows = []
    for key, label in CATEGORIES.items():
        if not any(key in run for run in counts):
            continue
        cells = [
            f'<span class=swatch style="background:{LIGHT.category(key)}"></span>{escape(label)}'
        ]
        for n, time in zip(counts, times, strict=True):
            cells += [format_count(n[key]), format_duration(time[key])] if key in n else ["·", "·"]
        rows.append(cells)
    heads = ["Kind", *(word for side in sides for word in (f"n {side.label}", side.label))]
    return table(heads, rows)
