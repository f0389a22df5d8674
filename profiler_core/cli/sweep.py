"""`sweep PATH`: speed-up, step time, memory and compile time against the swept option."""

import argparse
from pathlib import Path

from profiler_core.analysis.rows.sweep import variant_row
from profiler_core.analysis.rows.table import Cell
from profiler_core.analysis.sweep.series import Sweep, SweepSeries
from profiler_core.analysis.wording.sentence import plain
from profiler_core.analysis.wording.sweep import (
    evidence,
    failures,
    headline,
    value_text,
    without_candidate,
)
from profiler_core.answers.encoding import write_json
from profiler_core.answers.sweep import sweep_answer
from profiler_core.cli.sweep_runs import sweep_at
from profiler_core.cli.table import table


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
    rows = []
    for point in sweep.points:
        row = variant_row(sweep, point, point.baseline)
        rows.append([value_text(point), _text(row.baseline_step), _text(row.baseline_memory)])
    return table([sweep.label, sweep.baseline, "memory"], rows)


def _table(sweep: Sweep, series: SweepSeries) -> str:
    heads = [
        sweep.label,
        sweep.baseline,
        series.label,
        "speed-up",
        "95 % interval",
        f"{sweep.counted}/s",
        f"memory {sweep.baseline}",
        "memory",
        "compile",
        "break-even steps",
    ]
    rows = [
        (Cell(value_text(point)), *variant_row(sweep, point, variant).cells)
        for point in sweep.points
        for variant in point.variants[1:]
        if variant.series == series.label
    ]
    used = [n for n in range(len(heads)) if n < 4 or any(row[n] is not None for row in rows)]
    return table([heads[n] for n in used], [[_text(row[n]) for n in used] for row in rows])


def _text(cell: Cell | None) -> str:
    return "–" if cell is None else cell.text
