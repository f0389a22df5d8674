"""The points of a sweep in numbers, each with the way to its comparison."""

from profiler_core.analysis.rows.sweep import variant_row
from profiler_core.analysis.rows.table import Cell, Table
from profiler_core.analysis.sweep.series import Sweep
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.analysis.wording.sweep import shortened_failures, value_text
from profiler_core.store.sweeps import SweepGroup
from profiler_core.ui.choice import query_of
from profiler_core.ui.links import href
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.table import show_table

_LONGEST_VALUE = 40  # characters
_UNKNOWN = Cell("–")


def show_points(group: SweepGroup, sweep: Sweep) -> None:
    """One row for each point and candidate; the value opens the point's comparison."""
    section("Each point", "A value opens its comparison: where the time went, and what was fused.")
    keys = {point.path: tuple(entry.key for entry in point.entries) for point in group.points}
    heads = (
        sweep.label.capitalize(),
        "",
        f"Step, {sweep.baseline}",
        "Step, compiled",
        "Speed\u2011up",
        "95 % interval",
        f"{sweep.counted.capitalize()}/s",
        f"Memory, {sweep.baseline}",
        "Memory, compiled",
        "Compile time",
        "Break-even steps",
    )
    rows = []
    for point in sweep.points:
        name = clipped(value_text(point), _LONGEST_VALUE)
        value = Cell(name, href=href("overview", query_of(keys[point.path])))
        for variant in point.variants[1:] or point.variants:
            rows.append((value, Cell(variant.series), *variant_row(sweep, point, variant).cells))
            value = Cell("")
    used = [n for n in range(len(heads)) if n < 2 or any(row[n] is not None for row in rows)]
    if len(sweep.series) < 2:  # one candidate, or only the baseline: no need to name it
        used.remove(1)
    cells = tuple(tuple(row[n] or _UNKNOWN for n in used) for row in rows)
    kind = "fs-sweep fs-of-candidates" if 1 in used else "fs-sweep"
    show_table(Table(tuple(heads[n] for n in used), cells), kind)


def show_what_is_missing(sweep: Sweep, problems: tuple[str, ...]) -> None:
    """The errors as the runs have them, and what could not be read."""
    whole = shortened_failures(sweep)
    if whole or problems:
        section("What these numbers leave out")
        show_notes([*whole, *problems])
