"""What the other run of a pair does in the place of a kernel that one run alone has."""

import gzip
import json
from pathlib import Path

from profiler_core.analysis.in_its_place import in_its_place
from profiler_core.analysis.item import kernel_item
from profiler_core.analysis.ledger.result import FusionGroup, GroupSide, KernelTime
from profiler_core.analysis.wording.operator import place_about, place_text
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"


def group(before: dict[str, int], after: dict[str, int]) -> FusionGroup:
    sides = (
        GroupSide(kernels=tuple(KernelTime(name, "gemm", 1, ns) for name, ns in side.items()))
        for side in (before, after)
    )
    return FusionGroup("matched", "forward", *sides)


def test_the_longest_of_all_groups_with_it_comes_first():
    places = in_its_place(
        [
            group({"conv2d": 9}, {"convolution": 5, "layout": 1}),
            group({"conv2d": 9, "relu": 2}, {"layout": 1, "fused": 8}),
            group({"relu": 2, "both": 1}, {"both": 1}),
            group({"gone": 3}, {}),
        ]
    )
    assert places == {
        "conv2d": ("fused", "convolution", "layout"),
        "relu": ("fused", "both", "layout"),
        "gone": (),
        "convolution": ("conv2d",),
        "layout": ("conv2d", "relu"),
        "fused": ("conv2d", "relu"),
    }


def test_a_place_in_words():
    assert [place_text(of) for of in ((), ("a",), ("a", "b", "c"))] == [
        "nothing", "a", "a and 2 more",
    ]  # fmt: skip
    assert place_about("default", ()) == "In default nothing runs in its place."
    assert place_about("default", ("a", "b")) == "In default a and b run in its place."


def test_an_operator_that_compiled_code_does_not_call_has_another_one_in_its_place():
    """By the traces alone: eager's only linear layer and default's only addmm are of one size."""
    dims = {}
    for variant, name in (("eager", "aten::linear"), ("default", "aten::addmm")):
        path = CAPTURES / f"smallcnn_cpu.{variant}" / "trace.json.gz"
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        assert (variant == "eager") == any(e.get("name") == "aten::linear" for e in events)
        (dims[name],) = {
            json.dumps(e["args"]["Input Dims"]) for e in events if e.get("name") == name
        }
    assert json.loads(dims["aten::linear"]) == [[8, 64], [10, 64], [10]]
    assert json.loads(dims["aten::addmm"])[:3] == [[10], [8, 64], [64, 10]]
    comparison = Comparison.open([CAPTURES / f"smallcnn_cpu.{v}" for v in ("eager", "default")])
    made = dossier(comparison, kernel_item("aten::linear"))
    assert "In default aten::addmm runs in its place." in made.about
    # Of what runs inside another one, the sentence about that says it.
    inside = dossier(comparison, kernel_item("aten::addmm"))
    assert not any("in its place" in sentence for sentence in inside.about)
