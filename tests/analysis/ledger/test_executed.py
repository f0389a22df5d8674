"""Homes of nodes against the truth by execution: what NaN in each input of a module reached."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from profiler_core.analysis.ledger.dataflow import computed_nodes
from profiler_core.analysis.ledger.ownership import _homes, own_nodes
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.model.inductor import CompiledGraph
from tests.analysis.ledger.executed.truth import Executed, Node, candidates, read_truth
from tests.analysis.ledger.judge.code import Module
from tests.analysis.ledger.judge.graphs import bare
from tests.analysis.ledger.judge.log import read_log
from tests.analysis.ledger.pairs import FIXTURES

ROOT = Path(__file__).resolve().parents[3]


def by_ledger(graph: CompiledGraph, executed: Executed) -> dict[str, int]:
    """Node -> the executed call that the ledger takes for its home."""
    own = own_nodes(graph)
    homes = _homes(graph, own, computed_nodes(graph, own))
    return {node: executed.lines.index(graph.calls[i].line) for node, i in homes.items()}


def by_judge(module: Module, executed: Executed) -> dict[str, int]:
    """The same for the judge, whose calls are the executed ones in their order."""
    homes: dict[str, int] = {}
    statements = list(enumerate(executed.calls))
    for call in module.calls:
        place = next(n for n, text in statements if call.name in text)
        statements = [(n, text) for n, text in statements if n > place]
        for node in call.computed:
            homes.setdefault(node, place)
    return homes


def compared(folder: Path) -> tuple[Counter[str], list[str]]:
    """How many nodes each of the two places rightly, and each that one of them does not."""
    log = folder / "torch_trace.log.gz"
    truth = read_truth(folder / "truth.json")
    graphs, modules = read_inductor([log]).graphs, read_log([log])
    assert len(graphs) == len(modules) == len(truth)
    seen: Counter[str] = Counter()
    wrong = []
    for executed, graph, module in zip(truth, graphs, modules, strict=True):
        nodes = [Node(n.name, bare(n.target), n.arguments) for n in graph.post_nodes]
        homes = {"ledger": by_ledger(graph, executed), "judge": by_judge(module, executed)}
        for node, calls in candidates(nodes, executed).items():
            seen["nodes"] += 1
            if not calls:
                seen["undecided"] += 1
                continue
            seen["decided"] += len(calls) == 1
            for who, home in homes.items():
                seen[f"{who} silent"] += node not in home
                if node in home and home[node] not in calls:
                    wrong.append(
                        f"{executed.program}, {graph.direction}: {who} says that {node} is "
                        f"computed by call {home[node]}, and it is by one of {sorted(calls)}"
                    )
    return seen, wrong


@pytest.mark.parametrize(
    ("record", "least", "least_decided", "most_silent"),
    [
        # C++ kernels: without their text and where no comment lists their nodes, 42 were wrong.
        # The judge reads comments alone, and a backward's C++ kernels have none.
        ("executed", 450, 300, 0.6),
        # Triton kernels of an H200: 15 were wrong or silent where a comment's nodes without a
        # source, nodes that share the name of another's source, and views that are stored counted
        # as not listed.
        ("executed_cuda", 440, 270, 0.05),
    ],
)
def test_homes_are_where_poison_says(record, least, least_decided, most_silent):
    seen, wrong = compared(FIXTURES / record)
    assert wrong == []
    assert seen["nodes"] > least
    assert seen["decided"] > least_decided
    assert seen["undecided"] == seen["ledger silent"] == 0
    assert seen["judge silent"] < most_silent * seen["nodes"]


def test_a_part_of_what_was_joined_follows_from_its_own_part_alone():
    """NaN in the left half is not in the right one; what was called decided by no call is."""
    nodes = [
        Node("left", "mul", ("a", "c")),
        Node("right", "mul", ("b", "c")),
        Node("joined", "cat", ("left", "right")),
        Node("half", "slice", ("joined",)),
        Node("end", "exp", ("half",)),
    ]
    reached = {"a": {0, 2}, "b": {0, 1}, "c": {0, 1, 2}}
    executed = Executed(
        "made up", ("", "", ""), (1, 2, 3), {name: frozenset(c) for name, c in reached.items()}
    )
    assert candidates(nodes, executed)["end"] == {0, 1, 2}
    assert candidates(nodes, executed)["joined"] == {0}


def test_what_no_call_can_have_computed_is_undecided_by_execution(monkeypatch):
    """It is counted, and neither right nor wrong."""
    monkeypatch.setattr(
        f"{__name__}.candidates", lambda nodes, _: {node.name: frozenset() for node in nodes[:1]}
    )
    seen, wrong = compared(FIXTURES / "executed")
    assert wrong == []
    assert seen["undecided"] == seen["nodes"] == 25


def test_a_wrong_home_is_seen():
    """Each node's home moved by one call: the truth has to notice where it is decided."""
    (executed, *_) = read_truth(FIXTURES / "executed" / "truth.json")
    (graph, *_) = read_inductor([FIXTURES / "executed" / "torch_trace.log.gz"]).graphs
    nodes = [Node(n.name, bare(n.target), n.arguments) for n in graph.post_nodes]
    decided = {n: c for n, c in candidates(nodes, executed).items() if len(c) == 1}
    assert len(decided) > 5
    homes = by_ledger(graph, executed)
    assert all((homes[node] + 1) % 3 not in calls for node, calls in decided.items())


@pytest.mark.gpu
def test_homes_of_triton_kernels_are_where_poison_says(tmp_path):
    command = [sys.executable, "-m", "tests.analysis.ledger.executed.record", str(tmp_path)]
    subprocess.run([*command, "--device", "cuda"], cwd=ROOT, check=True, timeout=280)
    seen, wrong = compared(tmp_path)
    assert wrong == []
    assert seen["decided"] > 200
