"""The chosen runs that the page about compiling shows."""

from dataclasses import dataclass

from profiler_core.analysis.compilation.report import CompilationReport, says_something
from profiler_core.model.compilation import CompileLog
from profiler_core.session.run import Run
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice


@dataclass(frozen=True)
class Compiled:
    """One run whose compiler said something."""

    number: int  # its place in the choice
    label: str
    entry: Entry
    run: Run
    report: CompilationReport
    without_trace: str | None  # why there are no costs; None: there are


def compiled_runs(choice: Choice) -> tuple[Compiled, ...]:
    """The chosen runs that have logs with anything in them, in their order.

    Raises:
        BadInput: a log cannot be read.
    """
    comparison = choice.comparison
    compiled = []
    for number, (entry, run) in enumerate(zip(choice.entries, comparison.runs, strict=True)):
        for problem in run.problems("compile log"):
            raise problem.error()
        if run.compile_log is None or not _has_a_page(run.compile_log):
            continue
        report = comparison.compilation_of(number)
        if report is not None:
            label = comparison.labels[number]
            compiled.append(Compiled(number, label, entry, run, report, _no_price(run)))
    return tuple(compiled)


def _has_a_page(log: CompileLog) -> bool:
    return bool(says_something(log) or log.perf_hints or log.fusion_decisions)


def _no_price(run: Run) -> str | None:
    """Why nothing that the run's compiler did has a price; None: it has."""
    if run.files.trace is None:
        return "This run has no trace, so what breaks and regions cost is not known."
    problems = run.problems("trace")
    return (
        f"{problems[0].problem} So what breaks and regions cost is not known." if problems else None
    )
