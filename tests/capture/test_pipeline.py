"""The built-in pipeline: how blocks are shared out; microbatches compute what a batch does."""

import time

import pytest

from profiler_core.capture.child import pipeline, steps, variants, workloads
from profiler_core.capture.child.failures import CannotRunError
from tests.lazily import Lazily

torch = Lazily("torch")
distributed = Lazily("torch.distributed")
EAGER = variants.Variant(False, None, None, False, None, False, "fp32", False)
SMALL = {"width": "16", "length": "4", "layers": "3"}


def built(batch=4, **options):
    request = workloads.Request("pp", batch, (), {**SMALL, **options}, True, 0)
    return variants.build(request, EAGER, torch.device("cpu"))


@pytest.fixture
def lone_rank(tmp_path):
    """A job of one rank, which is first and last stage at once."""
    distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1
    )
    yield
    distributed.destroy_process_group()


def test_forward_and_loss_of_a_stage_are_no_graph(lone_rank):
    """`--compile-target loss` compiled nothing of it, and said that it did."""
    asked = EAGER._replace(compile=True, mode="default", backend="inductor", target=("loss",))
    with pytest.raises(CannotRunError, match="'loss' is nothing that this step shows"):
        steps.step_of(built(), asked, torch.device("cpu"), True)


def test_stages_take_neighbouring_blocks_and_the_first_ones_what_is_left_over():
    assert [pipeline.stage_of(list("abcdefg"), rank, 3) for rank in range(3)] == [
        ["a", "b", "c"], ["d", "e"], ["f", "g"],
    ]  # fmt: skip
    with pytest.raises(CannotRunError, match="2 blocks do not make 3 pipeline stages"):
        pipeline.stage_of(["a", "b"], 0, 3)


def test_each_rank_gets_its_own_blocks_with_the_weights_of_the_whole_model(monkeypatch):
    whole = built(layers="4").model.state_dict()
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    stage = built(layers="4").model
    assert len(stage) == 2
    for name, weight in stage.state_dict().items():
        index, _, rest = name.partition(".")
        assert torch.equal(weight, whole[f"{int(index) + 2}.{rest}"])


@pytest.mark.parametrize("schedule", pipeline.SCHEDULES)
def test_microbatches_give_loss_output_and_gradients_of_the_whole_batch(lone_rank, schedule):
    workload = built(schedule=schedule)
    answer = dict(steps.step_of(workload, EAGER, torch.device("cpu"), True).answer(0))
    output = workload.model(workload.inputs[0][0][0])
    loss = output.square().mean()
    loss.backward()
    assert torch.equal(answer["output 0"], output.detach().reshape(-1))
    assert torch.allclose(answer["loss"], loss)
    for name, parameter in workload.model.named_parameters():
        assert torch.allclose(answer[f"gradient of {name}"], parameter.grad, atol=1e-6), name


def test_a_late_stage_is_late_once_per_step(lone_rank, monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    step = steps.step_of(built(slow_rank="0", slow_sleep_us="7"), EAGER, torch.device("cpu"), True)
    step(0)
    step(1)
    assert slept == [7e-6, 7e-6]


def test_batches_that_cannot_be_cut_evenly_and_unknown_schedules_are_refused():
    with pytest.raises(CannotRunError, match="A batch of 6 cannot be cut into 4 equal"):
        built(6)
    with pytest.raises(CannotRunError, match="Option schedule=zb is not known"):
        built(schedule="zb")


def test_ranks_with_batches_of_their_own_get_different_ones(monkeypatch):
    """Alike, a gradient that was not reduced over the ranks would be right all the same."""
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    batches = {}
    for workload in ("ddp", "tp"):
        for rank in (0, 1):
            monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
            request = workloads.Request(workload, 1, (), SMALL, True, 0)
            made = workloads.build(request, lambda target: target)
            batches[workload, rank] = made.inputs[0][0][0], made.model.state_dict()
    assert not torch.equal(batches["ddp", 0][0], batches["ddp", 1][0])
    assert torch.equal(batches["tp", 0][0], batches["tp", 1][0])
    first, second = batches["ddp", 0][1], batches["ddp", 1][1]
    assert all(torch.equal(first[name], second[name]) for name in first)
