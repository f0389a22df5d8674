"""The bars of the ledger on the repository's own samples: sums, coverage, size of groups."""

from functools import cache
from pathlib import Path

import pytest

from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.ingest.run import open_run
from tests.analysis.ledger.test_ledger import assert_adds_up

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
PAIRS = sorted(
    (f"{eager.parent.name}/{eager.name}", f"{other.parent.name}/{other.name}")
    for eager in SAMPLES.glob("*/eager*")
    for other in eager.parent.iterdir()
    if other.is_dir() and other != eager
)

# DDPOptimizer cuts a frame's graph at each bucket, and the parts of one frame share one compile
# id: two layers' calls are not told apart from the others yet. Measured with a log 99.9 and
# 92.4 %, without 60.1 and 95.6 %: the bars of this one sample, (baseline, candidate) by log.
LEAST_OF_DDP = {True: (0.99, 0.92), False: (0.6, 0.85)}


@cache
def side(name: str, logs: bool) -> LedgerSide:
    run = open_run(SAMPLES / name)
    log = read_inductor(run.torch_trace) if logs and run.torch_trace else None
    return LedgerSide(read_kineto(run.trace), log)


@pytest.mark.parametrize(("baseline", "candidate"), PAIRS)
@pytest.mark.parametrize(("logs", "least"), [(True, 0.99), (False, 0.85)])
def test_sums_and_coverage(baseline, candidate, logs, least):
    left, right = side(baseline, logs), side(candidate, logs)
    result = fusion_ledger(left, right)
    assert_adds_up(result, left, right)
    of_sample = LEAST_OF_DDP[logs] if baseline.startswith("ddp/") else (least, least)
    assert result.coverage_baseline >= of_sample[0]
    assert result.coverage_candidate >= of_sample[1]
    if baseline.startswith(("bert", "resnet50")):
        for group in result.of_kind("matched") if logs else ():
            assert group.baseline.time_ns <= 0.15 * result.baseline_ns
            assert group.candidate.time_ns <= 0.15 * result.candidate_ns


def test_programs_that_have_nothing_in_common_are_left_unmatched():
    """No giant group by position: a ResNet is no perceptron of three layers."""
    result = fusion_ledger(side("breaky/eager", False), side("resnet50/eager", False))
    for group in result.of_kind("matched"):
        assert group.candidate.time_ns <= 0.15 * result.candidate_ns
    assert result.coverage_candidate < 0.5
