"""The further built-in workloads: each builds, answers, and is compiled without a change."""

import pytest

from profiler_core.capture.built_in import BUILT_IN_WORKLOADS
from profiler_core.capture.child import more_workloads, workloads
from tests.lazily import Lazily

torch = Lazily("torch")

SMALL = {
    "moe": {"width": "16", "length": "8"},
    "decode": {"width": "32", "cached": "8", "layers": "1"},
    "dit": {"width": "32", "size": "4", "layers": "1"},
    "gnn": {"nodes": "10", "edges": "20", "width": "8"},
    "flex": {"width": "32", "length": "16"},
    "dlrm": {"tables": "3", "rows": "10", "width": "8"},
}


def built(name, **changes):
    request = workloads.Request(
        workload=name, batch_size=None, shapes=(), options=SMALL[name], training=False, seed=0
    )
    return workloads.build(request._replace(**changes), lambda target, **_: target)


def answer(made):
    ((args, kwargs),) = made.inputs
    with torch.no_grad():
        return made.model(*args, **kwargs)


def test_each_is_offered_by_name():
    assert set(SMALL) == set(more_workloads.BUILDERS) <= set(BUILT_IN_WORKLOADS)


@pytest.mark.filterwarnings("ignore::UserWarning")  # flex_attention, not compiled
@pytest.mark.parametrize("name", sorted(SMALL))
def test_it_answers_the_same_under_one_seed_and_in_double_precision(name):
    first, second = answer(built(name)), answer(built(name))
    assert torch.equal(first, second)
    assert torch.isfinite(first).all()
    made = built(name)
    made.model.double()
    doubled = [
        tuple(x.double() if x.is_floating_point() else x for x in args) for args, _ in made.inputs
    ]
    with torch.no_grad():
        assert torch.allclose(made.model(*doubled[0]).float(), first, atol=1e-4)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["moe", "dit", "flex"])
def test_a_batch_that_is_asked_for_is_built(name):
    made = built(name, batch_size=3)
    assert answer(made).shape[0] == 3


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["decode", "dit", "gnn", "dlrm", "moe"])
def test_dynamo_sees_it_whole_but_for_shapes_that_depend_on_data(name):
    from torch._dynamo.testing import CompileCounter

    made, counter = built(name), CompileCounter()
    torch._dynamo.reset()
    made.model.compile(backend=counter)
    answer(made)
    assert (counter.frame_count > 1) == (name == "moe"), counter.frame_count
    torch._dynamo.reset()
