"""What the dossiers of a module and of a source line say in sentences."""

from collections.abc import Iterable, Mapping, Sequence

from profiler_core.analysis.memory.by_line import LineMemory
from profiler_core.analysis.module_functions import ModuleFunctions
from profiler_core.analysis.modules import ModuleRow
from profiler_core.analysis.span import Span
from profiler_core.analysis.wording.dossier import (
    LINE_OF_FUNCTION,
    NEEDS_LOG,
    PythonCalls,
    unknown_line,
)
from profiler_core.analysis.wording.sentence import capitalised, listed
from profiler_core.units import format_bytes, format_count, format_duration

_MOST_LINES = 4  # in a sentence, or functions
LINES_IN_A_FUNCTION = f"What each line of it takes is not known: {LINE_OF_FUNCTION}"


def listed_whole(what: str, may: str, runs: Sequence[str] = ()) -> str:
    """That a list has more than the time that its dossier counts.

    Args:
        what: is listed: "kernels of its fusion groups".
        may: they do besides: "replace other operators".
        runs: that it is true of; (): of all.
    """
    every = f"Of {listed(runs)} all" if runs else "All"
    return f"{every} {what} are listed, whole, which may {may} too."


def module_about(row: ModuleRow, runs: Iterable[tuple[str, int]], span: Span) -> tuple[str, ...]:
    """How many modules it is together, and what of its time is of kernels for other modules too.

    Args:
        row: the module.
        runs: name of each run, and which of the row's sides is its.
        span: what its calls are counted in.
    """
    parts = [
        f"{format_duration(row.per_step(shared_ns, side))} of it in {label}"
        for label, side in runs
        if (shared_ns := row.sides[side].shared_ns)
    ]
    merged = (
        ()
        if row.n_merged is None
        else (
            f"{format_count(row.n_merged)} calls {span} fall together in it: no file says of "
            "which modules they are.",
        )
    )
    if not parts:
        return merged
    verb = "is" if len(parts) == 1 else "are"
    return (
        *merged,
        f"{listed(parts)} {verb} its part of kernels that work for other modules too.",
    )


def held_answer(held: Mapping[str, LineMemory], *, is_caller: bool) -> str:
    """What a line holds at the peak of the memory snapshots.

    Args:
        held: by the label of the run.
        is_caller: is some of it of lines that it calls?
    """
    each = [f"{format_bytes(line.bytes)} in {label}" for label, line in held.items()]
    with_called = ", with all that it calls" if is_caller else ""
    return f"At the memory snapshot's peak it holds {listed(each)}{with_called}."


def missing_of_held(span: Span, *, is_caller: bool) -> str:
    """Why the time of a line is not known that memory snapshots alone have."""
    why = (
        "fusion groups have the line that calls an operator, not those that call this one."
        if is_caller
        else "no fusion group of these runs has it."
    )
    return f"What it takes {span} is not known: {why}"


def functions_about(functions: Mapping[str, ModuleFunctions], n_runs: int) -> tuple[str, ...]:
    """Which functions a module runs, or which call it; () where no file says it.

    Args:
        functions: by the label of the run, of the runs whose files say it.
        n_runs: that are shown; runs are named where not all of these say the same.
    """
    told: dict[str, list[str]] = {}
    for label, of_run in functions.items():
        names = of_run.own or of_run.around
        verb = "runs" if of_run.own else "is called in"
        if names:
            told.setdefault(f"it {verb} {_some(names)}.", []).append(label)
    return tuple(
        capitalised(text) if len(labels) == n_runs else f"In {listed(labels)} {text}"
        for text, labels in told.items()
    )


def function_about(names: Sequence[str]) -> str:
    """What a place is where a function of the user's begins, and what of its time is counted."""
    begins = (
        f"the function {names[0]} begins" if len(names) == 1 else f"functions begin: {_some(names)}"
    )
    return (
        f"Here {begins}. Its time is of what it launches itself, without what other functions of "
        "your code launch that it calls."
    )


def line_about(
    others: Sequence[str], unplaced_ns: Sequence[float], span: Span, *, is_pair: bool
) -> tuple[str, ...]:
    """What the time of a line has of other lines, and what it may lack.

    Args:
        others: lines that its fusion groups compute too.
        unplaced_ns: of groups of which no line is known, of each run.
        span: what these times are of.
        is_pair: is there a baseline, by whose times lines have their parts?
    """
    sentences = []
    if others:
        part = "its part by what each took in the baseline" if is_pair else "an equal part"
        sentences.append(
            f"Its fusion groups compute {_some(others)} too: of what they take, listed whole "
            f"below, a line has {part}."
        )
    if any(unplaced_ns):
        take = " → ".join(map(format_duration, unplaced_ns))
        sentences.append(
            f"Groups of which no line is known take {take} {span}: some may be of this line."
        )
    return tuple(sentences)


def line_elsewhere(time_ns: float, others: Sequence[str], span: Span) -> tuple[str, ...]:
    """That kernels of a line count for the lines that did their work in the baseline.

    Args:
        time_ns: of these kernels in the candidate.
        others: lines of its fusion groups that took time in the baseline.
        span: what the time is of.
    """
    if time_ns < 1 or not others:
        return ()
    return (
        f"Kernels of this line alone take {format_duration(time_ns)} {span} that count for "
        f"{_some(others)}, which did this work in the baseline.",
    )


def missing_of_place(
    *,
    has_log: bool,
    has_code: bool,
    runs_generated: bool,
    has_sources: bool,
    calls: PythonCalls,
) -> tuple[str, ...]:
    """One sentence for each part of a module's or a line's dossier that is not known."""
    code = "the log names no call for it." if has_log else NEEDS_LOG
    sentences = (
        (has_code or not runs_generated, f"What was generated for it is not known: {code}"),
        (has_sources, unknown_line(has_log=has_log, calls=calls)),
    )
    return tuple(sentence for known, sentence in sentences if not known)


def _some(names: Sequence[str]) -> str:
    n_more = len(names) - _MOST_LINES
    more = [f"{format_count(n_more)} more"] if n_more > 0 else []
    return listed([*names[:_MOST_LINES], *more])
