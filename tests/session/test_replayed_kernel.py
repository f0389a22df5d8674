"""The operations of kernels that a CUDA graph replays, by the shapes of eager's plain JSON."""

import json
import shutil
from math import prod
from pathlib import Path
from typing import Any

import pytest

from profiler_core.analysis.categories import PRODUCT_CATEGORIES
from profiler_core.analysis.item import kernel_item
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from tests.reference import read_events

RESNET = Path(__file__).resolve().parents[2] / "sample_traces" / "resnet50"
N_STEPS = 5
UNKNOWN = "is not known: the replay of a CUDA graph has no shapes, and no products of the baseline"


def flops_of(call: dict[str, Any]) -> int:
    """Of a convolution or an addmm, by what the trace says it was handed."""
    shapes, given = call["args"]["Input Dims"], call["args"]["Concrete Inputs"]
    if call["name"] == "aten::addmm":
        return 2 * prod(shapes[1]) * shapes[2][1]
    values, weight = shapes[:2]
    stride, padding = json.loads(given[3]), json.loads(given[4])
    size = [
        (n + 2 * p - k) // s + 1
        for n, k, s, p in zip(values[2:], weight[2:], stride, padding, strict=True)
    ]
    return 2 * values[0] * prod(size) * prod(weight)


def operations_of_a_step(run: Path) -> float:
    (path,) = run.glob("trace.json*")
    calls = [
        event
        for event in read_events(path)
        if event.get("name") in ("aten::convolution", "aten::addmm")
    ]
    return sum(map(flops_of, calls)) / N_STEPS


def told(comparison: Comparison) -> tuple[float, list[str]]:
    """(operations of all the candidate's kernels, those that are told to be unknown)."""
    flops, unknown = 0.0, []
    for row in comparison.kernels:
        if not row.n(1) or row.category not in PRODUCT_CATEGORIES:
            continue
        made = dossier(comparison, kernel_item(row.name))
        replayed = [line for line in made.rooflines if line.label == comparison.labels[1]]
        flops += sum(line.flops or 0.0 for line in replayed)
        if any(UNKNOWN in sentence for sentence in made.missing):
            unknown.append(row.name)
            assert not any(line.flops for line in replayed)
        for line in replayed:
            if line.flops:
                assert line.products_of == "kernel"
                assert line.products_ns == pytest.approx(row.time_ns(1), abs=row.n(1))
    return flops, unknown


def test_replayed_kernels_have_the_operations_of_what_they_are_surely_matched_with() -> None:
    """None had any, though eager's calls have their shapes: 262 GFLOP a step."""
    flops, unknown = told(Comparison.open([RESNET / "eager", RESNET / "reduce-overhead"]))
    assert flops == operations_of_a_step(RESNET / "eager") > 2.6e11
    assert unknown == []


def test_without_logs_a_kernel_that_is_not_surely_matched_says_why(tmp_path: Path) -> None:
    paths = []
    for variant in ("eager", "reduce-overhead"):
        (path,) = (RESNET / variant).glob("trace.json*")
        paths.append(tmp_path / f"{variant}.json.gz")
        shutil.copy(path, paths[-1])
    flops, unknown = told(Comparison.open(paths))
    assert unknown and 0 < flops < operations_of_a_step(RESNET / "eager")
    assert not any("init_device_workspace" in name for name in unknown)  # it computes none


def test_in_another_precision_no_operations_are_taken_over(tmp_path: Path) -> None:
    other = tmp_path / "reduce-overhead"
    shutil.copytree(RESNET / "reduce-overhead", other)
    run = json.loads((other / "run.json").read_text())
    run["spec"]["precision"] = "bf16-autocast"
    (other / "run.json").write_text(json.dumps(run))
    flops, unknown = told(Comparison.open([RESNET / "eager", other]))
    assert flops == 0 and len(unknown) > 5
