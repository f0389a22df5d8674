"""A line of code that no fusion group has: what it holds at the peak of memory, what it calls."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from profiler_core.analysis.dossier.record import Dossier, Related, Relation, RunTime, SourceLine
from profiler_core.analysis.item import Item, name_key, source_item
from profiler_core.analysis.memory.by_line import LineMemory, memory_by_line
from profiler_core.analysis.wording.places import held_answer, missing_of_held
from profiler_core.errors import FusionscopeError
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import slowest_first, source_line
from profiler_core.session.run import Run

LinesOfRun = Mapping[str, LineMemory]


def lines_in_memory(comparison: Comparison) -> Mapping[int, LinesOfRun]:
    """Place of a run -> lines in the stacks of its snapshot's peak; without runs that have none."""
    return comparison.answer("lines in memory", lambda: _lines_in_memory(comparison))


def _lines_in_memory(comparison: Comparison) -> Mapping[int, LinesOfRun]:
    lines: dict[int, LinesOfRun] = {}
    for number, run in enumerate(comparison.runs):
        with suppress(FusionscopeError):  # the page Memory says why
            history = run.memory.history
            if history is not None:
                lines[number] = memory_by_line(history.live)
    return {number: of_run for number, of_run in lines.items() if of_run}


def caller_dossier(
    comparison: Comparison, item: Item, times_of: Callable[[Item], tuple[RunTime, ...]]
) -> Dossier | None:
    """What is known of a line by the stacks of memory snapshots; None: they have no such line.

    Args:
        comparison: of the runs.
        item: the line.
        times_of: the times of a line that fusion groups have; () of any other.
    """
    found = {
        number: (label, line)
        for number, lines in lines_in_memory(comparison).items()
        for label, line in lines.items()
        if name_key(label) == item.key
    }
    if not found:
        return None
    label, first = next(iter(found.values()))
    held = {comparison.labels[number]: line for number, (_, line) in found.items()}
    called = _called(label, held.values(), times_of)
    return Dossier(
        item=item,
        kind="source line",
        title=label,
        answer=held_answer(held, is_caller=bool(called.entries)),
        about=(f"It is in the function {first.function}.",) if first.function else (),
        relations=(called,),
        sources=_sources(label, [comparison.runs[number] for number in found]),
        missing=(missing_of_held(comparison.span, is_caller=bool(called.entries)),),
    )


_CALLED = "Lines that allocate in its calls. Their times are of all their calls, others' too."


def _called(
    label: str,
    lines: Iterable[LineMemory],
    times_of: Callable[[Item], tuple[RunTime, ...]],
) -> Relation:
    """The lines that allocate in the calls of one, with their times."""
    called = {
        each: times_of(source_item(each))
        for each in dict.fromkeys(each for line in lines for each in line.allocating)
        if each != label
    }
    heads = next((tuple(time.label for time in times) for times in called.values() if times), ())
    entries = slowest_first(
        Related(
            each,
            source_item(each),
            times_ns=tuple(time.time_ns for time in times) or (None,) * len(heads),
        )
        for each, times in called.items()
    )
    return Relation("called", heads, tuple(entries), _CALLED if heads else "")


def _sources(label: str, runs: Iterable[Run]) -> tuple[SourceLine, ...]:
    """The line as some run kept it."""
    kept = (
        source_line(run, label, file, "")
        for run in runs
        for file in run.kept_sources
        if _is_in(label, file)
    )
    return tuple(source for source in kept if source.frame.line in source.lines)[:1]


def _is_in(label: str, file: str) -> bool:
    """Is a line of this file, by the file's name alone?"""
    name = label.rpartition(":")[0]
    return file.replace("\\", "/").rpartition("/")[2] == name
