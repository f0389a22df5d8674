"""What a group's dossier says of inputs and outputs, held against the plain JSON of a trace."""

from pathlib import Path

import pytest

from profiler_core.analysis.dossier.record import Dossier
from profiler_core.analysis.item import group_item
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from tests.reference import read_events

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
CAPTURES = ROOT / "tests" / "fixtures" / "captures"


def dossier_of(runs: list[Path], title: str) -> Dossier:
    comparison = Comparison.open(runs)
    groups = comparison.pairs[0].ledger.groups
    number = next(n for n, group in enumerate(groups) if group.title == title)
    return dossier(comparison, group_item(1, number))


def shapes_of(run: Path, operator: str) -> set[str]:
    """What its calls are handed in the JSON, tensors alone."""
    (path,) = run.glob("trace.json*")
    return {
        " · ".join("×".join(map(str, shape)) for shape in event["args"]["Input Dims"] if shape)
        for event in read_events(path)
        if event.get("cat") == "cpu_op"
        and event["name"] == operator
        and "Input Dims" in event["args"]
    }


@pytest.mark.parametrize(
    ("folder", "variants", "title", "operators"),
    [
        (SAMPLES / "breaky", ("eager", "default"), "add", ("aten::add",) * 2),
        (
            SAMPLES / "dynshape", ("eager", "default"), "relu",
            ("aten::clamp_min", "triton_poi_fused_convolution_relu_0"),
        ),
        (CAPTURES, ("smallcnn_cpu.eager", "smallcnn_cpu.default"), "linear",
         ("aten::linear", "aten::addmm")),
    ],
)  # fmt: skip
def test_a_group_is_handed_what_its_operators_recorded(
    folder: Path, variants: tuple[str, str], title: str, operators: tuple[str, str]
) -> None:
    """ "Inputs and outputs are not known: no product in it …" stood beside its 65.5 kB."""
    runs = [folder / variant for variant in variants]
    made = dossier_of(runs, title)
    for side, (run, operator) in enumerate(zip(runs, operators, strict=True)):
        label = made.times[side].label
        told = [a.inputs for a in made.arguments if (a.label, a.operator) == (label, operator)]
        assert {text.replace(" f32", "") for text in told} == shapes_of(run, operator) != set()
        assert len(told) == len(set(told))
    assert not [text for text in made.missing if text.startswith("Inputs")]


def test_of_lists_of_tensors_the_types_are_not_recorded() -> None:
    """ "Not all of its shapes were recorded" stood there of [[[32, 256]], [[32, 256]], []]."""
    runs = [SAMPLES / "breaky" / variant for variant in ("eager", "reduce-overhead")]
    made = dossier_of(runs, "_foreach_copy")
    (path,) = runs[1].glob("trace.json*")
    (call, *_) = (e for e in read_events(path) if e.get("name") == "aten::_foreach_copy_")
    assert call["args"]["Input Dims"] == [[[32, 256]], [[32, 256]], []]
    assert [each.inputs for each in made.arguments] == ["[32×256] · [32×256]"]
    (why,) = (text for text in made.missing if text.startswith("How many bytes"))
    assert why.endswith("of lists of tensors a trace has the shapes without their types.")
