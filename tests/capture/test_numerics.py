"""The check of the answers: right, wrong, random, trained, stepped, in every precision.

In this process and with Dynamo's debugging backends, so that nothing is compiled.
"""

import pytest

from profiler_core.capture.child import numerics, tolerance, variants, workloads
from profiler_core.capture.spec import parse_variant
from tests.lazily import Lazily

from .conftest import PLANTED

torch = Lazily("torch")

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]


@pytest.fixture
def checked(tmp_path):
    """`checked(function, candidate, training=False, baseline="eager")` -> numerics of run.json."""

    def check(function, candidate, *, training=False, baseline="eager", workload=None, shapes=()):
        torch._dynamo.reset()
        request = workloads.Request(
            workload or f"{PLANTED}:{function}", None, shapes, {}, training, seed=0
        )
        bench = numerics.Bench(request, torch.device("cpu"))
        path = str(tmp_path / "reference.pt")
        numerics.make_reference(bench, variant(baseline), path)
        return numerics.compare(bench, variant(candidate), path, None)

    return check


def variant(text):
    return variants.variant_from(parse_variant(text).to_dict())


def test_the_same_answer_is_right(checked):
    found = checked("model", "backend:eager")
    assert found["verdict"] == "right"
    assert found["reference"] == "fp64"
    assert found["compared"] == "outputs"
    assert found["rms_error"] == found["baseline_rms_error"] < found["tolerance"]


def test_a_planted_wrong_compiler_is_caught(checked):
    found = checked("model", "backend:planted_wrong")
    assert found["verdict"] == "wrong"
    assert found["rms_error"] == pytest.approx(0.01, rel=0.01)


def test_a_planted_wrong_compiler_is_caught_in_training(checked):
    found = checked("model", "backend:planted_wrong", training=True)
    assert found["verdict"] == "wrong"
    assert found["compared"] == "loss and gradients"


def test_gradients_are_compared(checked):
    found = checked("model", "backend:aot_eager", training=True)
    assert found["verdict"] == "right"
    assert found["compared"] == "loss and gradients"


def test_dropout_that_draws_the_same_numbers_is_comparable(checked):
    assert checked("dropout", "backend:aot_eager", training=True)["verdict"] == "right"


def test_a_model_whose_eager_runs_differ_is_not_comparable(checked):
    found = checked("random_answer", "backend:eager")
    assert found["verdict"] == "not comparable"
    assert found["reason"].startswith("random:")


def test_a_step_callable_is_compared_by_what_it_returns(checked):
    right = checked("step", "backend:eager")
    assert (right["verdict"], right["compared"]) == ("right", "returned tensors")
    assert right["reference"] == "fp32"
    assert "no fp64 reference" in right["reason"]
    assert checked("step", "backend:planted_wrong")["verdict"] == "wrong"


def test_less_precision_is_measured_against_eager_in_that_precision(checked):
    found = checked("model", "backend:eager+bf16-autocast")
    assert found["verdict"] == "right"
    assert found["baseline_rms_error"] > 1e-4  # bf16's own error, not fp32's
    assert "measured against eager in bf16-autocast" in found["reason"]


def test_a_gradient_that_is_zero_in_exact_arithmetic_raises_no_alarm(checked):
    """The bias of a convolution before a batch norm: noise against noise."""
    found = checked(
        None,
        "backend:aot_eager",
        training=True,
        workload="simplecnn",
        shapes=((4, 3, 16, 16),),
    )
    assert found["verdict"] == "right", found


def test_every_shape_of_a_cycle_is_checked(checked):
    found = checked("shaped", "backend:planted_wrong", shapes=((4, 8), (2, 8)))
    assert found["verdict"] == "wrong"


def named(**values):
    return [(name, torch.tensor(value, dtype=torch.float64)) for name, value in values.items()]


def judged(candidate, baseline=(1.0, 2.0), reference=(1.0, 2.0), precision="fp32", kind="fp64"):
    as_named = [
        value if isinstance(value, list) else named(out=value)
        for value in (reference, baseline, candidate)
    ]
    return tolerance.judge(*as_named, precision, kind, "outputs", {})


def test_three_times_the_baselines_error_and_a_slack_are_allowed():
    baseline = (1.0 + 1e-4, 2.0 + 2e-4)
    assert judged((1.0 + 3e-4, 2.0 + 6e-4), baseline).right
    assert not judged((1.0 + 4e-4, 2.0 + 8e-4), baseline).right
    assert judged((1.0 + 9e-6, 2.0 + 18e-6)).right
    assert not judged((1.0 + 11e-6, 2.0 + 22e-6)).right


def test_a_missing_or_reshaped_tensor_is_wrong():
    assert "out is missing" in judged(named(other=(1.0, 2.0))).problem
    assert "has the shape 1, not 2" in judged((1.0,)).problem
    extra = judged(named(out=(1.0, 2.0), more=(1.0, 1.0)))
    assert "more is there, and should not be" in extra.problem


def test_a_value_that_is_not_finite_is_wrong():
    assert "not finite" in judged((1.0, float("nan"))).problem
    assert not judged((1.0, float("inf"))).right


def test_noise_around_an_exact_zero_is_measured_by_the_largest_tensor():
    reference = named(big=(1.0, 1.0), zero=(1e-17, -1e-17))
    noise = named(big=(1.0, 1.0), zero=(1e-8, 1e-8))
    assert tolerance.judge(reference, reference, noise, "fp32", "fp64", "outputs", {}).right
    wrong = named(big=(1.0, 1.0), zero=(1e-3, 1e-3))
    assert not tolerance.judge(reference, reference, wrong, "fp32", "fp64", "outputs", {}).right


def test_without_fp64_the_tolerances_of_pytorchs_benchmarks_hold():
    assert judged((1.0 + 9e-5, 2.0), kind="fp32").right
    assert not judged((1.0 + 5e-4, 2.0 + 1e-3), kind="fp32").right
