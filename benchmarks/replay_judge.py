"""Replayed kernels by operator and module, against tables that TraceLens committed.

    python -m benchmarks.replay_judge TRACES

TRACES: `tests/traces/inference` of a checkout of AMD-AGI/TraceLens (nothing of it is in this
repository). Its `perf_csvs/ops_unique_args.csv` says of each operator its kernels and module; it is
read here with the csv module alone.
"""

import argparse
import csv
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from profiler_core.analysis.event_operators import event_operators
from profiler_core.analysis.ledger.sides import LedgerSide, read_side
from profiler_core.model.trace import Trace
from profiler_core.session.run import Run

_TABLE = Path("perf_csvs", "ops_unique_args.csv")

# One kernel of TraceLens's `kernel_details_summary`, a Python list of dicts as text.
_KERNEL = re.compile(
    r"\{'name': (?P<quote>['\"])(?P<name>.*?)(?P=quote), 'stream': \d+, 'count': \d+, "
    r"'total_duration_us': np\.float64\((?P<us>[\d.e+-]+)\)"
)
# SGLang numbers the calls of an operator in its name; TraceLens takes the number off.
_NUMBERED = re.compile(r"^(sglang_profiler::.*?)_\d+$")

Times = Counter[tuple[str, str, str]]  # (operator, class of the module, kernel) -> ns


def theirs(table: Path) -> Times:
    """What TraceLens says."""
    times: Times = Counter()
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            module = row["parent_module"].removeprefix("nn.Module: ")
            for kernel in _KERNEL.finditer(row["kernel_details_summary"]):
                ns = float(kernel["us"]) * 1000
                times[row["name"], module, kernel["name"]] += ns
    return times


def ours(trace: Trace) -> Times:
    """What Fusionscope says of the same trace."""
    rows = trace.device.with_row_index("event").select("event", "external_id")
    operators = dict(event_operators(trace, rows).select("event", "name").iter_rows())
    names, durations = trace.device["name"].cast(str).to_list(), trace.device["dur_ns"].to_list()
    side = read_side(LedgerSide(trace))
    times: Times = Counter()
    for step, modules in zip(side.steps, side.unit_modules, strict=True):
        for number, unit in enumerate(step.units):
            innermost = modules.get(number, "").rpartition(".")[2]
            module = re.sub(r"_\d+$", "", innermost)
            for event in step.form.like(unit.events).ravel().tolist() if unit.events else ():
                operator = _NUMBERED.sub(r"\1", operators.get(event, ""))
                times[operator, module, names[event]] += durations[event]
    return times


def agreement(theirs: Times, ours: Times, places: Sequence[int]) -> float:
    """The share of the time of which both say the same, of what both name."""
    sums: list[Counter[tuple[str, ...]]] = [Counter(), Counter()]
    for side, times in zip(sums, (theirs, ours), strict=True):
        for key, ns in times.items():
            side[tuple(key[place] for place in places)] += ns
    total = sum(sums[0].values())
    return sum(min(ns, sums[1][key]) for key, ns in sums[0].items()) / total


def main() -> int:
    """Judge each folder that has captures and a table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("traces", type=Path)
    csv.field_size_limit(1 << 30)
    print("trace | replayed ms | joined | totals | operator | module")
    for folder in sorted(parser.parse_args().traces.iterdir()):
        if not (folder / "capture_traces").is_dir() or not (folder / _TABLE).is_file():
            continue
        run = Run.open(folder)
        summary, trace = run.summary, run.trace
        if summary is None or trace is None or summary.replays is None:
            print(f"{folder.name} | not read: {[p.problem for p in run.problems('trace')]}")
            continue
        replays, left, right = summary.replays, theirs(folder / _TABLE), ours(trace)
        equal = abs(sum(left.values()) - sum(right.values())) < 1
        print(
            f"{folder.name} | {replays.replayed_ns / 1e6:.2f} | "
            f"{replays.joined_ns / replays.replayed_ns:.1%} | {'equal' if equal else 'differ'} | "
            f"{agreement(left, right, (0, 2)):.1%} | {agreement(left, right, (1, 2)):.1%}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
