"""`sweep PATH`: speed-up, step time, memory and compile time against the swept option."""

import argparse
from pathlib import Path

from profiler_core.analysis.sweep.series import Sweep, SweepPoint, SweepSeries, VariantAtPoint
from profiler_core.analysis.wording.sentence import plain
from profiler_core.analysis.wording.sweep import (
    evidence,
    failures,
    headline,
    short_failure,
    value_text,
    without_candidate,
)
from profiler_core.answers.encoding import write_json
from profiler_core.answers.sweep import sweep_answer
from profiler_core.cli.sweep_runs import sweep_at
from profiler_core.cli.table import table
from profiler_core.units import format_bytes, format_count, format_duration


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("sweep", help="from which value on does compiling pay")
    parser.add_argument(
        "path", type=Path, metavar="POINT_OR_FOLDER",
        help="the folder of one of its points, or a folder that holds one sweep",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="all numbers, see docs/json.md")


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    sweep = sweep_at(arguments.path)
    if arguments.json:
        write_json(sweep_answer(sweep))
    else:
        print(sweep_text(sweep))
    return 0


def sweep_text(sweep: Sweep) -> str:
    """The headlines, a table for each candidate, and what failed."""
    parts = [" · ".join([*sweep.facts, f"sweep of {sweep.label}"])]
    if not sweep.series:
        parts.append(f"{without_candidate(sweep)}\n\n{_baselines(sweep)}")
    for series in sweep.series:
        sentences = "\n".join(
            line for line in (plain(headline(sweep, series)), evidence(sweep, series)) if line
        )
        parts.append(f"{sentences}\n\n{_table(sweep, series)}")
    parts += ["\n".join(failures(sweep))] if failures(sweep) else []
    return "\n\n".join(parts)


def _baselines(sweep: Sweep) -> str:
    rows = [
        [
            value_text(point),
            short_failure(point.baseline) or "",
            format_duration(point.baseline.step_time_ns),
            _bytes(sweep.peak_bytes(point.baseline)),
        ]
        for point in sweep.points
    ]
    return table([sweep.label, "", sweep.baseline, "memory"], rows, n_text=2)


def _table(sweep: Sweep, series: SweepSeries) -> str:
    head = [
        sweep.label,
        "",
        sweep.baseline,
        series.label,
        "speed-up",
        "95 % interval",
        "samples/s",
        f"memory {sweep.baseline}",
        "memory",
        "compile",
        "break-even",
    ]
    rows = [
        _row(sweep, point, variant)
        for point in sweep.points
        for variant in point.variants[1:]
        if variant.series == series.label
    ]
    columns = [n for n in range(len(head)) if n in (0, 2, 3, 4) or any(row[n] for row in rows)]
    cells = [[row[n] for n in columns] for row in rows]
    return table([head[n] for n in columns], cells, n_text=2 if 1 in columns else 1)


def _row(sweep: Sweep, point: SweepPoint, variant: VariantAtPoint) -> list[str]:
    base = point.baseline
    low, high = variant.interval or (None, None)
    return [
        value_text(point),
        _state(base, variant),
        format_duration(base.step_time_ns),
        format_duration(variant.step_time_ns),
        "–" if variant.ratio is None else f"{variant.ratio:.2f}",
        "" if low is None else f"{low:.2f} to {high:.2f}",
        "" if variant.samples_per_s is None else format_count(variant.samples_per_s),
        _bytes(sweep.peak_bytes(base)),
        _bytes(sweep.peak_bytes(variant)),
        "" if variant.compile.seconds is None else format_duration(variant.compile.seconds * 1e9),
        _break_even(variant),
    ]


def _state(base: VariantAtPoint, variant: VariantAtPoint) -> str:
    """What failed, and in which variant if not in both."""
    base_failure, variant_failure = short_failure(base), short_failure(variant)
    if base_failure == variant_failure:
        return base_failure or ""
    failed = ((base, base_failure), (variant, variant_failure))
    return ", ".join(f"{v.series} {failure}" for v, failure in failed if failure is not None)


def _bytes(n: int | None) -> str:
    return "" if n is None else format_bytes(n)


def _break_even(variant: VariantAtPoint) -> str:
    if variant.compile.break_even_steps is not None:
        return f"{format_count(variant.compile.break_even_steps)} steps"
    return variant.compile.no_break_even or ""
