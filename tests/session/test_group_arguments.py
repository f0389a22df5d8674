"""What a group's dossier says of inputs and outputs, held against the plain JSON of a trace."""

import re
from collections import Counter
from pathlib import Path

import pytest

from profiler_core.analysis.dossier.generated import by_role, roles_of_calls
from profiler_core.analysis.dossier.record import Dossier
from profiler_core.analysis.item import group_item, kernel_item
from profiler_core.analysis.ledger.fragments import PointerRole
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, KernelDefinition
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
        told = [
            # A product is handed its result apart, `out=`.
            f"{a.inputs} · {a.outputs}" if operator == "aten::addmm" else a.inputs
            for a in made.arguments
            if (a.label, a.operator) == (label, operator)
        ]
        assert {text.replace(" f32", "") for text in told} == shapes_of(run, operator) != set()
        assert len(told) == len(set(told))
    assert not [text for text in made.missing if text.startswith("Inputs")]


def test_of_lists_of_tensors_the_kernel_has_the_type() -> None:
    """A trace has none: "not all of its shapes were recorded" stood there of [[[32, 256]], …]."""
    runs = [SAMPLES / "breaky" / variant for variant in ("eager", "reduce-overhead")]
    made = dossier_of(runs, "_foreach_copy")
    (path,) = runs[1].glob("trace.json*")
    (call, *_) = (e for e in read_events(path) if e.get("name") == "aten::_foreach_copy_")
    assert call["args"]["Input Dims"] == [[[32, 256]], [[32, 256]], []]
    assert [each.inputs for each in made.arguments] == ["[32×256] · [32×256]"]
    kernels = {e["name"] for e in read_events(path) if "multi_tensor_apply" in e.get("name", "")}
    assert all("::Copy<float, float>" in name for name in kernels) and kernels
    (line,) = made.rooflines
    assert line.bytes_moved == 2 * 4 * 32 * 256
    assert not [text for text in made.missing if text.startswith("How many bytes")]


def test_a_replay_is_not_handed_what_its_whole_graph_is() -> None:
    """A kernel of one layer had "32×3×3×3 · … 10×128 · 10", the arguments of `CompiledFunction`."""
    runs = [SAMPLES / "simplecnn-training" / variant for variant in ("eager", "reduce-overhead")]
    kernel = "triton_poi_fused__native_batch_norm_legit_functional_relu_3"
    (path,) = runs[1].glob("trace.json*")
    events = read_events(path)
    launching = {e["args"]["External id"] for e in events if e.get("name") == kernel}
    around = [
        e for e in events
        if e.get("cat") == "cpu_op" and e["args"].get("External id") in launching
    ]  # fmt: skip
    assert {e["name"] for e in around} == {"CompiledFunction"}
    assert all(len([dim for dim in e["args"]["Input Dims"] if dim]) > 10 for e in around)
    # Of the group the log tells them: they are those that the kernel records where it is launched.
    (launched,) = shapes_of(SAMPLES / "simplecnn-training/default", kernel)
    told = {each.operator: each for each in dossier_of(runs, "batch_norm + relu").arguments}
    assert "CompiledFunction" not in told
    handed = f"{told[kernel].inputs} · {told[kernel].outputs}".replace(" f32", "")
    alike = re.sub(r"2 × (\S+)", r"\1 · \1", handed)
    assert Counter(alike.split(" · ")) == Counter(launched.split(" · "))
    of_kernel = dossier(Comparison.open(runs), kernel_item(kernel))
    assert {(each.inputs, each.outputs) for each in of_kernel.arguments} == {
        (told[kernel].inputs, told[kernel].outputs)
    }


def test_of_long_lists_no_shapes_are_recorded() -> None:
    """ "Not all of its shapes were recorded", and that no operator has any, stood there."""
    made = dossier_of([SAMPLES / "ddp" / variant for variant in ("eager", "default")],
                      "_foreach_add")  # fmt: skip
    why = "torch records no shapes of lists of over 30 tensors."
    assert [text for text in made.missing if why in text] == [
        f"How many bytes it moves is not known: {why}",
        f"Inputs are not known: {why}",
    ]
    assert not any(text.startswith("Inputs and outputs") for text in made.missing)


