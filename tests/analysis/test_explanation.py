"""Waterfall, ledger and findings of one pair: they agree with each other, and fail apart."""

from pathlib import Path

import pytest

from profiler_core.analysis import explanation
from profiler_core.analysis.compare import compare
from profiler_core.analysis.explanation import Material, explain
from profiler_core.analysis.side import make_side
from profiler_core.analysis.summary import summarise
from profiler_core.errors import BadInput, NothingToAnalyse
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "tests" / "fixtures" / "captures"
SAMPLES = ROOT / "sample_traces" / "resnet50"


def pair(*folders):
    sides, materials = [], []
    for folder in folders:
        run = open_run(folder)
        trace = open_trace(run.trace) if run.trace else None
        summary = summarise(trace, run.record.measurement) if trace else None
        sides.append(make_side(run, summary))
        code = read_inductor(run.torch_trace) if run.torch_trace else None
        materials.append(Material(trace, code))
    return compare(sides[0], sides[1:]), materials


@pytest.mark.parametrize(
    "folders",
    [
        (CAPTURES / "customcnn_b1.eager", CAPTURES / "customcnn_b1.reduce-overhead"),
        (CAPTURES / "smallcnn_cpu.eager", CAPTURES / "smallcnn_cpu.default"),
        (SAMPLES / "eager", SAMPLES / "reduce-overhead"),
    ],
    ids=["customcnn", "cpu", "resnet50"],
)
def test_bars_open_into_groups_exactly(folders):
    """Replayed kernels too: both go by the categories that the eager run gives them."""
    comparison, (baseline, candidate) = pair(*folders)
    one = explain(comparison, 0, baseline, candidate)
    assert one.notes == ()
    step = comparison.candidates[0].step_time
    assert (one.waterfall.baseline_ns, one.waterfall.candidate_ns) == (
        step.baseline_ns,
        step.candidate_ns,
    )
    with_groups = [row for row in one.waterfall.rows if row.groups]
    assert with_groups
    for row in with_groups:
        assert sum(p.baseline_ns for p in row.groups) == pytest.approx(row.baseline_ns, abs=2)
        assert sum(p.candidate_ns for p in row.groups) == pytest.approx(row.candidate_ns, abs=2)


def test_the_ledger_has_the_categories_of_the_comparison():
    """A 1 × 1 convolution that a replay shows as GEMM is a convolution in bars and map alike."""
    comparison, (baseline, candidate) = pair(SAMPLES / "eager", SAMPLES / "reduce-overhead")
    one = explain(comparison, 0, baseline, candidate)
    times: dict[str, int] = {}
    for group in one.ledger.groups:
        for kernel in group.candidate.kernels:
            times[kernel.category] = times.get(kernel.category, 0) + kernel.time_ns
    for category, of_pair in comparison.candidates[0].by_category.items():
        assert times.get(category, 0) / one.ledger.n_candidate_steps == pytest.approx(
            of_pair.time_ns[1]
        )


def test_what_fails_is_a_note_and_takes_nothing_with_it(monkeypatch):
    comparison, (baseline, candidate) = pair(
        CAPTURES / "customcnn_b1.eager", CAPTURES / "customcnn_b1.reduce-overhead"
    )

    def damaged():
        raise BadInput("The log is damaged.", remedy="Capture again.")

    one = explain(comparison, 0, baseline, candidate, make_ledger=damaged)
    assert one.ledger is None
    assert one.waterfall is not None
    assert one.findings is not None
    assert one.notes == ("The fusion ledger cannot be computed: The log is damaged.",)

    def fail(*_, **__):
        raise KeyError("x")

    monkeypatch.setattr(explanation, "waterfall", fail)
    one = explain(comparison, 0, baseline, candidate)
    assert one.waterfall is None
    assert one.ledger is not None
    assert "KeyError" in one.notes[0]


def test_a_run_without_a_trace_has_no_bars(tmp_path):
    (tmp_path / "run.json").write_text('{"variant": "lost"}')
    comparison, (baseline, candidate) = pair(CAPTURES / "customcnn_b1.eager", tmp_path)
    one = explain(comparison, 0, baseline, candidate)
    assert (one.waterfall, one.ledger, one.findings) == (None, None, None)
    with pytest.raises(NothingToAnalyse, match="lost has no trace"):
        explanation.pair_waterfall(comparison, 0)
