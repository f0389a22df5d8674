"""Training loops and decoding as users return them: what one step does, and in which order."""

import pytest

from profiler_core.capture.child import numerics, protocols, serve, timing, workloads
from profiler_core.capture.child.failures import CannotRunError
from tests.lazily import Lazily

from .test_compile_targets import LOOPS, bench_of, variant

torch = Lazily("torch")

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def step_of(function, text="eager", **more):
    return bench_of(function, **more).step(variant(text))


def calls():
    """The list in which the functions of this process note what they do, emptied."""
    from profiler_core.capture.child import project

    noted = project.load(str(LOOPS)).CALLS
    noted.clear()
    return noted


def by_hand(n_steps, accumulate=2, fp16=False):
    """The parameters, and their average, after so many steps of the loop in loops.py."""
    from profiler_core.capture.child import project

    torch.manual_seed(0)
    loop = project.load(str(LOOPS)).training(accumulate=accumulate)
    model, parameters = loop.model, list(loop.model.parameters())
    average = [torch.zeros_like(parameter) for parameter in parameters]
    optimizer = loop.optimizer(parameters)
    scheduler = loop.scheduler(optimizer)
    scaler = torch.amp.GradScaler("cpu", enabled=fp16)
    for number in range(n_steps):
        optimizer.zero_grad()
        for part in range(accumulate):
            x, y = loop.batches[(number * accumulate + part) % len(loop.batches)]
            with torch.autocast("cpu", torch.float16, enabled=fp16):
                loss = torch.nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss / accumulate).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        for mean, parameter in zip(average, parameters, strict=True):
            mean.add_((parameter.detach() - mean) / (number + 1))
    return [parameter.detach().clone() for parameter in parameters], average


@pytest.mark.parametrize("kind", ["namespace", "dict", "tuple"])
@pytest.mark.parametrize("fetched", ["", "1"])
def test_a_step_is_one_of_the_optimizer_over_accumulated_clipped_batches(kind, fetched):
    noted = calls()
    step = step_of("training", kind=kind, fetched=fetched)
    for index in range(5):
        step(index)
    parameters, average = by_hand(5)
    for ours, theirs in zip(step._model.parameters(), parameters, strict=True):
        assert torch.equal(ours, theirs)
    for ours, theirs in zip(step._loop.ema.module.module.parameters(), average, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert noted.count("ema") == 5
    assert (step.trains, step.batches_per_step, step.n_shapes) == (True, 2, 1)


@pytest.mark.parametrize("compiled", ["eager", "aot_eager+target=loss"])
def test_gradients_in_fp16_are_scaled_and_clipped_unscaled(compiled):
    step = step_of("training", f"{compiled}+fp16-autocast")
    for index in range(5):
        step(index)
    parameters, _ = by_hand(5, fp16=True)
    before = list(step_of("training")._model.parameters())
    assert not any(map(torch.equal, parameters, before))  # no step was skipped throughout
    for ours, theirs in zip(step._model.parameters(), parameters, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0.0, atol=2e-5)


def test_gradients_too_small_for_fp16_are_compared_all_the_same(tmp_path):
    bench, path = bench_of("training", share=1e-5), str(tmp_path / "reference.pt")
    numerics.make_reference(bench, variant("eager+fp16-autocast"), path)
    answer = numerics.compare(bench, variant("aot_eager+fp16-autocast"), path, None)
    assert (answer["verdict"], answer["reference"]) == ("right", "fp64"), answer


def in_graphs(**more):
    """A step that treats its gradients as if a CUDA graph held them, on the CPU."""
    kept = variant("aot_eager")._replace(mode="reduce-overhead")
    return bench_of("training", **more).step(kept)


def test_accumulated_gradients_are_kept_out_of_the_memory_of_cuda_graphs():
    step, given = in_graphs(), []
    weight = step._model.head[0].weight
    weight.register_hook(lambda gradient: given.append(gradient.data_ptr()))
    step.answer(0)
    for index in range(5):
        step(index)
    assert weight.grad.data_ptr() != given[0]
    for ours, theirs in zip(step._model.parameters(), by_hand(5)[0], strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_parameter_without_a_gradient_gets_none_by_accumulation_in_graphs():
    step = in_graphs(unused=1)
    before = step._model.unused.weight.detach().clone()
    for index in range(3):
        step(index)
    assert step._model.unused.weight.grad is None
    assert torch.equal(step._model.unused.weight, before)  # no weight decay


@pytest.mark.parametrize("make", [step_of, lambda _, **more: in_graphs(**more)])
def test_gradients_that_the_optimizer_does_not_have_do_not_grow(make):
    step = make("training", head_only=1)
    norms = []
    for index in (0, 2, 4):  # the same batches
        step(index)
        norms.append(float(step._model.embed.weight.grad.norm()))
    assert max(norms) < 1.5 * min(norms)


def test_batches_of_several_shapes_are_a_cycle_of_steps():
    step = step_of("training", n_batches=3, accumulate=2, sizes=2)
    assert step.n_shapes == 3 and step.labels == ["6x8", "6x8", "3x8"]
    assert step_of("training", n_batches=4, accumulate=2, sizes=2).n_shapes == 2


def test_a_training_step_of_the_users_own_gives_the_loss():
    step = step_of("own_training_step", "aot_eager+target=whole")
    assert step.answer(0)[0][0] == "loss"
    assert sum(name.startswith("gradient of layers") for name, _ in step.answer(0)) == 12


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        ({"model": 1, "batches": []}, "batches is empty"),
        ({"model": 1, "batches": [1], "optimiser": 1}, "Training has no 'optimiser'"),
        ({"model": 1, "batches": [1], "accumulate": 0}, "accumulate is 0"),
        ({"model": 1, "batches": [1], "loss": 3}, "loss is a int, not a function"),
    ],
)
def test_a_loop_that_makes_no_sense_is_refused(returned, problem):
    with pytest.raises(CannotRunError, match=problem):
        protocols.training_of(returned)


