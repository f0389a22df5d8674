"""What a graph leaves for the next in a training step: Triton code of an H200 in a row."""

from collections import Counter
from types import SimpleNamespace

import msgspec
import pytest

from profiler_core.analysis.unfused.graph_breaks import passed_between_graphs
from profiler_core.analysis.unfused.handovers import returned_values
from profiler_core.ingest.inductor.reader import read_inductor
from tests.analysis.ledger.executed.truth import read_truth
from tests.analysis.ledger.pairs import FIXTURES

RECORD = FIXTURES / "executed_cuda"
SIZE = 24 * 48 * 4  # the activation, and its gradient
N_STEPS = 3


@pytest.fixture(scope="module")
def compiled():
    """Program and direction -> its graph; all were compiled as 0/0."""
    graphs = read_inductor([RECORD / "torch_trace.log.gz"]).graphs
    names = [module.program for module in read_truth(RECORD / "truth.json")]
    return {
        (name, graph.direction): msgspec.structs.replace(graph, compile_id=f"{name}/0")
        for name, graph in zip(names, graphs, strict=True)
    }


def passed(*graphs) -> Counter:
    """(Writer, reader, bytes) by the names of the calls -> runs, of a step of these graphs."""
    step = SimpleNamespace(form=SimpleNamespace(steps=SimpleNamespace(size=N_STEPS)))
    executions = [SimpleNamespace(graph=graph) for graph in graphs]
    of_id = {id(graph): graph for graph in graphs}
    found = passed_between_graphs(SimpleNamespace(steps=[step], executions=[executions]))
    return Counter(
        {
            (of_id[first].calls[writer].name, of_id[second].calls[reader].name, size): n
            for (first, second, writer, reader, size), n in found.items()
        }
    )


def test_an_activation_and_its_gradient_cross_a_break(compiled):
    """GELU's result goes into a residual block, whose gradient GELU's backward begins with."""
    first, second = ("linear_gelu", "residual")
    step = [
        compiled[first, "forward"],
        compiled[second, "forward"],
        compiled[second, "backward"],
        compiled[first, "backward"],
    ]
    (forward, backward) = sorted(passed(*step).items(), key=lambda entry: "backward" in entry[0][1])
    assert forward == (("triton_poi_fused_gelu_mul_1", "triton_poi_fused_mul_0", SIZE), N_STEPS)
    (writer, reader, size), n = backward
    assert (size, n) == (SIZE, N_STEPS)
    assert writer == "triton_poi_fused_add_mul_2"  # both branches' gradients, added
    assert reader == "triton_per_fused_gelu_gelu_backward_mul_sum_0"


def test_without_a_backward_beside_it_a_forwards_results_are_not_told(compiled):
    """What it keeps for the backward stands behind them."""
    assert not passed(compiled["linear_gelu", "forward"], compiled["residual", "forward"])


def test_parts_of_one_graph_are_left_out(compiled):
    step = [
        msgspec.structs.replace(compiled[key], compile_id="4/0")
        for key in (
            ("linear_gelu", "forward"),
            ("residual", "forward"),
            ("residual", "backward"),
            ("linear_gelu", "backward"),
        )
    ]
    assert not passed(*step)


def test_two_arguments_of_one_form_are_not_told_apart(compiled):
    """cat_split is handed two tensors of the activation's shape."""
    assert not passed(
        compiled["linear_gelu", "forward"],
        compiled["cat_split", "forward"],
        compiled["cat_split", "backward"],
        compiled["linear_gelu", "backward"],
    )


def test_values_that_a_module_returns():
    view = "reinterpret_tensor(buf6, (2, 24, 16), (384, 1, 24), 0)"
    code = f"    return (buf8, None, {view}, arg1_1, )\n"
    assert returned_values(code) == ["buf8", "", "buf6", "arg1_1"]
    assert returned_values("    return ()\n") == []
    assert returned_values("pass") == []
