"""The runs whose fusion groups a dossier shows: a baseline and a candidate, or a run alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from profiler_core.analysis.compilation.by_script import shows_compiled
from profiler_core.analysis.compilation.cost import is_compiled
from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger, GroupSide
from profiler_core.analysis.module_functions import ModuleFunctions
from profiler_core.errors import FusionscopeError
from profiler_core.session.comparison import Comparison
from profiler_core.session.divided import Divided
from profiler_core.session.pair import Pair
from profiler_core.session.run import Run


@dataclass(frozen=True)
class LedgerRuns:
    """Runs with a ledger. A run alone is faced with itself: of its groups one side is shown."""

    labels: tuple[str, ...]  # the baseline's and the candidate's, or the run's own
    runs: tuple[int, ...]  # their places in the comparison
    sides: tuple[int, ...]  # of a group, that of each run
    told_by: Run  # whose logs say lines and generated code
    source: Pair | Run

    @classmethod
    def of_pair(cls, pair: Pair) -> "LedgerRuns":
        """Both of a pair that can be matched."""
        return cls(pair.labels, (0, pair.number + 1), (0, 1), pair.candidate, pair)

    @property
    def pair(self) -> Pair | None:
        """None: the run is alone."""
        return self.source if isinstance(self.source, Pair) else None

    @cached_property
    def ledger(self) -> FusionLedger:
        """Of the pair, or of the run faced with itself."""
        pair = self.pair
        return (self.divided if pair is None else pair).ledger

    @property
    def groups(self) -> tuple[FusionGroup, ...]:
        """Of the ledger."""
        return self.ledger.groups

    @property
    def divided(self) -> Divided:
        """Their device time by nn.Module and by operator."""
        return self.source.divided

    def functions_of(self, module: str) -> Mapping[str, ModuleFunctions]:
        """Label of a run -> what a module runs there, of those whose Python calls name it so."""
        pair = self.pair
        runs = (self.told_by,) if pair is None else pair.runs
        told = zip(self.labels, (run.module_functions for run in runs), strict=True)
        return {label: functions[module] for label, functions in told if module in functions}

    @property
    def may_be_generated(self) -> bool:
        """Of a pair: is anything compiled in the candidate, by its record, its log or its trace?"""
        run = self.told_by
        if run.compiled_nothing:
            return False
        if is_compiled(run.record) or run.code is not None:
            return True
        trace = run.worked_trace
        return trace is not None and shows_compiled(trace)

    def sides_of(self, group: FusionGroup) -> tuple[GroupSide, ...]:
        """A group's side of each run."""
        both = group.baseline, group.candidate
        return tuple(both[side] for side in self.sides)


def pairs_with_ledger(comparison: Comparison, of: int | None = None) -> Iterator[Pair]:
    """The pairs that can be matched, one before the others.

    Args:
        comparison: of the runs.
        of: the candidate of that one, by its place; None: that which pages show first.
    """
    first = comparison.asked_or_first(of)
    for pair in sorted(comparison.pairs, key=lambda pair: pair.number + 1 != first):
        if pair.not_explained is not None:
            continue
        try:
            _ = pair.ledger
        except FusionscopeError:
            continue  # why is said on the page Fusion
        yield pair


def ledgers_of(comparison: Comparison, of: int | None = None) -> Iterator[LedgerRuns]:
    """Those of `pairs_with_ledger`; without any candidate that of the run alone."""
    yield from map(LedgerRuns.of_pair, pairs_with_ledger(comparison, of))
    alone = ledger_of_run_alone(comparison)
    if alone is not None:
        yield alone


def groups_of_kernel(
    comparison: Comparison, kernel: str, of: int | None
) -> tuple[LedgerRuns | None, list[int]]:
    """The first runs whose groups have a kernel, and which; none has it: the first runs and [].

    Args:
        comparison: of the runs.
        kernel: its name.
        of: place of the candidate that comes before others; None: that which pages show first.
    """
    first = None
    for shown in ledgers_of(comparison, of):
        first = first or shown
        numbers = [
            number
            for number, group in enumerate(shown.groups)
            if kernel in {call.name for side in shown.sides_of(group) for call in side.kernels}
        ]
        if numbers:
            return shown, numbers
    return first, []


def ledger_of_run_alone(comparison: Comparison) -> LedgerRuns | None:
    """The groups of a run without any candidate; None: it has one, or its trace has no work."""
    if comparison.pairs:
        return None
    run = comparison.baseline
    try:
        _ = run.divided
    except FusionscopeError:
        return None  # why is said on the page Modules
    return LedgerRuns(comparison.labels[:1], (0,), (1,), run, run)
