"""Biases of convolutions, which eager adds with the convolution and Inductor with what follows."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from profiler_core.analysis.ledger.added_biases import biases_ns
from profiler_core.analysis.modules import module_tree, shares
from profiler_core.analysis.operators import operator_rows
from profiler_core.session.comparison import Comparison
from profiler_core.units import format_duration

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces/dynshape"
N_STEPS = 12


def _adding_ns() -> list[float]:
    """Eager's kernels of `add_`, in their order, ns; a step has one for each convolution."""
    return _kernels_ns("eager", "CUDAFunctor_add")


def _kernels_ns(run: str, name: str) -> list[float]:
    """The kernels of a run that have this in their names, in their order, ns."""
    events = json.loads(gzip.decompress((SAMPLE / run / "trace.json.gz").read_bytes()))
    kernels = [e for e in events["traceEvents"] if e.get("cat") == "kernel" and name in e["name"]]
    return [1e3 * e["dur"] for e in sorted(kernels, key=lambda e: e["ts"])]


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_a_relu_that_adds_the_convolutions_bias_is_not_slower(mode):
    """Its kernel takes 3.7 µs where eager's takes 2.4 µs, after 4.4 µs for the bias."""
    pair = Comparison.open([SAMPLE / "eager", SAMPLE / mode]).pairs[0]
    groups = pair.ledger.groups
    titles = [group.title for group in groups]
    adding = _adding_ns()
    first, second = (sum(adding[start::2]) / N_STEPS for start in (0, 1))
    biases = biases_ns(groups, pair.candidate.code.graphs)
    assert {titles[place]: round(ns) for place, ns in biases.items()} == {
        "relu": round(first),
        "relu + mean": round(second),
    }
    relu = groups[titles.index("relu")]
    assert 0.1 * relu.baseline_step_ns < relu.delta_ns < first
    assert "slower_groups" not in {finding.key for finding in pair.findings}


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_both_groups_say_which_kernel_adds_the_bias(mode):
    groups = Comparison.open([SAMPLE / "eager", SAMPLE / mode]).pairs[0].ledger.groups
    before_ns = [sum(_adding_ns()[start::2]) / N_STEPS for start in (0, 1)]
    notes = {group.title: group.notes for group in groups}
    for adding, bias_ns in zip(("relu", "relu + mean"), before_ns, strict=True):
        (note,) = notes[adding]
        assert note == (
            f"its kernel adds the bias of conv2d besides, which takes the baseline "
            f"{format_duration(bias_ns)} per step in that group"
        )
    convolutions = [group.notes for group in groups if group.title == "conv2d"]
    assert convolutions == [
        (
            f"the bias, which takes the baseline {format_duration(bias_ns)} per step of this, is "
            f"added by the kernel of {adding} in the candidate",
        )
        for adding, bias_ns in zip(("relu", "relu + mean"), before_ns, strict=True)
    ]


def test_without_generated_code_no_bias_is_known():
    groups = Comparison.open([SAMPLE / "eager", SAMPLE / "default"]).pairs[0].ledger.groups
    assert biases_ns(groups, ()) == {}


def test_a_convolution_takes_its_part_of_the_kernel_that_adds_its_bias():
    """conv1 seemed to gain 4.5 µs, of which 2.4 are taken by the kernel that adds its bias now."""
    pair = Comparison.open([SAMPLE / "eager", SAMPLE / "default"]).pairs[0]
    bias, relu = sum(_adding_ns()[::2]), sum(_kernels_ns("eager", "clamp_scalar")[::2])
    fused = sum(_kernels_ns("default", "triton_poi_fused_convolution_relu_0"))
    expected = fused * bias / (bias + relu) / N_STEPS
    (conv1,) = (row for row in module_tree(pair.ledger, (None, None)).rows if row.path == "conv1")
    assert conv1.per_step(conv1.sides[1].shared_ns, 1) == pytest.approx(expected, abs=0.1)
    rows = {row.name: row for row in operator_rows(pair.ledger)}
    assert rows["conv2d"].shared_ns[1] / N_STEPS > expected  # the bias of conv2 besides
    assert sum(row.time_ns[1] for row in rows.values()) == pair.ledger.candidate_ns
    assert sum(row.time_ns[0] for row in rows.values()) == pair.ledger.baseline_ns


def test_operators_are_counted_where_nothing_says_what_the_baseline_took():
    (relu,) = (
        group
        for group in Comparison.open([SAMPLE / "eager", SAMPLE / "default"]).pairs[0].ledger.groups
        if group.title == "relu"
    )
    (work,) = relu.candidate.modules
    unknown = replace(relu, baseline=replace(relu.baseline, modules=()))
    assert shares(work, unknown) == {"(model)": 0.5, "conv1": 0.5}
    (own,) = relu.baseline.modules
    assert shares(own, relu) == {"(model)": 1.0}  # the baseline's relu adds no bias
