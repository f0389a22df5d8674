"""The bars of the ledger on the repository's own samples: sums, coverage, size of groups."""

from functools import cache
from pathlib import Path

import pytest

from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from profiler_core.ingest.run import open_run
from tests.analysis.ledger.judge.pairs import inductor_log
from tests.analysis.ledger.test_ledger import assert_adds_up
from tests.analysis.traces import trace_of

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
PAIRS = sorted(
    (f"{eager.parent.name}/{eager.name}", f"{other.parent.name}/{other.name}")
    for eager in SAMPLES.glob("*/eager*")
    for other in eager.parent.iterdir()
    if other.is_dir() and other != eager
)


@cache
def side(name: str, logs: bool) -> LedgerSide:
    run = open_run(SAMPLES / name)
    log = inductor_log(tuple(run.torch_trace)) if logs and run.torch_trace else None
    return LedgerSide(trace_of(run.trace), log)


@pytest.mark.parametrize(("baseline", "candidate"), PAIRS)
@pytest.mark.parametrize(("logs", "least"), [(True, 0.99), (False, 0.85)])
def test_sums_and_coverage(baseline, candidate, logs, least):
    left, right = side(baseline, logs), side(candidate, logs)
    result = fusion_ledger(left, right)
    assert_adds_up(result, left, right)
    assert result.coverage_baseline >= least
    assert result.coverage_candidate >= least
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


def test_what_ranks_exchange_is_no_part_of_what_it_follows():
    """DDP's hooks launch it beneath a gradient; compiled, that is another one than in eager."""
    result = fusion_ledger(side("ddp/eager", True), side("ddp/default", True))
    exchanged = [group for group in result.groups if "exchange between ranks" in group.evidence]
    operators = [
        {one.op for one in (*group.baseline.operators, *group.candidate.operators)}
        for group in exchanged
    ]
    assert sorted(operators, key=len) == [
        {"c10d::allreduce_"},
        {
            "torch::distributed::reducer::mul_out",
            "torch.distributed.ddp.reducer::copy_bucket_to_grad",
        },
    ]
    (reduce,) = [g for g in exchanged if g.title.startswith("allreduce")]
    assert reduce.baseline.n_kernels == reduce.candidate.n_kernels == 30  # ten buckets, three steps
    assert "the wait for the others is in it" in reduce.notes[0]
    for group in set(result.groups) - set(exchanged):
        names = [one.op for one in (*group.baseline.operators, *group.candidate.operators)]
        assert not any("c10d" in name or "reducer" in name for name in names)


def test_every_product_of_a_graph_that_ddp_cut_faces_its_own():
    """The parts of a cut graph have one compile id: each call belongs to its own part's nodes."""
    result = fusion_ledger(side("ddp/eager", True), side("ddp/default", True))
    n_products = 0
    for group in result.groups:
        sides = [
            sum(one.n for one in side.kernels if one.category == "gemm")
            for side in (group.baseline, group.candidate)
        ]
        assert bool(sides[0]) == bool(sides[1]), group.title
        n_products += bool(sides[0])
    assert n_products == 6 * 4 * 3  # six layers of four products, each with two gradients
