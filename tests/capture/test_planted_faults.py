"""Wrong answers that only the compiled step gives, each of which the numerics must catch.

With Dynamo's backends that compile nothing: the fault is in the model, behind `is_compiling`.
"""

from itertools import product
from pathlib import Path

import pytest

from profiler_core.capture.child import numerics, variants, workloads
from profiler_core.capture.spec import parse_variant
from tests.lazily import Lazily

torch = Lazily("torch")

FAULTS = Path(__file__).parent / "workloads" / "faults.py"
LOOPS = Path(__file__).parents[2] / "benchmarks" / "loop_captures.py"

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]


@pytest.fixture
def checked(tmp_path):
    """`checked(function, fault, training)` -> numerics of run.json."""

    def check(function, fault="", *, training=False, precision="", file=FAULTS, **options):
        torch._dynamo.reset()
        if fault:
            options["fault"] = fault
        request = workloads.Request(f"{file}:{function}", None, (), options, training, seed=0)
        bench = numerics.Bench(request, torch.device("cpu"))
        path = str(tmp_path / "reference.pt")
        numerics.make_reference(bench, _variant(f"eager{precision}"), path)
        return numerics.compare(bench, _variant(f"backend:aot_eager{precision}"), path, None)

    return check


def _variant(text):
    return variants.variant_from(parse_variant(text).to_dict())


@pytest.mark.parametrize(
    ("function", "training"),
    [("cache", False), *product(["autoencoder", "layers", "stale_weights"], [False, True])],
)
def test_the_model_as_it_should_be_is_right(checked, function, training):
    answer = checked(function, training=training)
    assert answer["verdict"] == "right", answer
    assert answer["reference"] == "fp64", answer
    assert answer["tolerance"] < 5e-3  # eager's own error is rounding, not another sample


@pytest.mark.parametrize("precision", ["+fp16-autocast", "+bf16-autocast"])
def test_training_in_16_bits_with_dropout_has_the_same_draws_in_its_reference(checked, precision):
    answer = checked("layers", training=True, precision=precision)
    assert answer["reference"] == "fp64", answer
    assert answer["verdict"] == "right", answer


@pytest.mark.parametrize("precision", ["+fp16-autocast", "+bf16-autocast"])
def test_a_transformer_trained_in_16_bits_is_right(checked, precision):
    """Adam moves weights by the sign of gradients that 16 bits round away; found on an H200."""
    answer = checked("vit", file=LOOPS, precision=precision, size="tiny", batch_size=4)
    assert answer["verdict"] == "right", answer
    assert answer["tolerance"] < 0.03


@pytest.mark.parametrize("precision", ["+fp16-autocast", "+bf16-autocast"])
@pytest.mark.parametrize("fault", ["sign", "swapped layer", "dropped dropout"])
def test_wrong_training_in_16_bits(checked, fault, precision):
    """A factor of 1.001, the fault "scale", is less than 16 bits round."""
    assert checked("layers", fault, training=True, precision=precision)["verdict"] == "wrong"


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("fault", ["sign", "scale", "no noise"])
def test_a_model_that_draws_is_judged_by_the_same_draws(checked, fault, training):
    assert checked("autoencoder", fault, training=training)["verdict"] == "wrong"


@pytest.mark.parametrize("fault", ["sign", "scale", "wrong constant", "swapped layer"])
def test_wrong_answers(checked, fault):
    assert checked("layers", fault)["verdict"] == "wrong"


@pytest.mark.parametrize(
    "fault", ["sign", "scale", "wrong constant", "swapped layer", "dropped dropout", "stale buffer"]
)
def test_wrong_training(checked, fault):
    answer = checked("layers", fault, training=True)
    if fault == "sign":  # the loss is the mean square
        assert "gradient" not in answer["reason"]
    assert answer["verdict"] == "wrong", answer


def test_what_draws_inside_of_an_operator_is_never_called_wrong(checked, monkeypatch):
    """As attention with dropout does on a GPU; here a dropout stands for it."""
    monkeypatch.setattr("profiler_core.capture.child.draws._SAMPLERS", ())
    answer = checked("layers", "dropped dropout", training=True)
    assert answer["verdict"] == "not comparable"
    assert "draws random numbers inside" in answer["reason"]
    assert checked("layers", training=True)["verdict"] == "right"


def test_a_stale_buffer_is_named(checked):
    assert "buffer norm." in checked("layers", "stale buffer", training=True)["reason"]


def test_a_cache_that_is_off_by_one(checked):
    assert checked("cache", "off by one")["verdict"] == "wrong"


def test_a_wrong_gradient_of_a_right_loss(checked):
    answer = checked("wrong_gradient", training=True)
    assert answer["verdict"] == "wrong"
    assert answer["reason"].startswith("gradient of layer.")


def test_weights_that_training_does_not_reach(checked):
    """Loss and gradients of the first step are right; only later steps go astray."""
    answer = checked("stale_weights", "stale", training=True)
    assert answer["verdict"] == "wrong"
    assert answer["reason"].startswith("update of layer.")