def test_a_generated_kernel_shows_all_that_it_is_handed_and_writes() -> None:
    """Of five tensors that it reads three were listed, and of two that it writes none."""
    run = SAMPLES / "simplecnn-training" / "default"
    (path,) = run.glob("trace.json*")
    handed: dict[str, Counter[str]] = {}
    for event in read_events(path):
        if event.get("cat") == "cpu_op" and event["name"].startswith("triton_"):
            arguments = event["args"]
            handed[event["name"]] = Counter(
                "×".join(map(str, shape))
                for shape, kind in zip(
                    arguments["Input Dims"], arguments["Input type"], strict=True
                )
                if kind not in ("", "Scalar")
            )
    comparison = Comparison.open([run.parent / "eager", run])
    code = comparison.pairs[0].candidate.code
    assert code is not None
    sources = {name: k.source for graph in code.graphs for name, k in graph.kernels.items()}
    n_shown = 0
    for number, group in enumerate(comparison.pairs[0].ledger.groups):
        names = {kernel.name for kernel in group.candidate.kernels} & sources.keys()
        for entry in dossier(comparison, group_item(1, number)).arguments:
            if entry.operator not in names:
                continue
            definition = re.search(r"def triton_\w+\((.*?)\):", sources[entry.operator])
            assert definition is not None
            pointers = [name for name in definition[1].split(", ") if "ptr" in name]
            in_place = [name for name in pointers if name.startswith("in_out_ptr")]
            inputs, outputs = counted(entry.inputs), counted(entry.outputs)
            assert inputs.total() == sum(name.startswith("in_") for name in pointers)
            assert outputs.total() == sum("out_ptr" in name for name in pointers)
            assert (inputs + outputs).total() - len(in_place) == handed[entry.operator].total()
            assert (inputs | outputs).keys() == handed[entry.operator].keys()
            n_shown += 1
    assert n_shown > 5


def counted(text: str) -> Counter[str]:
    """Shapes with how many tensors have them: "2 × 64×8 f32 · 8 f32"."""
    shapes: Counter[str] = Counter()
    for part in filter(None, text.split(" · ")):
        shape, _, _ = part.rpartition(" ")
        n, times, of_each = shape.partition(" × ")
        shapes[of_each if times else shape] += int(n) if times else 1
    return shapes


def test_what_a_product_is_handed_for_its_result_is_what_it_writes() -> None:
    """`extern_kernels.bmm(…, out=buf9)`: 96×128×128 stood among its inputs."""
    bert = SAMPLES / "bert"
    comparison = Comparison.open([bert / v for v in ("eager", "default", "reduce-overhead")])
    # By the trace: what a product of the first two is, is the third.
    recorded = []
    for shapes in shapes_of(bert / "default", "aten::bmm"):
        left, right, result = ([*map(int, s.split("×"))] for s in shapes.split(" · "))
        assert result == [*left[:2], right[2]]
        recorded.append(f"{'×'.join(map(str, result))} f32")
    made = dossier(comparison, group_item(1, attention_of(comparison, 0)))
    told = [each for each in made.arguments if "bmm" in each.operator]
    # Once each, and not as the log says it again.
    assert [each.operator for each in told] == ["aten::bmm"] * len(recorded)
    assert {each.outputs for each in told} == set(recorded)
    assert {each.inputs.count(" · ") for each in told} == {1}
    # Of a replay the generated code says it.
    code = comparison.pairs[1].candidate.code
    assert code is not None
    (text,) = {graph.code for graph in code.graphs}
    made = dossier(comparison, group_item(2, attention_of(comparison, 1)))
    told = [each for each in made.arguments if each.operator == "extern_kernels.bmm"]
    written = set()
    for buffer in re.findall(r"extern_kernels\.bmm\(.*out=(buf\d+)\)", text):
        made_as = re.findall(rf"^ +{buffer} = (.*)", text, re.MULTILINE)[0]
        shape = re.findall(r"\((\d+), (\d+), (\d+)\)", made_as)[0]
        written.add(f"{'×'.join(shape)} f32")
    assert {each.outputs for each in told} == written != set()
    assert {each.inputs.count(" · ") for each in told} == {1}


def attention_of(comparison: Comparison, pair: int) -> int:
    groups = comparison.pairs[pair].ledger.groups
    return next(n for n, g in enumerate(groups) if g.title == "scaled_dot_product_attention")


def test_tensors_of_a_kernel_are_told_by_what_it_does_with_them() -> None:
    texts = ["8 f32", "4×8 f32", "8 f32", "", "4×8 f32"]
    roles: list[PointerRole] = ["read", "both", "read", "read", "written"]
    assert by_role(texts, roles) == (
        "2 × 8 f32 · 4×8 f32 · 1 of unknown shape", "2 × 4×8 f32",
    )  # fmt: skip
    assert by_role(["", "4 f32"], ["read", "written"]) == ("", "4 f32")
    assert by_role(texts, []) == ("", "")


def test_two_kernels_of_one_name_have_no_roles() -> None:
    source = "@triton.jit\ndef triton_poi_0(in_ptr0, out_ptr0, xnumel):\n    pass"
    other = source.replace("in_ptr0", "in_out_ptr0")
    calls = [
        (
            CompiledGraph("0/0", "forward", (), kernels={"triton_poi_0": made}),
            GeneratedCall(0, "triton_poi_0", "triton", 1),
        )
        for made in (KernelDefinition("triton_poi_0", each) for each in (source, other))
    ]
    assert roles_of_calls(calls[:1]) == {"triton_poi_0": ("read", "written")}
    assert roles_of_calls(calls) == {}
