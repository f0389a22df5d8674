"""What the compiler did as rows: breaks, skipped functions, recompiles, CUDA graphs, errors."""

from collections.abc import Callable, Sequence

from profiler_core.analysis.compilation.recompiles import recompile_groups
from profiler_core.analysis.compilation.report import (
    BreakReport,
    CompilationReport,
    place_text,
)
from profiler_core.analysis.rows.table import Cell, Table, text_row
from profiler_core.analysis.wording.breaks import (
    FOR_NEW_INPUTS,
    LIMITED_CHANGE,
    limited_name,
    limited_sentence,
)
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.model.compilation import Frame
from profiler_core.units import format_count, format_duration, format_share, format_share_of

_REASON = 300  # characters of what a compiler says
_GUARD = 120
_GUARDS = 2
_THEN = {True: "ran eager", False: "ended the program", None: "not told"}


def _break_cost(report: CompilationReport) -> str:
    cost = report.break_cost
    return _took(cost.cost_ns, report.n_unpriced_breaks) if cost else format_duration(None)


def _took(known_ns: float | None, n_unknown: int) -> str:
    """The time of breaks or recompiles, and of how many it is not known."""
    text = format_duration(known_ns)
    return f"{text}, not known of {format_count(n_unknown)}" if n_unknown else text


def _eager(report: CompilationReport) -> str:
    """Their number; of those that the recompile limit stopped, how many run eager in part."""
    functions = report.eager_functions
    n = format_count(functions.n)
    if not functions.partly:
        return n
    if functions.partly == functions.n:
        return f"{n}, partly"
    return f"{n}, {format_count(functions.partly)} of them partly"


_FACTS: tuple[tuple[str, Callable[[CompilationReport], str]], ...] = (
    ("Compilations", lambda r: format_count(r.log.n_compilations)),
    (
        "Compile time",
        lambda r: format_duration(r.compile_time.seconds * 1e9 if r.compile_time else None),
    ),
    ("Graph breaks, distinct", lambda r: format_count(len(r.breaks))),
    ("Cost of the breaks, per step", _break_cost),
    ("Functions that run eager", _eager),
    ("Recompiles", lambda r: format_count(len(r.recompiles))),
    ("Time of the recompiles", lambda r: _took(r.recompile_ns, r.n_untimed_recompiles)),
    ("Recompile limit reached", lambda r: format_count(len(r.log.limit_hits))),
    (
        "Kernels replayed by CUDA graphs",
        lambda r: format_share(r.coverage.kernel_share if r.coverage else None),
    ),
)


def fact_table(runs: Sequence[tuple[str, CompilationReport]]) -> Table:
    """Counts of all runs that have logs, side by side."""
    rows = tuple(text_row(name, *(value(report) for _, report in runs)) for name, value in _FACTS)
    return Table(("", *(label for label, _ in runs)), rows)


def eager_table(report: CompilationReport, most: int) -> Table:
    """Functions that run eager: given up because of a break, or at the recompile limit."""
    skipped = [
        (
            Cell(
                skip.event.function or "a function",
                below=_place(skip.place) if skip.place else ("place unknown",),
                is_code_below=True,
            ),
            Cell(skip.cause.label, below=(skip.cause.what,)),
            Cell(skip.change),
        )
        for skip in report.skips[:most]
    ]
    limited = [
        (
            Cell(limited_name(hit), below=(place_text(hit.file, hit.line),), is_code_below=True),
            Cell("recompile limit", below=(f"{limited_sentence(hit)} It {FOR_NEW_INPUTS}.",)),
            Cell(LIMITED_CHANGE),
        )
        for hit in report.limited[:most]
    ]
    heads = ("Runs eager", "because of", "what to change")
    rows = (*skipped, *limited)
    return Table(heads, rows, len(report.skips) + len(report.limited) - len(rows))


def break_table(report: CompilationReport, most: int) -> Table:
    """Graph breaks, the most expensive first."""
    rows = tuple(
        (
            Cell(graph_break.cause.label, below=_places(graph_break), is_code_below=True),
            Cell(graph_break.advice, below=(clipped(graph_break.event.reason, _REASON),)),
            Cell(format_count(graph_break.event.n)),
            Cell(format_duration(graph_break.cost_ns)),
        )
        for graph_break in report.breaks[:most]
    )
    heads = ("Graph break", "what to change, what PyTorch says", "met", "its share, per step")
    return Table(heads, rows, max(0, len(report.breaks) - most))


