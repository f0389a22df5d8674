"""The table of docs/ledger.md: how much of each captured pair the fusion ledger places.

    python benchmarks/ledger_table.py FOLDER…

Each folder is a capture: its first eager run, or the run whose role is baseline, against each of
the others, with the structured logs and without any.
"""

import argparse
import time
from pathlib import Path

from profiler_core.analysis.ledger.ledger import FusionLedger, LedgerSide, fusion_ledger
from profiler_core.cli.table import table
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.ingest.run import open_run
from profiler_core.session.folder import runs_of
from profiler_core.units import format_share


def main() -> None:
    """Print one row a pair."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    rows = []
    for folder in parser.parse_args().folders:
        baseline, *candidates = runs_of(folder)
        rows += [_row(folder.name, baseline, candidate) for candidate in candidates]
    head = ["pair", "baseline", "candidate", "groups", "largest", "of several", "no module",
            "without logs", "seconds"]  # fmt: skip
    print(table(head, rows))


def _side(path: Path, logs: bool) -> LedgerSide:
    run = open_run(path)
    if run.trace is None:
        raise SystemExit(f"{path} has no trace.")
    log = read_inductor(run.torch_trace) if logs and run.torch_trace else None
    return LedgerSide(read_kineto(run.trace), log if log is not None and log.graphs else None)


def _row(name: str, baseline: Path, candidate: Path) -> list[str]:
    sides = _side(baseline, logs=True), _side(candidate, logs=True)
    start = time.process_time()
    full = fusion_ledger(*sides)
    seconds = time.process_time() - start
    bare = fusion_ledger(_side(baseline, logs=False), _side(candidate, logs=False))
    matched = [group for group in full.of_kind("matched") if group.phase != "update"]
    return [
        f"{name}: {baseline.name} → {candidate.name}",
        format_share(full.coverage_baseline),
        format_share(full.coverage_candidate),
        str(sum(1 for _ in full.of_kind("matched"))),
        format_share(_largest(full, several=False)),
        format_share(_largest(full, several=True)),
        str(sum(group.module is None for group in matched)),
        f"{format_share(bare.coverage_baseline)} / {format_share(bare.coverage_candidate)}",
        f"{seconds:.2f}",
    ]


def _largest(ledger: FusionLedger, *, several: bool) -> float:
    """The largest share of either side's step that one group has, optimizers aside."""
    return max(
        (
            max(
                group.baseline.time_ns / max(1, ledger.baseline_ns),
                group.candidate.time_ns / max(1, ledger.candidate_ns),
            )
            for group in ledger.of_kind("matched")
            if group.phase != "update"
            and (not several or sum(op.n for op in group.baseline.operators) > group.n_steps[0])
        ),
        default=0.0,
    )


if __name__ == "__main__":
    main()
