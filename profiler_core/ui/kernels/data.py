"""The chosen runs whose kernels the page shows."""

from collections.abc import Mapping
from dataclasses import dataclass

from profiler_core.analysis.in_its_place import in_its_place
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.ranks.job_summary import beside_a_collective
from profiler_core.analysis.wording.without_work import not_beside_kernels
from profiler_core.errors import FusionscopeError, NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.pair import Pair
from profiler_core.session.run import Run
from profiler_core.store.library import Entry
from profiler_core.ui.candidate import candidate_run
from profiler_core.ui.choice import Choice
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.reading import trace_path


@dataclass(frozen=True)
class ShownRun:
    """A run with a trace. number: its place in the choice; is_first: pages show it first."""

    number: int
    label: str
    entry: Entry
    run: Run
    is_first: bool = False


@dataclass(frozen=True)
class Kernels:
    """The kernels of all runs that have a trace."""

    rows: tuple[KernelRow, ...]
    shown: tuple[ShownRun, ...]  # as in rows
    span: str  # what the times and calls are of: with a cut trace no step is whole
    unmarked: tuple[str, ...] = ()  # labels of the runs without steps, where others have some
    pair: Pair | None = None  # the baseline and the candidate that is shown first
    copies: tuple[KernelRow, ...] = ()  # and memsets: no kernels, in `rows` they do not count

    @property
    def device_work(self) -> tuple[KernelRow, ...]:
        """Kernels, copies and memsets, the longest on any side first."""
        return tuple(sorted((*self.rows, *self.copies), key=lambda row: (-row.most_ns, row.name)))

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the runs, as in the rows."""
        return tuple(run.label for run in self.shown)

    @property
    def on_host(self) -> frozenset[int]:
        """Places of the runs of which no event of a GPU is there: their rows are operators."""
        return frozenset(
            number
            for number, shown in enumerate(self.shown)
            if shown.run.required_summary().device_kind == "cpu"
        )

    @property
    def in_place(self) -> Mapping[str, tuple[str, ...]]:
        """Operator that one run of a CPU's pair alone has -> what the other runs in its place.

        {} beside kernels of a GPU: their groups are on page Fusion.
        """
        if self.pair is None or len(self.on_host) < len(self.shown):
            return {}
        try:
            return in_its_place(self.pair.ledger.groups)
        except FusionscopeError:  # they cannot be matched: page Fusion says why
            return {}

    @property
    def time_note(self) -> str:
        """That the times of a job's kernels are not those of the trace; "": they are."""
        paths = (shown.run.required_summary().critical for shown in self.shown)
        notes = (beside_a_collective(path) for path in paths if path is not None)
        return next(filter(None, notes), "")

    @property
    def beside(self) -> dict[int, int]:
        """Place of a run here -> its place in the comparison, of each of several candidates."""
        candidates = {n: run.number for n, run in enumerate(self.shown) if run.number}
        return candidates if len(candidates) > 1 else {}

    @property
    def first(self) -> int:
        """Which of them a sentence is about: the candidate shown first, else the last one."""
        return next((n for n, run in enumerate(self.shown) if run.is_first), len(self.shown) - 1)

    @property
    def order(self) -> tuple[int, ...]:
        """Places of the runs in the order in which the page shows them, in chart and table alike.

        The candidate that pages show first stands beside the baseline, so that its times are seen
        beside a dossier too.
        """
        return tuple(sorted(range(len(self.shown)), key=lambda n: (n != 0, n != self.first, n)))


def kernels_of(choice: Choice) -> Kernels:
    """The kernels of the chosen runs side by side; runs without a readable trace get a card.

    So does one whose trace holds neither kernels nor operators.

    Raises:
        NothingToAnalyse: why the last one cannot be read, where none can.
    """
    comparison = choice.comparison
    candidate = candidate_run(choice)
    shown, problems = [], []
    for number, (entry, run) in enumerate(zip(choice.entries, comparison.runs, strict=True)):
        try:
            trace_path(entry, run)
            run.required_summary()
            run.required_work(comparison.labels[number])
            is_first = bool(candidate) and number == candidate
            shown.append(ShownRun(number, comparison.labels[number], entry, run, is_first))
        except FusionscopeError as error:
            problems.append((error.problem, error.remedy))  # not the error: it holds open files
    # Where no run is left, the last card is the page's own: it says why, and ends the page.
    for problem, remedy in problems if shown else problems[:-1]:
        problem_card(problem, remedy)
    if not shown:
        problem, remedy = problems[-1]
        raise NothingToAnalyse(problem, remedy=remedy)
    shown = _on_one_axis(comparison, shown)
    sides = (comparison.numbers.baseline, *comparison.numbers.sides)
    unmarked = tuple(run.label for run in shown if sides[run.number].is_unmarked)
    numbers = [run.number for run in shown]
    rows, span = comparison.kernels_told(numbers)
    copies = comparison.copies_told(numbers)
    pair = comparison.pairs[candidate - 1] if candidate else None
    return Kernels(rows, tuple(shown), span, unmarked, pair, copies)


def _on_one_axis(comparison: Comparison, shown: list[ShownRun]) -> list[ShownRun]:
    """The runs with kernels of a GPU where there are any; a card for each of the others then."""
    together = comparison.on_one_axis([run.number for run in shown])
    for run in shown:
        if run.number not in together:
            problem_card(not_beside_kernels(run.label), f"Choose {run.label} alone to see them.")
    return [run for run in shown if run.number in together]