def recompile_table(report: CompilationReport, most: int) -> Table:
    """One row for each function and cause, the longest first."""
    groups = recompile_groups(report.recompiles)
    rows = []
    for group in groups[:most]:
        guards = [clipped(guard, _GUARD) for guard in group.guards[:_GUARDS]]
        if len(group.guards) > _GUARDS:
            guards.append(f"… {len(group.guards) - _GUARDS} more")
        rows.append(
            (
                Cell(
                    group.function,
                    below=(place_text(group.file, group.line),),
                    is_code_below=True,
                ),
                Cell(group.cause.label, below=tuple(guards), is_code_below=True),
                Cell(group.cause.change, url=group.cause.url),
                Cell(format_count(len(group.recompiles))),
                Cell(_span(group.steps)),
                Cell(_took(group.cost_ns, group.n_untimed)),
            )
        )
    heads = ("Recompiled", "because of", "what to change", "times", "at step", "took")
    return Table(heads, tuple(rows), max(0, len(groups) - most))


def cudagraph_table(report: CompilationReport, most: int) -> Table:
    """Why parts of the step are not replayed."""
    stakes = {s.event: s.at_stake_ns for s in report.coverage.stakes} if report.coverage else {}
    rows = tuple(
        (
            Cell(event.kind, below=_file(event.file, event.line), is_code_below=True),
            Cell(clipped(event.reason, _REASON), below=(cause.change,)),
            Cell(format_count(event.n)),
            Cell(format_duration(stakes.get(event))),
        )
        for event, cause in report.cudagraphs[:most]
    )
    heads = ("CUDA graph", "why, and what to change", "times", "at stake, per step")
    return Table(heads, rows, max(0, len(report.cudagraphs) - most))


def failure_table(report: CompilationReport, most: int) -> Table:
    """Errors of the compiler itself."""
    failures = report.log.failures
    rows = tuple(
        (
            Cell(failure.error),
            Cell(clipped(failure.reason, _REASON), below=tuple(filter(None, [failure.remedy]))),
            Cell(
                place_text(failure.file, failure.line, ""),
                below=tuple(filter(None, [clipped(failure.code, _GUARD)])),
            ),
            Cell(_THEN[failure.suppressed]),
        )
        for failure in failures[:most]
    )
    return Table(("Compiler error", "reason", "place", "then"), rows, max(0, len(failures) - most))


TRACED = (
    "Functions by how long Dynamo traced them, over all frames until the warm-up ended. Together: "
    "with the functions that it calls; own: without."
)


def traced_table(report: CompilationReport, most: int) -> Table:
    """Functions of the user and of libraries, PyTorch's own in one row."""
    tracing = report.tracing
    if tracing is None:
        return Table((), ())
    rows = [
        (
            Cell(
                function.function,
                below=(place_text(function.file, function.line),),
                is_code_below=True,
            ),
            *text_row(
                format_count(function.n),
                format_duration(function.own_ns),
                format_duration(function.total_ns),
                format_share_of(function.total_ns, tracing.total_ns),
            ),
        )
        for function in tracing.functions[:most]
    ]
    framework = format_duration(tracing.framework_ns)
    rows.append(text_row("PyTorch's own functions", "–", framework, "–", "–"))
    heads = ("Dynamo traced", "times", "own", "together", "share")
    return Table(heads, tuple(rows), max(0, tracing.n_functions - most))


def _places(graph_break: BreakReport) -> tuple[str, ...]:
    """The user's line, and where it only calls the place at which Dynamo stopped, that too."""
    inner = graph_break.innermost
    inside = (f"inside {place_text(inner.file, inner.line)}",) if inner is not None else ()
    return (*_place(graph_break.place), *inside)


def _place(frame: Frame) -> tuple[str, ...]:
    code = frame.code.strip()
    return (place_text(frame.file, frame.line), *([clipped(code, _GUARD)] if code else []))


def _file(file: str | None, line: int | None) -> tuple[str, ...]:
    return (place_text(file, line),) if file else ()


def _span(steps: Sequence[int]) -> str:
    if not steps:
        return "–"
    return str(steps[0]) if min(steps) == max(steps) else f"{min(steps)}–{max(steps)}"
