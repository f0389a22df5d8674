"""The chosen runs whose kernels the page shows."""

from dataclasses import dataclass

from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.errors import FusionscopeError, NothingToAnalyse
from profiler_core.session.run import Run
from profiler_core.store.library import Entry
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

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the runs, as in the rows."""
        return tuple(run.label for run in self.shown)

    @property
    def first(self) -> int:
        """Which of them a sentence is about: the candidate shown first, else the last one."""
        return next((n for n, run in enumerate(self.shown) if run.is_first), len(self.shown) - 1)


def kernels_of(choice: Choice) -> Kernels:
    """The kernels of the chosen runs side by side; runs without a readable trace get a card.

    Raises:
        NothingToAnalyse: why the last one cannot be read, where none can.
    """
    comparison = choice.comparison
    shown, problems = [], []
    for number, (entry, run) in enumerate(zip(choice.entries, comparison.runs, strict=True)):
        try:
            trace_path(entry, run)
            run.required_summary()
            is_first = bool(choice.candidates) and number == comparison.shown_first + 1
            shown.append(ShownRun(number, comparison.labels[number], entry, run, is_first))
        except FusionscopeError as error:
            problems.append((error.problem, error.remedy))  # not the error: it holds open files
    # Where no run is left, the last card is the page's own: it says why, and ends the page.
    for problem, remedy in problems if shown else problems[:-1]:
        problem_card(problem, remedy)
    if not shown:
        problem, remedy = problems[-1]
        raise NothingToAnalyse(problem, remedy=remedy)
    is_cut = any(run.run.trace is not None and run.run.trace.tally.is_cut for run in shown)
    rows = comparison.kernels_in_all_steps if is_cut else comparison.kernels
    return Kernels(rows, tuple(shown), "in the trace" if is_cut else "per step")
