"""The check of the answers works with every operator of higher order, eager and compiled.

The mode that watches for TF32 looks at each operator; flex_attention once ended it in eager and
compiled runs alike. Triton kernels of one's own are run by Triton's interpreter here, and compiled
with the model on a GPU: benchmarks/own_triton.py.
"""

from pathlib import Path

import pytest

from profiler_core.capture.child import engine_calls, operators, tf32
from tests.capture.test_numerics import checked as _checked
from tests.lazily import Lazily

torch = Lazily("torch")

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
checked = _checked
FUNCTIONS = (
    "flex", "cond", "scan", "checkpoint", "invoke_subgraph",
    "triton_mutation", "triton_functional",
)  # fmt: skip
WORKLOADS = Path(__file__).parent / "workloads" / "higher_order.py"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_answers_are_checked_through_an_operator_of_higher_order(checked, function):
    answer = checked("", "aot_eager", workload=f"{WORKLOADS}:{function}")
    assert (answer["verdict"], answer["reference"]) == ("right", "fp64"), answer["reason"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_mode_that_looks_at_operators_lets_them_through(function):
    from tests.capture.workloads import higher_order

    model, inputs = getattr(higher_order, function)()
    seen = []

    def answer(operator, args, kwargs):
        seen.append(operators.operator_name(operator))
        return operator(*args, **kwargs)

    with torch.no_grad():
        plain = model(*inputs)
        with operators.intercepted(answer):
            watched = model(*inputs)
    assert torch.allclose(plain, watched)
    assert "addmm" in seen
    if function.startswith("triton"):
        assert f"triton_kernel_wrapper_{function.removeprefix('triton_')}" in seen


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_graph_of_an_unknown_backend_is_watched_through_them(function):
    """Its second call was watched by a mode of its own, which ended the run."""
    from tests.capture.workloads import higher_order

    model, inputs = getattr(higher_order, function)()
    watched = engine_calls.counted("theirs", is_known=False)(model)
    with torch.no_grad():
        answers = [watched(*inputs) for _ in range(2)]
    assert torch.allclose(*answers)
    with torch.no_grad(), torch.profiler.profile() as profiled:
        watched(*inputs)
    assert not [e for e in profiled.events() if e.name.startswith(engine_calls.PREFIX)]


def test_a_kernel_of_ones_own_is_work_in_torch_by_itself():
    """A graph of nothing else was taken for a call of an engine that torch does not see."""
    from tests.capture.workloads import higher_order

    x = torch.randn(8, higher_order.WIDTH)
    given = {"source": x, "out": torch.zeros_like(x)}

    def kernel():
        from torch._higher_order_ops import triton_kernel_wrap

        return triton_kernel_wrap.triton_kernel_wrapper_functional(
            **higher_order.OwnKernel.call(x), kwargs=given, tensors_to_clone=["out"]
        )["out"]

    watched = engine_calls.counted("theirs", is_known=False)(kernel)
    with torch.profiler.profile() as profiled:
        for _ in range(3):
            assert torch.allclose(watched(), x * 0.5)
    assert not [e for e in profiled.events() if e.name.startswith(engine_calls.PREFIX)]


def test_what_lets_nothing_look_at_it_may_round_like_tf32(monkeypatch):
    """The compiler refused with a RuntimeError, which ended the check of the answers."""

    def refused():
        raise RuntimeError("non-infra torch dispatch mode present")

    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    assert tf32.may_round_like_tf32(torch.device("cuda"), lambda: refused)
