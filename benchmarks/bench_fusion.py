"""How long a ledger of BERT's five profiled steps takes, and a fusion map of thousands of groups.

    python -m benchmarks.bench_fusion [--repeats 5]

Both on the shipped samples, eager against the default mode; the map draws ResNet-50's groups fifty
times over. CPU time, best of the repeats, without the reading of files.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from profiler_core.analysis.ledger.folding import in_program_order
from profiler_core.analysis.ledger.ledger import FusionLedger, LedgerSide, fusion_ledger
from profiler_core.figures.fusion_map import fusion_map
from profiler_core.figures.theme import LIGHT
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.ingest.run import open_run
from profiler_core.resources import sample_traces_directory

VARIANTS = ("eager", "default")
N_COPIES = 50


def _side(folder: Path) -> LedgerSide:
    run = open_run(folder)
    if run.trace is None:
        raise SystemExit(f"{folder} has no trace.")
    log = read_inductor(run.torch_trace) if run.torch_trace else None
    return LedgerSide(read_kineto(run.trace), log)


def _ledger_of(sides: list[LedgerSide]) -> FusionLedger:
    return fusion_ledger(sides[0], sides[1])


def _best_cpu_s(question: Callable[[], object], repeats: int) -> float:
    question()  # regular expressions and names are cached from here on
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        question()
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    """Print both times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    samples = sample_traces_directory()
    bert, resnet = (
        [_side(samples / workload / variant) for variant in VARIANTS]
        for workload in ("bert", "resnet50")
    )
    print(f"ledger of BERT        {_best_cpu_s(lambda: _ledger_of(bert), repeats):6.3f} s")
    groups = in_program_order(tuple(_ledger_of(resnet).groups) * N_COPIES)
    drawing_s = _best_cpu_s(lambda: fusion_map(groups, VARIANTS, LIGHT), repeats)
    print(f"map of {len(groups):6} groups  {drawing_s:6.3f} s")


if __name__ == "__main__":
    main()
