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
    """A run with a trace. number: its place in the choice."""

    number: int
    label: str
    entry: Entry
    run: Run


@dataclass(frozen=True)
class Kernels:
    """The kernels of all runs that have a trace."""

    rows: tuple[KernelRow, ...]
    shown: tuple[ShownRun, ...]  # as in rows

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the runs, as in the rows."""
        return tuple(run.label for run in self.shown)


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
            shown.append(ShownRun(number, comparison.labels[number], entry, run))
        except FusionscopeError as error:
            problems.append((error.problem, error.remedy))  # not the error: it holds open files
    # Where no run is left, the last card is the page's own: it says why, and ends the page.
    for problem, remedy in problems if shown else problems[:-1]:
        problem_card(problem, remedy)
    if not shown:
        problem, remedy = problems[-1]
        raise NothingToAnalyse(problem, remedy=remedy)
    return Kernels(comparison.kernels, tuple(shown))
