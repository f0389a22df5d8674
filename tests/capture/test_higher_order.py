"""The check of the answers works with every operator of higher order, eager and compiled.

The mode that watches for TF32 looks at each operator; flex_attention once ended it in eager and
compiled runs alike. Triton kernels of one's own need a GPU: benchmarks/own_triton.py.
"""

from pathlib import Path

import pytest

from profiler_core.capture.child import operators, tf32
from tests.capture.test_numerics import checked as _checked
from tests.lazily import Lazily

torch = Lazily("torch")

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
checked = _checked
WORKLOADS = Path(__file__).parent / "workloads" / "higher_order.py"


@pytest.mark.parametrize("function", ["flex", "cond", "scan", "checkpoint", "invoke_subgraph"])
def test_answers_are_checked_through_an_operator_of_higher_order(checked, function):
    answer = checked("", "aot_eager", workload=f"{WORKLOADS}:{function}")
    assert (answer["verdict"], answer["reference"]) == ("right", "fp64"), answer["reason"]


@pytest.mark.parametrize("function", ["flex", "cond", "scan", "checkpoint", "invoke_subgraph"])
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


def test_what_lets_nothing_look_at_it_may_round_like_tf32(monkeypatch):
    """The compiler refused with a RuntimeError, which ended the check of the answers."""

    def refused():
        raise RuntimeError("non-infra torch dispatch mode present")

    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    assert tf32.may_round_like_tf32(torch.device("cuda"), lambda: refused)
