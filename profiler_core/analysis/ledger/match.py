"""The state of matching two programs: ties made so far, and the labels that lead to more."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.ledger.worth import related

Outputs = dict[int, tuple[tuple[int, ...], str]]
Sources = dict[int, dict[str, str]]
Labels = tuple[dict[int, frozenset[str]], dict[int, frozenset[str]]]

Evidence = Literal[
    "operator in order",
    "source line",
    "composite",
    "position",
    "kernel name",
    "operator and shapes",
    "optimizer step",
    "exchange between ranks",
    "unlike equal layers",
]


@dataclass(slots=True)
class Tie:
    """Units of the baseline and of the candidate that do the same thing."""

    baseline: tuple[int, ...]
    candidate: tuple[int, ...]
    evidence: Evidence


@dataclass(slots=True)
class Doubt:
    """Units of both sides that are tied, and units that explain either of them equally well."""

    units: tuple[tuple[int, ...], tuple[int, ...]]
    others: tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(slots=True)
class Match:
    """The ties, and for each unit what is known about it."""

    ties: list[Tie] = field(default_factory=list)
    removed: set[int] = field(default_factory=set)  # baseline units whose node no call computes
    doubts: list[Doubt] = field(default_factory=list)
    added: set[int] = field(default_factory=set)  # candidate units known to have no counterpart
    # Per side: unit -> shape and dtype of its result, as the other side's graph prints them.
    outputs: tuple[Outputs, Outputs] = field(default_factory=lambda: ({}, {}))
    # Per side: unit -> nn.Module of the node on the other side that it is, be it a view.
    modules: tuple[dict[int, str], dict[int, str]] = field(default_factory=lambda: ({}, {}))
    sources: tuple[Sources, Sources] = field(
        default_factory=lambda: ({}, {})
    )  # per side: unit -> source line -> its code


def tie_items(match: Match, a: Item, b: Item, evidence: Evidence) -> None:
    """Two items are the same work; with units on one side only, note what that means."""
    if a.units and b.units:
        match.ties.append(Tie(a.units, b.units, evidence))
    elif a.units and b.node and related(a, b):
        match.removed.update(a.units)
    elif b.units and not a.units:
        match.added.update(b.units)
    for side, (item, other) in enumerate(((a, b), (b, a))):
        if item.unit is not None and other.output is not None and item.op == other.op:
            match.outputs[side][item.unit] = other.output
        if item.unit is not None and other.module and item.op == other.op:
            match.modules[side][item.unit] = other.module
        if other.code and not item.code:
            for unit in item.units:
                for label in other.labels:
                    match.sources[side].setdefault(unit, {})[label] = other.code


def doubt(match: Match, a: Item, b: Item, others: tuple[Iterable[Item], Iterable[Item]]) -> None:
    """Others may as well face these two: either side's."""
    match.doubts.append(
        Doubt(
            (a.units, b.units),
            (
                tuple(unit for item in others[0] for unit in item.units),
                tuple(unit for item in others[1] for unit in item.units),
            ),
        )
    )


def label_items(a: Item, b: Item, labels_of: Labels) -> None:
    """Both get one set of labels: the source lines where a graph says them, else the unit's name.

    Labels live in the candidate's words, so that both sides' backward can be compared.
    """
    labels = (
        b.labels
        or a.labels
        or (frozenset((f"unit {b.unit}",)) if b.unit is not None else frozenset())
    )
    for side, item in enumerate((a, b)):
        if item.unit is not None:
            labels_of[side][item.unit] = labels | labels_of[side].get(item.unit, frozenset())
