"""Real captures against an independent computation, and two routes of ours against each other."""

from pathlib import Path

import pytest

from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from profiler_core.analysis.memory.allocations import allocations
from profiler_core.analysis.memory.churn import churn
from profiler_core.analysis.memory.curve import memory_curves
from profiler_core.analysis.memory.live import live_at_peak
from profiler_core.analysis.memory.report import memory_report
from profiler_core.analysis.memory.vanished import vanished_by_group, vanished_by_source
from profiler_core.analysis.work import host_steps
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.memory_snapshot.open import open_snapshot
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from tests.larger import LARGER
from tests.reference_memory import made_by_operator, memory_totals

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "sample_traces"
FIXTURES = ROOT / "tests" / "fixtures" / "captures"


def traces():
    own = sorted([*FIXTURES.glob("*/trace.json.gz"), *SAMPLES.glob("*/*/trace.json.gz")])
    larger = sorted((LARGER / "captures").glob("*/trace.json.gz"))
    return [
        pytest.param(path, id=f"{path.parent.parent.name}-{path.parent.name}") for path in own
    ] + [pytest.param(path, id=f"larger-{path.parent.name}") for path in larger]


@pytest.mark.parametrize("path", traces())
def test_totals_are_those_of_an_independent_computation(path):
    trace = open_trace(path)
    expected = memory_totals(path)
    curves = memory_curves(trace)
    cpu, on_gpu = 0, trace.has_device_events
    wanted = {key for key in expected if (key[0] != cpu) == on_gpu}
    assert {(c.device_type, c.device_id) for c in curves} == wanted
    n_steps = max(1, host_steps(trace).height)
    for curve in curves:
        churned = expected[curve.device_type, curve.device_id]
        made = allocations(trace, curve.device_type, curve.device_id)
        live = live_at_peak(trace, curve, made)
        assert curve.peak_allocated_bytes == churned["peak_allocated"]
        assert (curve.peak_reserved_bytes or 0) == churned["peak_reserved"]
        assert (made.height, made["bytes"].sum()) == (churned["n"], churned["bytes"])
        assert live.before_bytes == churned["before"]
        assert sum(row.bytes for row in live.rows) == churned["live"]
        rows = churn(made, n_steps)
        inside = made.filter(made["step"].is_not_null())
        assert sum(row.n for row in rows.rows) * n_steps == pytest.approx(inside.height)
        assert sum(row.bytes for row in rows.rows) == pytest.approx(rows.bytes)


@pytest.mark.parametrize("workload", ["bert", "resnet50", "simplecnn-training", "customcnn"])
@pytest.mark.parametrize("variant", ["eager", "default"])
def test_the_events_peak_is_the_one_that_the_allocator_measured(workload, variant):
    run = open_run(SAMPLES / workload / variant)
    curve = memory_curves(open_trace(run.trace))[0]
    measured = run.record.measurement
    assert curve.peak_allocated_bytes == measured.peak_allocated_bytes
    assert curve.peak_reserved_bytes == measured.peak_reserved_bytes


def report(workload, variant):
    run = open_run(SAMPLES / workload / variant)
    return memory_report(
        open_trace(run.trace),
        snapshot=open_snapshot(run.memory_snapshot),
        measurement=run.record.measurement,
    )


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))


def test_trace_and_snapshot_agree_on_what_fusion_removed(home):
    """BERT's events go through operators and kernels, its snapshots through source lines."""
    eager, compiled = report("bert", "eager"), report("bert", "default")
    runs = [open_run(SAMPLES / "bert" / variant) for variant in ("eager", "default")]
    ledger = fusion_ledger(
        LedgerSide(open_trace(runs[0].trace)),
        LedgerSide(open_trace(runs[1].trace), read_inductor(runs[1].torch_trace)),
    )
    groups = vanished_by_group(ledger, eager.made, compiled.made, (5, 5))
    lines = vanished_by_source(eager.history, compiled.history)
    assert groups.n == lines.n == (204, 63)
    assert groups.bytes == lines.bytes == (695_862_272, 346_054_656)
    assert groups.vanished_bytes == 349_807_616
    by_line = {row.label: row for row in lines.rows}
    gelu = next(row for row in groups.rows if row.sources == ("activations.py:89",))
    assert gelu.label == "12 × gelu"
    assert gelu.n == by_line["activations.py:89"].n == (12, 0)
    assert gelu.bytes == by_line["activations.py:89"].bytes == (150_994_944, 0)


def test_on_the_cpu_a_buffer_is_of_the_operator_that_it_lies_in():
    """One row without a group had all of them."""
    paths = [FIXTURES / f"smallcnn_cpu.{run}" / "trace.json.gz" for run in ("eager", "default")]
    eager, compiled = (open_trace(path) for path in paths)
    vanished = vanished_by_group(
        fusion_ledger(LedgerSide(eager), LedgerSide(compiled)),
        memory_report(eager).made,
        memory_report(compiled).made,
        (5, 5),
    )
    made = [made_by_operator(path) for path in paths]
    kernel = "graph_0_cpp_fused_"
    of_conv = [("aten::conv2d",), ("aten::convolution", f"{kernel}convolution_0")]
    of_linear = [("aten::linear",), ("aten::addmm",)]
    by_label = {row.label: row for row in vanished.rows}
    for label, operators in (("2 conv2d", of_conv), ("linear", of_linear)):
        row = by_label.pop(label)
        sums = [
            [
                sum(side[name][part] for name in names) / 5
                for side, names in zip(made, operators, strict=True)
            ]
            for part in (0, 1)
        ]
        assert [list(row.n), list(row.bytes)] == sums
    assert sorted(by_label) == [
        "max_pool2d + batch_norm + relu", "max_pool2d + batch_norm + relu + mean",
    ]  # fmt: skip
    assert vanished.n == (23, 12)
    assert vanished.bytes == (69_679_564, 17_581_216)
    assert [sum(size for _, size in side.values()) / 5 for side in made] == list(vanished.bytes)


def test_a_replay_says_that_it_makes_no_events_and_names_its_pool(home):
    memory = report("bert", "reduce-overhead")
    assert memory.curve is None
    assert memory.churn is None
    assert any("a replay allocates nothing" in note for note in memory.notes)
    assert [pool.name for pool in memory.segments.pools] == ["default", "private 0.1"]
    assert memory.segments.private_bytes == 140_509_184
    assert memory.peaks.reserved_bytes == memory.segments.reserved_bytes == 637_534_208
    assert memory.before_bytes is None


def test_the_snapshot_agrees_with_the_events_but_for_rounding(home):
    memory = report("bert", "eager")
    made = memory.live.peak_bytes - memory.live.before_bytes
    assert memory.history.live.peak_bytes - memory.history.live.before_bytes == made == 34_603_008
    assert (
        memory.segments.rounding_bytes
        == memory.live.before_bytes - memory.history.live.before_bytes
    )


def test_on_the_cpu_there_is_no_reserved_peak():
    memory = memory_report(open_trace(FIXTURES / "smallcnn_cpu.eager" / "trace.json.gz"))
    assert memory.peaks.reserved_bytes is None
    assert memory.peaks.allocated_bytes == memory.curve.peak_allocated_bytes
    assert any("Measured on the CPU" in note for note in memory.notes)


def test_without_files_everything_is_not_available():
    memory = memory_report(None)
    assert memory.is_empty
    assert (memory.peaks.reserved_bytes, memory.live, memory.segments) == (None, None, None)
