"""Which calls may compute each node of a generated module, by what NaN in its inputs reached.

What follows from an input is computed only by calls that wrote something else once it was NaN. An
input that one operator alone is handed says more: the first call that it reached computes this
operator, so all that leads to the operator is computed by then.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# What describes memory alone; whoever reads it looks through it.
VIEWS = frozenset(
    ("view", "reshape", "_unsafe_view", "permute", "transpose", "t", "expand", "unsqueeze",
     "squeeze", "getitem", "slice", "select", "alias", "detach", "split", "split_with_sizes")
)  # fmt: skip
# Whose result is a part of what they are handed: NaN in another part does not show in it.
PARTS = frozenset(("slice", "select", "split", "split_with_sizes", "getitem"))
# Whose result may hide that what it is handed is NaN.
HIDING = frozenset(
    ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "logical_not", "logical_and", "any",
     "all", "argmax", "full_like", "zeros_like", "ones_like", "empty_like", "new_zeros")
)  # fmt: skip


@dataclass(frozen=True)
class Node:
    """A node of the graph that Inductor lowered, by its operator's bare name."""

    name: str
    op: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Executed:
    """What was seen of one generated module: places of calls are counted from 0."""

    program: str
    calls: tuple[str, ...]  # statements, in order
    lines: tuple[int, ...]  # of the module's text
    reached: Mapping[str, frozenset[int]]  # input -> calls that wrote something else with it NaN


def read_truth(path: Path) -> list[Executed]:
    """The modules in the order of their compilation."""
    modules = []
    for module in json.loads(path.read_text()):
        lines = tuple(int(line) for line in module["calls"])
        reached = {
            name: frozenset(map(lines.index, seen)) for name, seen in module["reached"].items()
        }
        calls = tuple(module["calls"].values())
        modules.append(Executed(module["program"], calls, lines, reached))
    return modules


def candidates(nodes: Sequence[Node], executed: Executed) -> dict[str, frozenset[int]]:
    """Node -> the calls of which one is the first that computes it; views are left out.

    Only nodes that follow from an input of floats; one candidate is the truth, and none says that
    the execution does not tell.
    """
    # What reached nothing is taken in a choice that is never made.
    inputs = {name: frozenset((name,)) for name, seen in executed.reached.items() if seen}
    everywhere = dict(inputs)  # the same, where NaN shows in every part of the node
    users: dict[str, set[str]] = {}
    for node in nodes:
        of_parts = _inputs(node, everywhere)
        inputs[node.name] = of_parts if node.op in PARTS else _inputs(node, inputs)
        if node.op == "cat":
            parts = [everywhere[argument] for argument in node.arguments if argument in everywhere]
            everywhere[node.name] = frozenset.intersection(*parts) if parts else frozenset()
        else:
            everywhere[node.name] = of_parts
        for argument in node.arguments:
            users.setdefault(argument, set()).add(node.name)
    ops = {node.name: node.op for node in nodes}
    first: dict[str, int] = {}
    for name, seen in executed.reached.items():
        readers = _readers(name, users, ops)
        if seen and len(readers) == 1 and ops[min(readers)] not in HIDING | {"where"}:
            first[next(iter(readers))] = min(seen)
    latest: dict[str, int] = {}  # by which call a node is computed at the latest
    possible: dict[str, frozenset[int]] = {}
    last = len(executed.calls) - 1
    for node in reversed(nodes):
        below = [latest[user] for user in users.get(node.name, ())]
        latest[node.name] = min([first.get(node.name, last), *below])
        if node.op not in VIEWS and inputs[node.name]:
            reached = [executed.reached[name] for name in inputs[node.name]]
            after = first.get(node.name, 0)
            possible[node.name] = frozenset(
                call
                for call in frozenset.intersection(*reached)
                if after <= call <= latest[node.name]
            )
    return possible


def _inputs(node: Node, inputs: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The inputs of which NaN shows in a node: in a choice, those that show whichever is taken."""
    if node.op in HIDING:
        return frozenset()
    if node.op == "where":
        branches = [inputs[name] for name in node.arguments[1:] if inputs.get(name)]
        return frozenset.intersection(*branches) if branches else frozenset()
    return frozenset().union(*(inputs.get(argument, ()) for argument in node.arguments))


def _readers(name: str, users: Mapping[str, set[str]], ops: Mapping[str, str]) -> set[str]:
    """The nodes that are handed a value, be it through views."""
    readers: set[str] = set()
    for user in users.get(name, ()):
        readers |= _readers(user, users, ops) if ops[user] in VIEWS else {user}
    return readers
