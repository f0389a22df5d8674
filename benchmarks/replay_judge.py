"""Replayed kernels by operator and module, against tables that TraceLens committed.

    python -m benchmarks.replay_judge TRACES
    python -m benchmarks.replay_judge --pair FOLDER [--truth FILE]

TRACES: `tests/traces/inference` of a checkout of AMD-AGI/TraceLens (nothing of it is in this
repository). Its `perf_csvs/ops_unique_args.csv` says of each operator its kernels and module; it is
read here with the csv module alone.

FOLDER: what `server_loop --parts traces` writes. The same steps ran eager with Python calls: each
kernel's operator and module, read here as plain JSON, is the truth for the kernel that the graph
replays in its place. --truth keeps it as a file.
"""

import argparse
import csv
import gzip
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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

_MODULE = "nn.Module: "

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


Kernel = tuple[str, str, str]  # name, operator, its module with its number ("Attention_3")


def launched(path: Path) -> list[Kernel]:
    """The device events of an eager trace in their order, each with what launched it."""
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    calls = {
        event["args"]["correlation"]: event
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    around: defaultdict[tuple[int, bool], list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event.get("cat") == "cpu_op":
            around[event["tid"], False].append(event)
        elif event.get("cat") == "python_function" and event["name"].startswith(_MODULE):
            around[event["tid"], True].append(event)

    def innermost(call: dict[str, Any], is_module: bool) -> str:
        inside = [
            event
            for event in around[call["tid"], is_module]
            if event["ts"] <= call["ts"] < event["ts"] + event["dur"]
        ]
        return max(inside, key=lambda event: event["ts"])["name"] if inside else ""

    kernels = []
    for event in _on_device(events):
        call = calls[event["args"]["correlation"]]
        module = innermost(call, is_module=True).removeprefix(_MODULE)
        kernels.append((event["name"], innermost(call, is_module=False), module))
    return kernels


def _on_device(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    return sorted(work, key=lambda event: event["ts"])


def replayed(trace: Trace) -> list[tuple[Kernel, int]]:
    """The device events of a trace in their order, as the product says them, and their ns."""
    rows = trace.device.with_row_index("event").select("event", "external_id", "name", "dur_ns")
    operators = dict(event_operators(trace, rows).select("event", "name").iter_rows())
    modules: dict[int, str] = {}
    side = read_side(LedgerSide(trace))
    for step, of_unit in zip(side.steps, side.unit_modules, strict=True):
        for number, unit in enumerate(step.units):
            for event in step.form.like(unit.events).ravel().tolist() if unit.events else ():
                modules[event] = of_unit.get(number, "").rpartition(".")[2]
    return [
        ((str(name), operators.get(event, ""), modules.get(event, "")), ns)
        for event, _, name, ns in rows.iter_rows()
    ]


def judge_pair(truth: Sequence[Kernel], answers: Sequence[tuple[Kernel, int]]) -> dict[str, float]:
    """Shares of device time: with a module, and wrong by kernel, operator and module."""
    if len(truth) != len(answers):
        raise SystemExit(f"{len(truth)} kernels were launched, and {len(answers)} replayed.")
    total = sum(ns for _, ns in answers)
    pairs = list(zip(truth, answers, strict=True))
    shares = {"has module": sum(ns for (_, _, module), ns in answers if module) / total}
    for place, what in enumerate(("kernel", "operator", "module")):
        wrong = sum(ns for its, (ours, ns) in pairs if its[place] != ours[place])
        shares[f"wrong {what}"] = wrong / total
    return shares


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
    parser.add_argument("--pair", action="store_true")
    parser.add_argument("--truth", type=Path)
    arguments = parser.parse_args()
    if arguments.pair:
        return _pair(arguments.traces, arguments.truth)
    csv.field_size_limit(1 << 30)
    print("trace | replayed ms | joined | totals | operator | module")
    for folder in sorted(arguments.traces.iterdir()):
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


def _pair(folder: Path, kept: Path | None) -> int:
    truth = launched(folder / "eager" / "trace.json.gz")
    if kept is not None:
        kept.write_bytes(gzip.compress(json.dumps(truth).encode(), mtime=0))
    trace = Run.open(folder / "replay").trace
    if trace is None:
        print("The replay cannot be read.")
        return 1
    for what, share in judge_pair(truth, replayed(trace)).items():
        print(f"{what}: {share:.2%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
