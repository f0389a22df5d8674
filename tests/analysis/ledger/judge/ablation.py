"""What each matching rule is worth: the ledger of every pair again with one rule switched off."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from profiler_core.analysis.ledger import filling, layout, matching, replays, worth
from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from tests.analysis.ledger.judge.log import read_log
from tests.analysis.ledger.judge.pairs import _logs, groups_of, ledger_side, open_to
from tests.analysis.ledger.judge.programs import read_program
from tests.analysis.ledger.judge.trace import read_steps
from tests.analysis.ledger.judge.verdict import judge

# Functions of the matching that return pairs or tie items: without them nothing is added.
_MATCHING = ("pairs_by_size", "in_doubt", "_doubt_names", "kernels_by_size", "reach", "reach_lines",
             "reach_libraries", "parts_by_name", "_match_leftovers", "_match_optimizers",
             "_match_exchange")  # fmt: skip
_WEIGHTS = {
    "POINTWISE": 0,
    "NAMED_IN_KERNEL": 0,
    "NEWLY_NAMED": 0,
    "OF_ITS_SIZE": 0,
    "SAME_KERNEL": worth.NAMED_IN_KERNEL,
}

RULES = (
    *(rule.name for rule in filling.RULES),
    *_MATCHING,
    *_WEIGHTS,
    "operators_of_replay",
    "first_halves",
)


@contextmanager
def without(rule: str) -> Iterator[None]:
    """Switch one rule off for a while."""
    if rule in _MATCHING:
        owner: object = matching
        name, value = rule, lambda *_: []
    elif rule in _WEIGHTS:
        owner, name, value = worth, rule, _WEIGHTS[rule]
    elif rule == "first_halves":
        owner, name, value = layout, rule, lambda _: {}
    elif rule == "operators_of_replay":
        owner, name = replays.Recording, "operators_of"
        value = lambda self, kernels: [None] * len(kernels)  # noqa: E731
    else:
        owner, name = filling, "RULES"
        value = tuple(each for each in filling.RULES if each.name != rule)
        assert len(value) == len(filling.RULES) - 1, f"There is no rule {rule}."
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


class Judged:
    """A pair, read once: the time that its ledger loses with whatever rules are on."""

    def __init__(
        self, baseline: Path, candidate: Path, logs: bool, others: Sequence[Path] = ()
    ) -> None:
        self._sides = [ledger_side(run, logs) for run in (baseline, candidate)]
        self._others: list[LedgerSide] = [ledger_side(run, False) for run in others]
        modules = [read_log(_logs(run)) for run in (baseline, candidate)]
        steps = [read_steps(run / "trace.json.gz") for run in (baseline, candidate)]
        self._programs = {
            (left.signature, right.signature): (
                read_program(left, modules[0]),
                read_program(right, modules[1]),
            )
            for left, right in zip(*steps, strict=False)
        }

    def lost(self) -> tuple[float, float]:
        """Share of each side's time that is wrong, unmatched or undecidable for the ledger."""
        ledger = fusion_ledger(*self._sides, self._others)
        lookups = (
            groups_of(self._sides[0], ledger.baseline_group),
            groups_of(self._sides[1], ledger.candidate_group),
        )
        left_open = (
            open_to(self._sides[0], ledger.baseline_undecided),
            open_to(self._sides[1], ledger.candidate_undecided),
        )
        wrong, total = [0, 0], [0, 0]
        for programs in self._programs.values():
            for side, verdict in enumerate(judge(programs, lookups, left_open)):
                wrong[side] += verdict.wrong + verdict.left_open
                total[side] += verdict.total
        unmatched = (ledger.unmatched_baseline_ns, ledger.unmatched_candidate_ns)
        whole = (ledger.baseline_ns, ledger.candidate_ns)
        shares = [
            wrong[side] / max(1, total[side]) + unmatched[side] / max(1, whole[side])
            for side in (0, 1)
        ]
        return shares[0], shares[1]


def ablation_rows(pairs: Sequence[tuple[str, Path, Path]]) -> Iterator[str]:
    """One row for each rule: what the pair that suffers most loses, in percent of a side's time."""
    worst: dict[str, tuple[float, str]] = dict.fromkeys(RULES, (0.0, "none of these pairs"))
    for name, baseline, candidate in pairs:
        for logs in (True, False):
            pair = Judged(baseline, candidate, logs)
            before = pair.lost()
            for rule in RULES:
                with without(rule):
                    after = pair.lost()
                loss = max(b - a for a, b in zip(before, after, strict=True))
                label = f"{name}{', with logs' if logs else ''}"
                worst[rule] = max(worst[rule], (loss, label))
    reasons = {rule.name: rule.reason for rule in filling.RULES}
    yield "| rule | why | loses | pair |\n|---|---|---|---|"
    for rule, (loss, label) in sorted(worst.items(), key=lambda entry: -entry[1][0]):
        yield (f"| `{rule}` | {reasons.get(rule, '')} | {100 * loss:.1f} % | {label} |")
