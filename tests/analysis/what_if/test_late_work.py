"""What faster kernels save of a late rank's further work, by hand and by an experiment."""

from dataclasses import replace
from pathlib import Path

import pytest

from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.what_if.late_work import with_late_work
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.session.comparison import Comparison

DDP = Path(__file__).resolve().parents[3] / "sample_traces" / "ddp"
SAVED = Prediction(60.0, 40.0, 80.0, "simulated", "unprofiled")


@pytest.fixture(scope="module")
def path() -> CriticalPath:
    """One whose rank works 100 ns in products, and whose late rank 30 more, and 10 elsewhere."""
    whole = Comparison.open([DDP / "eager"]).runs[0].required_summary().critical
    assert whole is not None
    assert whole.late is not None
    late = replace(whole.late, work_ns={"gemm": 30.0, "optimizer": 10.0, "elementwise": -5.0})
    return replace(whole, work_ns={"gemm": 100.0, "elementwise": 50.0}, late=late)


def test_the_further_work_of_the_same_kind_shrinks_by_the_same_part(path: CriticalPath) -> None:
    saved = with_late_work(SAVED, {"gemm"}, path, 20.0)  # 20 ns unprofiled: 15 of products
    assert saved == replace(SAVED, expected_ns=69.0, high_ns=92.0, late_work_ns=9.0)


@pytest.mark.parametrize(
    ("categories", "late_ns", "saved"),
    [
        ({"elementwise"}, 20.0, SAVED),  # of which the late rank has less
        ({"optimizer"}, 20.0, SAVED),  # of which the replayed rank has none
        ({"gemm"}, 0.0, SAVED),
        ({"gemm"}, 20.0, Prediction(-5.0, -9.0, -1.0, "simulated", "unprofiled")),
    ],
)
def test_else_the_prediction_stays(categories, late_ns, saved, path: CriticalPath) -> None:
    assert with_late_work(saved, categories, path, late_ns) == saved
    assert with_late_work(saved, categories, None, late_ns) == saved
    assert with_late_work(saved, categories, replace(path, late=None), late_ns) == saved


def test_tf32_of_a_job_with_an_uneven_batch_saves_what_it_saved_in_an_experiment() -> None:
    """Two H200s, the sample's model, rank 1 with twice the batch: 45.4 -> 22.4 ms of a step.

    Timed in turns of ten steps on 2026-11-29, medians of twelve; of this sample's step that part
    is 22.0 ms. The replay of rank 0 alone said 17.3.
    """
    (pair,) = Comparison.open([DDP / "eager", DDP / "default"]).pairs
    assert pair.findings is not None
    (tf32,) = (
        each.prediction
        for each in pair.findings
        if each.change is not None and each.change.lever == "tf32"
    )
    assert tf32 is not None
    step_ns = 43.5e6
    assert tf32.expected_ns == pytest.approx(step_ns * (45.4 - 22.4) / 45.4, rel=0.1)
    assert tf32.low_ns < step_ns * (45.4 - 22.4) / 45.4 < tf32.high_ns
    assert 6e6 < tf32.late_work_ns < 7e6
