"""The points of a sweep in numbers, each with the way to its comparison."""

from dataclasses import replace

from profiler_core.analysis.rows.table import Cell, Table, Tone
from profiler_core.analysis.sweep.series import Sweep, SweepPoint, VariantAtPoint
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.analysis.wording.sweep import short_failure, shortened_failures, value_text
from profiler_core.store.sweeps import SweepGroup
from profiler_core.ui.choice import query_of
from profiler_core.ui.links import href
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.table import show_table
from profiler_core.units import format_bytes, format_count, format_duration

_TONE: dict[str | None, Tone] = {"faster": "better", "slower": "worse", "wrong_numerics": "worse"}
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
            rows.append((value, *_cells(sweep, point, variant)))
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


def _cells(sweep: Sweep, point: SweepPoint, variant: VariantAtPoint) -> tuple[Cell | None, ...]:
    """None: nothing is known."""
    base, cost, interval = point.baseline, variant.compile, variant.interval
    other = None if variant is base else variant
    steps: str | None = cost.no_break_even
    if cost.break_even_steps is not None:
        steps = format_count(cost.break_even_steps)
    range_text = None if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"
    ratio = _cell(None if variant.ratio is None else f"{variant.ratio:.2f}")
    is_wrong = variant.verdict == "wrong_numerics"
    return (
        Cell(variant.series),
        _step(base),
        None if other is None else _step(other),
        None if ratio is None else replace(ratio, tone=_TONE.get(variant.verdict, "")),
        Cell("wrong results", "worse") if is_wrong else _cell(range_text),
        _bytes(sweep.peak_bytes(base)),
        None if other is None else _bytes(sweep.peak_bytes(other)),
        _cell(None if cost.seconds is None else format_duration(cost.seconds * 1e9)),
        _cell(steps),
    )


def _cell(text: str | None) -> Cell | None:
    return None if text is None else Cell(text)


def _bytes(n: int | None) -> Cell | None:
    return None if n is None else Cell(format_bytes(n))


def _step(variant: VariantAtPoint) -> Cell | None:
    failure = short_failure(variant)
    if failure is not None:
        return Cell(failure, "worse", note=variant.error or "")
    return None if variant.step_time_ns is None else Cell(format_duration(variant.step_time_ns))
