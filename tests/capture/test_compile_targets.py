"""What of a model is compiled, found in the model and seen by a backend that records its graphs."""

import inspect
import os
from pathlib import Path

import pytest

from profiler_core.capture.child import numerics, steps, targets, variants, workloads
from profiler_core.capture.child.failures import CannotRunError
from profiler_core.capture.spec import parse_variant
from tests.lazily import Lazily

torch = Lazily("torch")

LOOPS = Path(__file__).parent / "workloads" / "loops.py"
OWN_STEPS = Path(__file__).parents[1] / "experiments" / "own_steps.py"

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]


def bench_of(function, *, training=False, as_is_beside=False, **options):
    texts = {name: str(value) for name, value in options.items()}
    request = workloads.Request(
        f"{LOOPS}:{function}", None, (), texts, training, seed=0, as_is_beside=as_is_beside
    )
    return numerics.Bench(request, torch.device("cpu"))


def variant(text):
    return variants.variant_from(parse_variant(text).to_dict())


@pytest.fixture(autouse=True)
def graphs():
    """The graphs that a backend of the name `recording` got, as numbers of their calls."""
    sizes = []

    def recording(graph, _):
        sizes.append(sum(node.op.startswith("call") for node in graph.graph.nodes))
        return graph.forward

    torch._dynamo.reset()
    torch._dynamo.register_backend(recording, "recording")
    yield sizes
    torch._dynamo.backends.registry._COMPILER_FNS.pop("recording", None)
    torch._dynamo.backends.registry._BACKENDS.pop("recording", None)
    torch._dynamo.reset()


def ran(function, target, n_steps=1, **more):
    words = f"backend:recording+target={target}" if target else "backend:recording"
    step = bench_of(function, **more).step(variant(words))
    for index in range(n_steps):
        step.ready()
        step(index)
    return step


@pytest.mark.parametrize(
    ("target", "modules", "classes"),
    [
        ("blocks", ["layers.0", "layers.1", "layers.2"], {"Block": 3}),
        ("layers.*", ["layers.0", "layers.1", "layers.2"], {"Block": 3}),
        ("layers.[02]", ["layers.0", "layers.2"], {"Block": 2}),
        ("layers.*.up:head", ["layers.0.up", "layers.1.up", "layers.2.up", "head"], {
            "Linear": 3, "Sequential": 1}),
        ("layers.*:layers.1.up", ["layers.0", "layers.1", "layers.2"], {"Block": 3}),
    ],
)  # fmt: skip
def test_the_modules_of_a_target_are_compiled_each_by_itself(graphs, target, modules, classes):
    step = ran("net", target)
    facts = step.target.facts()
    assert (facts["where"], facts["modules"], facts["classes"]) == ("modules", modules, classes)
    assert 0 < len(graphs) <= len(modules)  # equal blocks share one graph


def test_the_whole_model_is_one_graph(graphs):
    assert ran("net", "").target.facts()["where"] == "whole"
    assert ran("net", "whole").target.words == ("whole",)
    assert len(graphs) == 2 and graphs[0] == graphs[1] > 10


def test_a_target_that_matches_nothing_names_what_is_there():
    with pytest.raises(CannotRunError) as caught:
        ran("net", "model.layers.*")
    assert "No module of Net matches the compile target 'model.layers.*'" in caught.value.problem
    assert "embed, layers, head, layers.*, head.*, layers.*.up" in caught.value.remedy


def test_a_model_without_blocks_says_so():
    with pytest.raises(CannotRunError, match="Sequential has no repeated blocks"):
        targets.blocks_of(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)))


@pytest.mark.parametrize(
    ("make", "n_blocks", "classes"),
    [
        (lambda models: models.resnet18(), 8, {"BasicBlock"}),
        (lambda models: models.vit_b_16(image_size=32), 12, {"EncoderBlock"}),
        (lambda models: models.convnext_tiny(), 18, {"CNBlock"}),
        (lambda models: models.swin_t(), 15, {"SwinTransformerBlock", "PatchMerging"}),
    ],
)
def test_blocks_of_models_that_people_have(make, n_blocks, classes):
    with torch.device("meta"):
        model = make(pytest.importorskip("torchvision.models"))
    blocks = targets.blocks_of(model)
    assert (len(blocks), {type(m).__name__ for _, m in blocks}) == (n_blocks, classes)


def test_a_model_that_names_its_blocks_is_believed():
    class Two(torch.nn.Module):
        _repeated_blocks = ("Bilinear",)

        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Bilinear(2, 2, 2), torch.nn.Bilinear(2, 2, 2)

    assert [path for path, _ in targets.blocks_of(Two())] == ["a", "b"]


@pytest.mark.parametrize(
    ("function", "target", "training"),
    [("net", "loss", False), ("net", "step", True), ("step_alone", "loss", False),
     ("decoding", "optimizer", False)],
)  # fmt: skip
def test_a_target_that_the_step_does_not_show_is_refused(function, target, training):
    with pytest.raises(CannotRunError, match=f"'{target}' is nothing that this step shows"):
        ran(function, target, training=training)


