"""The examples of docs/examples: each runs, compiles what its text says, and is judged right."""

from pathlib import Path

import pytest

from profiler_core.capture.child import numerics, workloads
from tests.lazily import Lazily

from .test_compile_targets import variant

torch = Lazily("torch")

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]

# file:function, the package that it needs, what it is judged by, tokens of a step
CASES = [
    ("llama_generate.py:build", "transformers", "outputs", 16),
    ("llama_generate.py:build_steps", "transformers", "outputs", 2),
    ("vit_training.py:build", "torchvision", "loss and gradients", None),
    ("diffusion.py:build", "torch", "outputs", None),
    ("lightning_loop.py:build", "pytorch_lightning", "loss and gradients", None),
    ("accelerate_loop.py:build", "accelerate", "returned tensors", None),
]


def example(name, **options):
    request = workloads.Request(f"{EXAMPLES}/{name}", None, (), options, False, seed=0)
    return numerics.Bench(request, torch.device("cpu"))


@pytest.mark.parametrize(("name", "package", "compared", "tokens"), CASES)
def test_an_example_is_right_compiled_as_its_owner_would(tmp_path, name, package, compared, tokens):
    pytest.importorskip(package)
    torch._dynamo.reset()
    bench, path = example(name), str(tmp_path / "reference.pt")
    numerics.make_reference(bench, variant("eager"), path)
    step = bench.step(variant("aot_eager"))
    assert step.tokens == tokens
    step.ready()
    step(0)
    assert step.mode == ("inference" if compared == "outputs" else "training")
    answer = numerics.compare(bench, variant("aot_eager"), path, None)
    assert answer["verdict"] == "right", answer
    assert answer["compared"] == compared


@pytest.mark.parametrize(("name", "package", "compared", "tokens"), CASES)
def test_the_blocks_of_an_example_are_compiled_by_themselves(name, package, compared, tokens):
    pytest.importorskip(package)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    step = example(name).step(variant("backend:eager+target=blocks"))
    for index in range(2):
        step.ready()
        step(index)
    assert len(step.target.modules) >= 2
    assert torch._dynamo.utils.counters["frames"]["ok"] > 0


@pytest.mark.parametrize("target", ["", "+target=blocks"])
def test_a_model_whose_forward_accelerate_casts_is_compiled(target):
    accelerate = pytest.importorskip("accelerate")
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    accelerate.state.AcceleratorState._reset_state(True)  # one precision per process
    try:
        bench = example("accelerate_loop.py:build", mixed_precision="bf16")
        step = bench.step(variant(f"backend:eager{target}"))
        for index in range(2):
            step(index)
    finally:
        accelerate.state.AcceleratorState._reset_state(True)
    counters = torch._dynamo.utils.counters
    assert counters["frames"]["ok"] == (2 if target else 1)
    assert not counters["graph_break"]
