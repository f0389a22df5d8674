"""The runs that the memory page shows."""

from dataclasses import dataclass

from profiler_core.analysis.memory.report import MemoryReport
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice


@dataclass(frozen=True)
class Remembered:
    """One run's memory, as far as its files go."""

    label: str
    number: int  # 0: the baseline; its place in the choice
    entry: Entry
    report: MemoryReport
    problems: tuple[tuple[str, str], ...]  # (problem, remedy) of files that could not be read


def remembered(choice: Choice, numbers: tuple[int, ...]) -> tuple[Remembered, ...]:
    """The reports of some of the chosen runs; a file that cannot be read is a problem of it."""
    return tuple(_remembered(choice, number) for number in numbers)


def _remembered(choice: Choice, number: int) -> Remembered:
    label, run = choice.labels[number], choice.comparison.runs[number]
    problems = run.problems("trace", "stacks", "memory snapshot")
    return Remembered(
        label,
        number,
        choice.entries[number],
        run.memory,
        tuple((f"{label}: {problem.problem}", problem.remedy) for problem in problems),
    )
