"""What a capture's graphs replay does not depend on which of its runs are chosen."""

import shutil
from pathlib import Path

import pytest

from profiler_core.session.comparison import Comparison

SAMPLES = Path(__file__).parents[2] / "sample_traces"


def kinds(folder: Path, *variants: str) -> dict[str, tuple[int, int]]:
    """Kind -> kernels and ns in all steps of the last run."""
    side = Comparison.open([folder / variant for variant in variants]).sides[-1]
    return {kind: (total.n, total.time_ns) for kind, total in side.summary.by_category.items()}


def moved(folder: Path, *variants: str) -> tuple[object, ...]:
    pair = Comparison.open([folder / variant for variant in variants]).pairs[-1]
    rows = [
        (number, kernel.name, kernel.category)
        for number, group in enumerate(pair.ledger.groups)
        for kernel in group.candidate.kernels
    ]
    bars = [(row.key, row.delta_ns) for row in pair.waterfall.rows]
    return pair.numbers.by_category, bars, rows


@pytest.mark.parametrize("answer", [kinds, moved])
def test_the_kinds_of_replayed_kernels_depend_on_no_choice(answer):
    # 33 of resnet50's 1 x 1 convolutions are GEMMs by their names, and in eager other kernels.
    folder = SAMPLES / "resnet50"
    alone = answer(folder, "eager", "reduce-overhead")
    assert alone == answer(folder, "eager", "default", "reduce-overhead")


def test_a_run_of_another_workload_lends_nothing_to_a_capture():
    folder = SAMPLES / "resnet50"
    others = (f"../{workload}/default" for workload in ("bert", "customcnn", "simplecnn-training"))
    alone = kinds(folder, "eager", "reduce-overhead")
    assert alone == kinds(folder, "eager", *others, "reduce-overhead")


def test_what_lies_beside_but_is_of_no_capture_or_another_is_not_read(tmp_path):
    for variant in ("eager", "default", "reduce-overhead"):
        shutil.copytree(SAMPLES / "customcnn" / variant, tmp_path / variant)
    shutil.copytree(SAMPLES / "bert" / "default", tmp_path / "bert")
    comparison = Comparison.open([tmp_path / "eager", tmp_path / "reduce-overhead"])
    assert [run.path.name for run in comparison.beside] == ["default"]
    (tmp_path / "default" / "run.json").unlink()
    comparison = Comparison.open([tmp_path / "eager", tmp_path / "reduce-overhead"])
    assert comparison.beside == ()


def test_a_damaged_run_beside_costs_nothing(tmp_path):
    for variant in ("eager", "default", "reduce-overhead"):
        shutil.copytree(SAMPLES / "customcnn" / variant, tmp_path / variant)
    (tmp_path / "default" / "trace.json.gz").write_bytes(b"no gzip")
    comparison = Comparison.open([tmp_path / "eager", tmp_path / "reduce-overhead"])
    assert [len(run.problems("trace")) for run in comparison.runs] == [0, 0]
    assert comparison.sides[1].summary is not None
    assert comparison.problems == ()
