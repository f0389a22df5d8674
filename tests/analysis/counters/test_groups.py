"""Counters of real fusion groups: ResNet-50 on an H200, eager and compiled.

The traces are the repository's samples, the counters (tests/fixtures/counters) of another run of
the same program; in tests/fixtures/larger both come from one program.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from profiler_core.analysis.counters.groups import measured_ledger
from profiler_core.analysis.counters.join import join
from profiler_core.analysis.counters.measured import CounterSums
from profiler_core.analysis.counters.residence import residence
from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.finding_rules.counters import dram_traffic
from profiler_core.analysis.finding_rules.facts import Facts
from profiler_core.analysis.ledger.bandwidth import bandwidth
from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.work import device_work
from profiler_core.ingest.counters.reader import read_counters
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from tests.larger import LARGER

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "tests" / "fixtures" / "counters"
PLACES = [
    pytest.param(ROOT / "sample_traces" / "resnet50", FIXTURES, "", id="samples"),
    pytest.param(
        LARGER / "captures",
        LARGER / "counters",
        "resnet50_b32.",
        id="larger",
    ),
]
POINTWISE = {"norm", "elementwise", "triton_pointwise"}


@cache
def measured(traces: Path, counters: Path, prefix: str):
    runs = [open_run(traces / f"{prefix}{variant}") for variant in ("eager", "default")]
    sides = [
        LedgerSide(
            open_trace(run.trace), read_inductor(run.torch_trace) if run.torch_trace else None
        )
        for run in runs
    ]
    files = [
        read_counters(counters / f"resnet50_b32.{variant}.ncu.csv.gz")
        for variant in ("eager", "default")
    ]
    ledger = fusion_ledger(*sides)
    joined = [join(f, device_work(s.trace)) for f, s in zip(files, sides, strict=True)]
    return runs, sides, ledger, measured_ledger(ledger, *joined)


def pointwise_sides(ledger, counted):
    """(side, bytes of a kernel by shapes, written bytes, both per step, measured) by group."""
    for number, group in enumerate(ledger.groups):
        for which, side in enumerate((group.baseline, group.candidate)):
            one = counted.of(number, which)
            if {k.category for k in side.kernels} <= POINTWISE and one and side.bytes_moved:
                n, steps = side.n_kernels, group.n_steps[which]
                yield (
                    side,
                    side.bytes_moved / n,
                    side.bytes_written / n,
                    side.bytes_moved / steps,
                    one.dram_bytes,
                )


@pytest.mark.parametrize(("traces", "counters", "prefix"), PLACES)
def test_nearly_all_kernel_time_has_a_row(traces, counters, prefix):
    *_, counted = measured(traces, counters, prefix)
    for one in counted.joined:
        assert one.matched_time_share >= 0.95


@pytest.mark.parametrize(("traces", "counters", "prefix"), PLACES)
def test_groups_sum_to_all_joined_rows(traces, counters, prefix):
    *_, counted = measured(traces, counters, prefix)
    for side, total in enumerate(counted.totals):
        parts = [counted.of(group, side) for group in counted.groups]
        assert sum(p.dram_bytes for p in parts if p) == pytest.approx(total.dram_bytes)
        whole = CounterSums(counted.joined[side].counters).total
        assert total.dram_bytes == pytest.approx(whole.dram_bytes, rel=0.01)


@pytest.mark.parametrize(("traces", "counters", "prefix"), PLACES)
def test_large_tensors_move_what_their_shapes_say(traces, counters, prefix):
    _, _, ledger, counted = measured(traces, counters, prefix)
    checked = 0
    for side, _, written, estimate, moved in pointwise_sides(ledger, counted):
        if written < 50e6:
            continue
        checked += 1
        assert moved == pytest.approx(estimate, rel=0.15), side
        assert residence(moved, estimate) == "memory"
    assert checked >= 15


@pytest.mark.parametrize(("traces", "counters", "prefix"), PLACES)
def test_tensors_that_stay_in_l2_are_recognised(traces, counters, prefix):
    """Working sets of half the cache and less stay in it, and larger ones than it do not."""
    _, _, ledger, counted = measured(traces, counters, prefix)
    l2 = counted.joined[0].counters.l2_size_bytes
    peaks = peaks_of(counted.joined[0].counters.device_name)
    assert peaks.l2_bytes == l2
    seen = {"inside": 0, "beyond": 0}
    for side, working_set, _, estimate, moved in pointwise_sides(ledger, counted):
        where = residence(moved, estimate)
        if working_set <= l2 / 2:
            seen["inside"] += 1
            assert where in ("in L2", "partly in L2"), side
            assert bandwidth(side, 1, peaks).fits_cache
            if not side.operators[0].op.startswith("aten::"):  # one fused kernel: all of it
                assert where == "in L2", side
        elif working_set > 1.5 * l2:
            seen["beyond"] += 1
            assert where == "memory", side
            assert not bandwidth(side, 1, peaks).fits_cache
    assert min(seen.values()) >= 15


@pytest.mark.parametrize(("traces", "counters", "prefix"), PLACES)
def test_fusion_removed_traffic(traces, counters, prefix):
    runs, sides, ledger, counted = measured(traces, counters, prefix)
    trace = sides[1].trace
    facts = Facts(trace, summarise(trace), runs[1].record, ledger=ledger, measured=counted)
    found = dram_traffic(facts)
    assert found.title.startswith("Fusion removed 4.")
    assert "10.2 GB → 5.30 GB" in found.evidence
    one_sided = replace(counted, joined=(counted.joined[0], None))
    assert dram_traffic(replace(facts, measured=one_sided)) is None
    assert dram_traffic(replace(facts, measured=None)) is None


@pytest.mark.parametrize(
    ("moved", "estimate", "where"),
    [(98, 100, "memory"), (60, 100, "partly in L2"), (3, 100, "in L2"), (0, 100, "in L2"),
     (180, 100, "more than shapes"), (None, 100, None), (5, None, None), (5, 0, None)],
)  # fmt: skip
def test_where_bytes_come_from(moved, estimate, where):
    assert residence(moved, estimate) == where
