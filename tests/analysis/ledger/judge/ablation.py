"""What each matching rule is worth: the ledger of every pair again with one rule switched off."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from profiler_core.analysis.ledger import filling, layout, matching, moved, replays, worth
from profiler_core.analysis.ledger.gap import Gap
from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from profiler_core.analysis.ledger.match import Match
from tests.analysis.ledger.judge.pairs import (
    groups_of,
    ledger_side,
    modules_of,
    open_to,
    steps_of,
)
from tests.analysis.ledger.judge.programs import read_program
from tests.analysis.ledger.judge.verdict import judge

# Functions of the matching that return pairs or tie items: without them nothing is added.
_MATCHING = ("pairs_by_size", "in_doubt", "_doubt_names", "kernels_by_size", "reach", "reach_lines",
             "reach_libraries", "parts_by_name", "_match_optimizers",
             "match_exchange", "realign", "join_neighbours", "pointwise_chains")  # fmt: skip
_WEIGHTS = {
    "PART_OF_ANOTHER": worth.ONLY_THE_LINE,
    "POINTWISE": 0,
    "NAMED_IN_KERNEL": 0,
    "NEWLY_NAMED": 0,
    "OF_ITS_SIZE": 0,
    "SAME_KERNEL": worth.NAMED_IN_KERNEL,
}
_REASONS = {
    "PART_OF_ANOTHER": "Inductor's comment says what else of its line a node was decomposed from",
    "POINTWISE": "cuDNN computes 1x1 convolutions with kernels that are named as products",
    "NAMED_IN_KERNEL": "Inductor names a kernel by what it computes",
    "NEWLY_NAMED": "what no kernel just before names is this one's",
    "OF_ITS_SIZE": "a kernel is handed a tensor as large as the operator's",
    "SAME_KERNEL": "two compiled runs have kernels of one name",
}

RULES = (
    *(rule.name for rule in filling.RULES),
    *_MATCHING,
    *_WEIGHTS,
    "operators_of_replay",
    "first_halves",
)


Owner = tuple[object, str]  # where a rule is looked up, and its name there


def _owner(rule: str) -> Owner:
    if rule in _MATCHING:
        return matching, rule
    if rule in _WEIGHTS:
        return worth, rule
    if rule == "first_halves":
        return layout, rule
    if rule == "operators_of_replay":
        return replays.Recording, "operators_of"
    assert rule in {each.name for each in filling.RULES}, f"There is no rule {rule}."
    return filling, "RULES"


@contextmanager
def _replaced(new: Iterable[tuple[Owner, object]]) -> Iterator[None]:
    """Other values for a while."""
    before = []
    for (owner, name), value in new:
        before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)


@contextmanager
def without(rule: str) -> Iterator[None]:
    """Switch one rule off for a while."""
    value: object
    if rule in _MATCHING:
        value = lambda *_: []  # noqa: E731
    elif rule in _WEIGHTS:
        value = _WEIGHTS[rule]
    elif rule == "first_halves":
        value = lambda _: {}  # noqa: E731
    elif rule == "operators_of_replay":
        value = lambda self, kernels: [None] * len(kernels)  # noqa: E731
    else:
        value = tuple(each for each in filling.RULES if each.name != rule)
    with _replaced([(_owner(rule), value)]):
        yield


@contextmanager
def watched(acting: set[str]) -> Iterator[None]:
    """Note which rules do anything for a while: those that do not need not be switched off."""

    def noting(rule: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any) -> Any:
            before = _state(args)
            result = function(*args)
            anything = any(result) if isinstance(result, list) else result
            if anything or _state(args) != before:
                acting.add(rule)
            return result

        return noted

    functions = [rule for rule in RULES if rule not in _WEIGHTS and _owner(rule)[0] != filling]
    new = [(_owner(rule), noting(rule, getattr(*_owner(rule)))) for rule in functions]
    rules = tuple(replace(each, apply=noting(each.name, each.apply)) for each in filling.RULES)
    new.append(((filling, "RULES"), rules))
    names = noting("worth_of_names", worth.worth_of_names)
    new += [((module, "worth_of_names"), names) for module in (worth, filling, moved)]  # fmt: skip
    new.append(((worth, "_worth_of_libraries"), noting("POINTWISE", worth._worth_of_libraries)))
    new.append(((worth, "_of_one_line"), noting("PART_OF_ANOTHER", worth._of_one_line)))
    with _replaced(new):
        yield
    if "worth_of_names" in acting:
        acting.update(set(_WEIGHTS) - {"POINTWISE", "PART_OF_ANOTHER"})


def _state(args: Iterable[object]) -> list[int]:
    """How much is known in what a rule was handed: it can only add to it."""
    sizes = []
    for each in args:
        if isinstance(each, Gap):
            sizes += [len(each.tied), len(each.match.doubts)]
        elif isinstance(each, Match):
            sizes += [*map(len, (each.ties, each.doubts, each.removed, each.added))]
        elif isinstance(each, tuple) and each and isinstance(each[0], dict):  # labels
            sizes += [sum(map(len, labels.values())) for labels in each]
    return sizes


class Judged:
    """A pair, read once: the time that its ledger loses with whatever rules are on."""

    def __init__(
        self, baseline: Path, candidate: Path, logs: bool, others: Sequence[Path] = ()
    ) -> None:
        self._sides = [ledger_side(run, logs) for run in (baseline, candidate)]
        self._others: list[LedgerSide] = [ledger_side(run, False) for run in others]
        modules = [modules_of(run) for run in (baseline, candidate)]
        steps = [steps_of(run) for run in (baseline, candidate)]
        self._programs = {
            (left.signature, right.signature): (
                read_program(left, modules[0]),
                read_program(right, modules[1]),
            )
            for left, right in zip(*steps, strict=False)
        }

    def lost(self) -> tuple[float, float]:
        """Share of each side's time that is wrong or undecidable for the ledger."""
        left, right = self.shares()
        return sum(left), sum(right)

    def shares(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """For each side the share of its time that is wrong, and that the ledger leaves open.

        What it has no counterpart for is left open, too.
        """
        ledger = fusion_ledger(*self._sides, self._others)
        lookups = (
            groups_of(self._sides[0], ledger.baseline_group),
            groups_of(self._sides[1], ledger.candidate_group),
        )
        unmatched = [n for n, group in enumerate(ledger.groups) if group.kind == "unmatched"]
        left_open = (
            open_to(
                self._sides[0],
                ledger.baseline_undecided | np.isin(ledger.baseline_group, unmatched),
            ),
            open_to(
                self._sides[1],
                ledger.candidate_undecided | np.isin(ledger.candidate_group, unmatched),
            ),
        )
        wrong, undecided, total = [0, 0], [0, 0], [0, 0]
        for programs in self._programs.values():
            for side, verdict in enumerate(judge(programs, lookups, left_open)):
                wrong[side] += verdict.wrong
                undecided[side] += verdict.left_open
                total[side] += verdict.total
        left, right = (
            (wrong[side] / max(1, total[side]), undecided[side] / max(1, total[side]))
            for side in (0, 1)
        )
        return left, right


def ablation_rows(pairs: Sequence[tuple[str, Path, Path]]) -> Iterator[str]:
    """One row for each rule: what a side's shares become without it, where they change most."""
    worst: dict[str, tuple[float, float, str]] = dict.fromkeys(
        RULES, (0.0, 0.0, "none of these pairs")
    )
    for name, baseline, candidate in pairs:
        for logs in (True, False):
            pair = Judged(baseline, candidate, logs)
            acting: set[str] = set()
            with watched(acting):
                before = pair.shares()
            for rule in sorted(acting.intersection(RULES)):
                with without(rule):
                    after = pair.shares()
                label = f"{name}{', with logs' if logs else ''}"
                for old, new in zip(before, after, strict=True):
                    changes = new[0] - old[0], new[1] - old[1], label
                    worst[rule] = max(worst[rule], changes, key=_change)
    reasons = {rule: inspect.getdoc(getattr(*_owner(rule))) or "" for rule in RULES}
    reasons = {rule: text.partition("\n")[0].rstrip(".") for rule, text in reasons.items()}
    reasons |= {rule.name: rule.reason for rule in filling.RULES} | _REASONS
    yield "| rule | why | wrong | undecidable | pair |\n|---|---|---|---|---|"
    for rule, change in sorted(worst.items(), key=lambda entry: -_change(entry[1])):
        wrong, undecidable = (f"{100 * each:+.2f} %" for each in change[:2])
        yield f"| `{rule.lstrip('_')}` | {reasons[rule]} | {wrong} | {undecidable} | {change[2]} |"


def _change(changes: tuple[float, float, str]) -> float:
    """How much a rule matters: what it decides rightly, else what it keeps from being sure."""
    return max(abs(changes[0]), abs(changes[1]))