@pytest.mark.parametrize("kind", ["inference", "step", "step_and_model", "generating"])
def test_an_optimizer_that_the_step_does_not_show_is_not_left_as_it_is(kind):
    """`default+optimizer=fused` of an inference was timed as if it were something of its own."""
    asked, cpu = variant("default+optimizer=fused"), torch.device("cpu")
    request = workloads.Request(f"{OWN_STEPS}:{kind}", None, (), {}, False, 0)
    built = variants.build(request, asked, cpu)
    with pytest.raises(CannotRunError, match="optimizer=fused sets the optimizer of a training"):
        steps.step_of(built, asked, cpu, training=False)


def test_blocks_of_a_callable_without_a_model_are_refused():
    with pytest.raises(CannotRunError, match="returns a callable without one"):
        ran("step_alone", "blocks")


def test_the_function_decides_where_by_its_argument(graphs):
    step = ran("own_compile", "")
    assert step.target.where == "as-is"
    assert len(graphs) == 1
    assert ran("own_compile", "whole").target.where == "whole"  # asked for: it gets no compile
    assert len(graphs) == 2 and graphs[1] > graphs[0]
    assert bench_of("own_compile").step(variant("eager"))(0).shape == (4, 4)
    assert len(graphs) == 2


def test_the_scripts_own_compile_is_left_out_beside_a_variant_as_is():
    counters = torch._dynamo.utils.counters
    for text, beside, n in (("eager", True, 0), ("as-is", True, 2), ("eager", False, 2)):
        torch._dynamo.reset()
        counters.clear()
        bench_of("script_compiles", as_is_beside=beside).step(variant(text))(0)
        assert counters["stats"]["unique_graphs"] == n, text
    variants.script_compile.obey(True)


def test_forward_and_loss_are_one_graph_and_the_optimizer_another(graphs):
    ran("training", "", n_steps=2)
    (forward,) = graphs
    ran("training", "loss", n_steps=2)
    assert graphs[1:] == [forward + 2]  # the loss, and its share
    ran("training", "optimizer", n_steps=1)
    assert len(graphs) > 3


def test_compiled_autograd_compiles_the_backward_pass_of_a_loop(graphs):
    """torch compiles backward passes inside of a compiled function alone, and a loop's is none."""
    ran("training", "", n_steps=2)
    (forward,) = graphs
    torch._dynamo.reset()
    compiled = variant("backend:recording+dynamo.compiled_autograd=true")
    step = bench_of("training").step(compiled)
    with torch._dynamo.config.patch(compiled_autograd=True):
        step(0)
        step(1)
    assert graphs[1] == forward
    setting, adding = graphs[2:]  # of the two batches that make a step
    assert forward < setting < adding


def test_a_callable_with_its_model_stays_python_and_its_model_is_compiled(graphs):
    step = ran("step_and_model", "")
    assert (step.target.where, step.notes, len(graphs)) == ("whole", [], 1)


def file_of_entry(module):
    """Of the function that torch.compile gets where the module is compiled in its place."""
    entries = []
    targets.compile_in_place(module, lambda call, _: entries.append(call) or call)
    return inspect.getsourcefile(entries[0])


def test_torchs_own_modules_are_compiled_in_a_frame_that_dynamo_does_not_skip():
    # Accelerate's loop on an H200: torch 2.11 skips what lies in torch/nn, so that
    # nn.Sequential(…).compile() compiles nothing. In torch 2.15 no module tells the two apart.
    class Own(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x)

    in_torch = f"torch{os.sep}nn{os.sep}modules"
    for module in (torch.nn.Sequential(), torch.nn.TransformerEncoderLayer(8, 2)):
        assert in_torch not in file_of_entry(module)
    assert in_torch in file_of_entry(Own(2, 2))  # its forward is a frame of the user's


def test_a_callable_alone_is_compiled_whole_and_says_so(graphs):
    step = ran("step_alone", "")
    assert step.target.where == "step"
    assert "Return Training(model, batches, loss, optimizer)" in step.notes[0]
    assert not ran("step_alone", "step").notes  # asked for
    assert not bench_of("step_alone").step(variant("eager")).notes


@pytest.mark.parametrize(
    "target",
    ["", "+target=blocks", "+target=loss", "+target=whole", "+dynamo.compiled_autograd=true"],
)
def test_gradients_and_updates_of_each_target_are_right(tmp_path, target):
    torch._dynamo.reset()
    bench, path = bench_of("training"), str(tmp_path / "reference.pt")
    numerics.make_reference(bench, variant("eager"), path)
    answer = numerics.compare(bench, variant(f"aot_eager{target}"), path, None)
    assert (answer["verdict"], answer["compared"]) == ("right", "loss and gradients"), answer
    assert answer["reference"] == "fp64", answer
