"""Blocks that are one compiled code fall together: calls are counted, and not modules."""

from pathlib import Path

import pytest

from profiler_core.analysis.ledger.graph_calls import Execution
from profiler_core.analysis.ledger.merged_calls import (
    merged_calls,
    merged_parts,
    merged_with_holders,
)
from profiler_core.analysis.ledger.modules import ROOT
from profiler_core.analysis.ledger.sides import ReadSide
from profiler_core.analysis.rows.modules import most_expensive, row_title
from profiler_core.answers.modules import tables_answer
from profiler_core.model.inductor import CompiledGraph
from profiler_core.session.comparison import Comparison

DDP = Path(__file__).resolve().parents[3] / "sample_traces" / "ddp"


def _graph(compile_id, direction="forward", *, is_unnamed=True, module=""):
    return CompiledGraph(compile_id, direction, (), is_unnamed=is_unnamed, module=module)


def _part(compile_id, module):
    return _graph(compile_id, is_unnamed=False, module=module)


def _side(*steps):
    """Steps of runs, each of (graph, its modules)."""
    side = object.__new__(ReadSide)
    side.modules = {
        id(graph): {f"node_{n}": path for n, path in enumerate(paths)}
        for step in steps
        for graph, paths in step
    }
    side.executions = [
        [Execution(n, graph, {}, [], []) for n, (graph, _) in enumerate(step)] for step in steps
    ]
    return side


def test_a_call_is_one_of_each_part_and_of_one_compilation():
    """Two compilations of a function that DDP cut in two: entered once and twice, and backward."""
    first = (_graph("4/0"), ["qkv", ROOT]), (_graph("4/0"), ["down", ROOT])
    then = (_graph("4/1"), ["qkv", ROOT]), (_graph("4/1"), ["down", ROOT])
    back = (_graph("4/1", "backward"), ["qkv"])
    other = (_graph("7/0"), ["head"])
    step = (*first, *then, *then, other, back, back)
    assert merged_calls([_side(step)]) == {"qkv": 3, "down": 3, ROOT: 3}
    assert merged_calls([_side((*first, *then), step, ()), _side()])["qkv"] == 3
    assert merged_calls([_side(first)]) == {}


def test_calls_of_the_model_and_of_parts_with_a_path_are_told_apart():
    """A model that is called twice per step, as where gradients accumulate, has its own layers."""
    whole = (_graph("0/0", is_unnamed=False), ["h.0", "h.1"])
    assert merged_calls([_side((whole, whole))]) == {}


def test_a_part_with_a_path_that_others_enter_too_is_not_its_alone():
    """Blocks a and b of one class: the code of a, compiled once, runs for b as well."""
    whole = (_graph("0/0", is_unnamed=False), ["head"])
    block, rest = (_part("1/0", "stack.a"), ["stack.a.mlp.up"]), (_part("2/0", "stack.a"), [])
    side = _side((whole, block, rest, block, rest))
    assert merged_calls([side]) == dict.fromkeys(("stack.a", "stack.a.mlp", "stack.a.mlp.up"), 2)
    assert merged_parts([side]) == ("stack.a",)
    # What the model does twice its parts do twice, as where gradients accumulate.
    side = _side((whole, block, whole, block))
    assert (merged_calls([side]), merged_parts([side])) == ({}, ())
    # Compiled again for b, the log names both.
    side = _side((whole, block, (_part("1/1", "stack.b"), ["stack.b.up"])))
    assert (merged_calls([side]), merged_parts([side])) == ({}, ())


def test_what_holds_a_part_that_others_enter_is_known():
    paths = [ROOT, "stack", "stack.a", "stack.a.up"]

    def above(path):
        return path.rpartition(".")[0] or (ROOT if path != ROOT else "")

    calls = {"stack.a": 2, "stack.a.up": 2}
    assert merged_with_holders(paths, above, calls, ["stack.a"]) == calls


def test_what_holds_a_module_that_is_known_is_known():
    paths = [ROOT, "head", "mlp", "mlp.up"]

    def above(path):
        return {"mlp.up": "mlp", ROOT: ""}.get(path, ROOT)

    assert merged_with_holders(paths, above, {"mlp.up": 6, ROOT: 6}) == {"mlp.up": 6, "mlp": 6}
    every = merged_with_holders(paths, above, {"mlp.up": 6, "head": 2})
    assert every == {"mlp.up": 6, "mlp": 6, "head": 2, ROOT: 6}


@pytest.fixture(scope="module")
def pair():
    return Comparison.open([DDP / "eager", DDP / "default"]).pairs[0]


def test_six_blocks_of_one_code_are_no_four_layers(pair):
    """Seen in the sample: "4 × Linear take 27.0 ms" of six blocks with 24 of them."""
    tree = pair.divided.modules
    titles = {row_title(row) for row in tree.by_class}
    assert titles >= {
        "6 calls of TransformerBlock", "24 calls of Linear", "12 calls of LayerNorm",
    }  # fmt: skip
    merged = {row.path: row.n_merged for row in tree.rows if row.n_merged is not None}
    assert merged == dict.fromkeys(("(model)", "norm1", "qkv", "out", "norm2", "up", "down"), 6)
    line = most_expensive(tree, pair.divided.operators, ("eager", "default"), is_pair=True)
    assert " 6 calls of TransformerBlock take 29.7 ms" in line
    assert "×" not in line
    (note,) = (note for note in pair.ledger.notes if "fall together" in note)
    assert note.startswith("6 calls per step of one compiled block")


def test_the_answer_for_machines_claims_no_number_of_modules(pair):
    answer = tables_answer(pair.divided)
    by_class = {row.class_: (row.n_modules, row.n_merged) for row in answer.by_class}
    assert by_class["Linear"] == (None, 24)
    assert by_class[""] == (1, None)
    assert {row.n_merged for row in answer.modules if row.path == "qkv"} == {6}