def test_decoding_needs_something_to_call():
    with pytest.raises(CannotRunError, match="neither step nor generate"):
        protocols.decode_of({"model": object(), "inputs": (1,)})
    assert protocols.decode_of(lambda: 1) is protocols.training_of((1, 2)) is None


def test_a_cache_is_reset_between_the_timed_parts_of_a_round():
    step, clock, noted = step_of("decoding"), timing.Clock(torch.device("cpu")), calls()
    result = clock.round(step, 0, 10)
    assert noted == ["reset", *["step"] * 4, "reset", *["step"] * 4, "reset", *["step"] * 2]
    assert len(result["step_ns"]) == 10
    assert sum(result["step_ns"]) == result["wall_ns"]  # what lies between them is not timed
    noted.clear()
    for index in range(9):
        step.ready()
        step(index)
    assert noted.count("reset") == 2  # before the third and the seventh
    assert step.tokens == 2


def test_state_that_fills_up_unreset_says_that_there_is_a_reset():
    spec = {"workload": f"{LOOPS}:decoding", "training": False,
            "variant": {"compile": False, "torchscript": False, "backend": None}}  # fmt: skip
    worker = serve.Worker(spec, None)
    worker._step = step_of("decoding", reset="")
    with pytest.raises(IndexError) as caught:
        for index in range(20):
            worker._step(index)
    answer = worker.describe(caught.value, "the timing")
    assert "position 8 is outside of the cache" in answer["problem"]
    assert "The first 8 calls went well" in answer["remedy"]
    assert "reset=" in answer["remedy"]


@pytest.mark.parametrize("function", ["decoding", "generating"])
@pytest.mark.parametrize(("fault", "verdict"), [("", "right"), ("1", "wrong")])
def test_decoding_is_judged_by_the_logits_of_the_same_tokens(tmp_path, function, fault, verdict):
    bench, path = bench_of(function, off_by_one=fault), str(tmp_path / "reference.pt")
    numerics.make_reference(bench, variant("eager"), path)
    answer = numerics.compare(bench, variant("aot_eager"), path, None)
    assert answer["verdict"] == verdict, answer
    assert answer["reference"] == "fp64", answer


def test_a_model_is_called_with_the_tokens_of_the_reference():
    first, second = step_of("generating"), step_of("generating")
    first.answer(0)
    fed = [[ids.clone() for ids in call] for call in first.fed]
    fed[2][0][:] = (fed[2][0] + 1) % 16
    second.fed = fed
    second.answer(0)
    assert len(first.fed) == 4 and second.fed is fed
    plain, forced = dict(first.answer(0)), dict(second.answer(0))
    assert torch.equal(plain["output 1"], forced["output 1"])
    assert not torch.equal(plain["output 2"], forced["output 2"])


def test_the_whole_loop_is_compiled_only_where_it_is_asked_for():
    counters = torch._dynamo.utils.counters
    names = {}
    for target in ("", "+target=step"):
        torch._dynamo.reset()
        counters.clear()
        step_of("generating", f"eager_noexcept{target}")(0)
        names[target] = counters["stats"]["calls_captured"]
    assert names["+target=step"] > names[""]


def test_a_variants_precision_reaches_the_batches_that_are_fetched():
    step = step_of("training", "eager+bf16", fetched="1")
    assert step._batch(0)[0][0][0].dtype == torch.bfloat16
    assert isinstance(step(0), torch.Tensor)
    assert workloads.label_of([step._batch(0)[0][0][0]]) == "6x8"


@pytest.mark.parametrize("precision", ["", "+bf16-autocast"])
@pytest.mark.parametrize(("sign", "verdict"), [("1.0", "right"), ("-1.0", "wrong")])
def test_an_update_that_adam_makes_of_rounding_does_not_hide_the_others(
    tmp_path, precision, sign, verdict
):
    bench, path = bench_of("attention", sign=sign), str(tmp_path / "reference.pt")
    numerics.make_reference(bench, variant(f"eager{precision}"), path)
    stored = torch.load(path, weights_only=True)
    assert "k.bias" not in stored["state"][1]
    answer = numerics.compare(bench, variant(f"aot_eager{precision}+target=loss"), path, None)
    assert answer["verdict"] == verdict, answer


OWN_STEPS = """
import torch

def looks():
    model = torch.nn.Linear(4, 4)
    return (lambda: model(torch.ones(2, 4)).detach()), model

def accumulates():
    model = torch.nn.Linear(4, 4)
    return (lambda: model(torch.ones(2, 4)).sum().backward()), model

def alone():
    model = torch.nn.Linear(4, 4)
    return lambda: model(torch.ones(2, 4)).sum().backward()
"""


@pytest.mark.parametrize(
    ("function", "mode"),
    [("looks", "inference"), ("accumulates", "training"), ("alone", "unknown")],
)
def test_what_a_step_of_ones_own_does_is_told_by_its_model(tmp_path, function, mode):
    file = tmp_path / "own_steps.py"
    file.write_text(OWN_STEPS)
    request = workloads.Request(f"{file}:{function}", None, (), {}, False, seed=0)
    step = numerics.Bench(request, torch.device("cpu")).step(variant("eager"))
    step(0)
    assert step.mode == mode
