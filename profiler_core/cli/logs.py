"""`logs TORCH_LOGS_OR_TRACE_FILE_OR_RUN`: what the compiler said, with causes and costs."""

import argparse
from pathlib import Path

from profiler_core.analysis.compilation.causes import Cause
from profiler_core.analysis.compilation.cost import NoBreakEven
from profiler_core.analysis.compilation.report import (
    BreakReport,
    CompilationReport,
    compilation_report,
    place_text,
)
from profiler_core.analysis.wording.compilation import unpriced_clause
from profiler_core.answers.encoding import write_json
from profiler_core.answers.logs import logs_answer
from profiler_core.cli.table import clipped, n_more, table
from profiler_core.errors import BadInput, NothingToAnalyse
from profiler_core.ingest.compile_log.reader import read_compile_log_files
from profiler_core.ingest.empty import empty_file
from profiler_core.ingest.file_kind import OF_THE_COMPILER
from profiler_core.ingest.kinds import is_empty, kind_of
from profiler_core.model.compilation import CompileLog, Frame, LimitHit
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run
from profiler_core.units import format_count, format_duration, format_share

_SHOWN = 20
_FUNCTIONS = 8
_REASON = 60  # characters of one cell on a terminal


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("logs", help="what the compiler said, and what it costs")
    parser.add_argument(
        "paths",
        type=Path,
        nargs="+",
        metavar="TORCH_LOGS_OR_TRACE_FILE_OR_RUN",
        help="a run, or log files of one run: stderr with TORCH_LOGS, TORCH_TRACE files",
    )
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="RUN",
        help="for the break-even, and what skipped functions lost",
    )
    parser.add_argument("--json", action="store_true", help="all of it, see docs/json.md")


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    report = _report(arguments.paths, arguments.baseline)
    if arguments.json:
        write_json(logs_answer(report))
    else:
        print(_text(report))
    return 0


def _report(paths: list[Path], baseline: Path | None) -> CompilationReport:
    if len(paths) == 1 and not _is_log(paths[0]):
        return _of_run(paths[0], baseline)
    return compilation_report(read_compile_log_files(paths))


def _is_log(path: Path) -> bool:
    """A file that is no archive, no trace and no other thing we know is read as a log."""
    if not path.is_file():
        return False
    if is_empty(path):
        raise empty_file(path.name, BadInput)
    kind = kind_of(path)
    return kind is None or kind.role in OF_THE_COMPILER


def _of_run(path: Path, baseline: Path | None) -> CompilationReport:
    run = Run.open(path)
    report = run.compilation
    if baseline is not None:
        report = Comparison([Run.open(baseline), run]).compilation_of(1)
    for problem in run.problems("compile log"):
        raise problem.error()
    if report is None:
        raise NothingToAnalyse(
            f"{run.path} has no compiler log.",
            remedy="Capture with logs, or pass the stderr of a run with TORCH_LOGS set.",
        )
    return report


def _text(report: CompilationReport) -> str:
    parts = [_headline(report)]
    for title, block in (
        ("Functions that run eager because of a break", _skips(report)),
        ("Graph breaks", _breaks(report)),
        ("Recompiles", _recompiles(report)),
        ("CUDA graphs", _cudagraphs(report)),
        ("Compiler errors", _failures(report)),
        ("Where Dynamo traced", _traced(report)),
    ):
        if block:
            parts.append(f"{title}\n{block}")
    notes = _warning_lines(report.log)
    if report.log.n_unparsed:
        notes.append(f"{format_count(report.log.n_unparsed)} records could not be understood.")
    return "\n\n".join(parts + (["\n".join(notes)] if notes else []))


def _headline(report: CompilationReport) -> str:
    log = report.log
    span = log.version_range
    version = log.torch_version or (f"{span[0]} to {span[1] or 'now'}" if span else "unknown")
    counts = (
        (len(report.breaks), "graph break"),
        (len(report.skips), "skipped frame"),
        (len(report.recompiles), "recompile"),
        (len(log.limit_hits), "recompile limit hit"),
        (log.n_compilations, "compilation"),
    )
    told = ", ".join(
        f"{format_count(n)} {word}{'' if n == 1 else 's'}" for n, word in counts if n is not None
    )
    lines = [f"PyTorch {version} · {' and '.join(log.sources) or 'no'} log · {told}"]
    if report.compile_time:
        compile_time = report.compile_time
        again = (
            f", {format_duration(report.recompile_ns)} of it again" if report.recompile_ns else ""
        )
        if again and report.n_untimed_recompiles:
            again += f" (not known of {format_count(report.n_untimed_recompiles)})"
        lines.append(f"Compiling took {format_duration(compile_time.seconds * 1e9)}{again}.")
    if report.break_even_steps is not None:
        lines.append(f"It has paid for itself after {format_count(report.break_even_steps)} steps.")
    elif report.no_break_even == NoBreakEven.CANNOT_BE_TOLD:
        lines.append("Whether it pays for itself cannot be told: see compare.")
    lines += _break_cost(report)
    if report.eager_only:
        lines.append("No compiled region is left in the trace: everything runs eager.")
    lines += [
        f"{hit.function} ({_extent(hit)}) reached "
        f"{hit.limit or 'the recompile limit'}: it runs eager for new inputs."
        for hit in log.limit_hits
    ]
    return "\n".join(lines)


def _break_cost(report: CompilationReport) -> list[str]:
    """What the breaks cost, and of how many it is not known; [] without a break."""
    cost = report.break_cost
    if not report.breaks:
        return []
    if cost is None:
        return [f"What the breaks cost is not known: {report.unpriced}."]
    if not cost.n:
        return ["No compiled call follows a break in the trace: what comes after runs eager."]
    if not cost.cost_ns:
        return [f"The breaks cost nothing: the device hides the host's work ({cost.clock} clock)."]
    n, n_unpriced = len(report.breaks), report.n_unpriced_breaks
    subject = "All breaks together cost" if n > 1 else "The break costs"
    if n_unpriced:
        n_priced = n - n_unpriced
        subject = "One break costs" if n_priced == 1 else f"{format_count(n_priced)} breaks cost"
    low, high = (format_duration(ns) for ns in cost.range_ns)
    others = f"; {unpriced_clause(n_unpriced)}" if n_unpriced else ""
    return [
        f"{subject} {format_duration(cost.cost_ns)} ({low} to {high}) of "
        f"{format_duration(cost.step_ns)} per step ({cost.clock} clock){others}."
    ]


def _extent(hit: LimitHit) -> str:
    """Where what runs eager begins: the function, or the line after a graph break in it."""
    place = place_text(hit.file, hit.line)
    return f"from {place} on" if hit.is_rest else place


def _skips(report: CompilationReport) -> str:
    if not report.skips:
        return ""
    lost = ""
    if report.lost is not None:
        lost = "\n  " + f"{report.lost.price} {report.lost.sentence}".strip()
    return _with_more(_skip_lines(report), len(report.skips)) + lost


def _skip_lines(report: CompilationReport) -> str:
    return "\n".join(
        f"  {skip.event.function or 'a function'}: frame skipped, {skip.event.reason} "
        f"({_frame(skip.place)})\n    {skip.change}\n    {skip.url}"
        for skip in report.skips[:_SHOWN]
    )


def _breaks(report: CompilationReport) -> str:
    if not report.breaks:
        return ""
    rows = [
        [
            _frame(graph_break.place),
            graph_break.cause.label,
            clipped(graph_break.event.reason, _REASON),
            format_count(graph_break.event.n),
            format_duration(graph_break.cost_ns),
        ]
        for graph_break in report.breaks[:_SHOWN]
    ]
    listed = table(["place", "kind", "reason", "met", "cost per step"], rows, n_text=3)
    listed = _with_more(listed, len(report.breaks))
    return "\n\n".join([listed, *map(_advice, report.breaks[:_SHOWN])])


def _advice(graph_break: BreakReport) -> str:
    """Where one break is, whom it called there, and what PyTorch itself says to change."""
    inner, event = graph_break.innermost, graph_break.event
    within = f"\n  inside {inner.file}:{inner.line} {inner.function}".rstrip() if inner else ""
    return (
        f"{graph_break.place.file}:{graph_break.place.line} {graph_break.place.function}".rstrip()
        + f"{within}\n  {event.explanation or graph_break.cause.what}\n  {graph_break.advice}"
    )


def _recompiles(report: CompilationReport) -> str:
    if not report.recompiles:
        return ""
    rows = [
        [
            f"{recompile.event.function} "
            f"({place_text(recompile.event.file, recompile.event.line)})",
            recompile.cause.label,
            clipped(recompile.event.reasons[0].guard, _REASON) if recompile.event.reasons else "",
            recompile.event.compile_id or "",
            format_count(recompile.step),
            format_duration(recompile.cost_ns),
        ]
        for recompile in report.recompiles[:_SHOWN]
    ]
    head = ["function", "kind", "guard that failed", "compile id", "step", "took"]
    listed = _with_more(table(head, rows, n_text=3), len(report.recompiles))
    return "\n\n".join([listed, _remedies([recompile.cause for recompile in report.recompiles])])


def _remedies(causes: list[Cause]) -> str:
    return "\n".join(
        f"{cause.label}: {cause.what} {cause.change}" for cause in dict.fromkeys(causes)
    )


def _cudagraphs(report: CompilationReport) -> str:
    lines = []
    coverage = report.coverage
    if coverage and (coverage.n_replayed or report.cudagraphs):
        lines.append(
            f"{format_share(coverage.kernel_share)} of kernels and "
            f"{format_share(coverage.time_share)} of their time are replayed; "
            f"{format_count(coverage.launches_saved)} launches saved per step."
        )
    stakes = {stake.event: stake.at_stake_ns for stake in coverage.stakes} if coverage else {}
    for event, cause in report.cudagraphs[:_SHOWN]:
        location = f" ({place_text(event.file, event.line)})" if event.file else ""
        stake = stakes.get(event)
        worth = f" Up to {format_duration(stake, 'up')} per step." if stake else ""
        lines.append(f"{event.kind}: {event.reason}{location}. {cause.change}{worth}")
    return _with_more("\n".join(lines), len(report.cudagraphs))


def _failures(report: CompilationReport) -> str:
    how = {True: "ran eager", False: "ended the program", None: "outcome unknown"}
    lines = "\n".join(
        f"  {failure.error}: {failure.reason} "
        f"({place_text(failure.file, failure.line)}; {how[failure.suppressed]}). {failure.remedy}"
        for failure in report.log.failures[:_SHOWN]
    )
    return _with_more(lines, len(report.log.failures))


def _traced(report: CompilationReport) -> str:
    tracing = report.tracing
    if tracing is None:
        return ""
    rows = [
        [
            f"{function.function} ({place_text(function.file, function.line)})",
            format_count(function.n),
            format_duration(function.own_ns),
            format_duration(function.total_ns),
        ]
        for function in tracing.functions[:_FUNCTIONS]
    ]
    rows.append(["PyTorch's own functions", "", format_duration(tracing.framework_ns), ""])
    listed = table(["function", "times", "own", "together"], rows, n_text=1)
    return "\n".join(filter(None, (listed, n_more(tracing.n_functions - _FUNCTIONS))))


def _with_more(text: str, n: int) -> str:
    """A list that ends after _SHOWN of n entries, and says so."""
    return "\n".join(filter(None, (text, n_more(n - _SHOWN))))


def _frame(frame: Frame | None) -> str:
    return place_text(frame.file, frame.line) if frame else "place unknown"


def _warning_lines(log: CompileLog) -> list[str]:
    """What a reader must know before the lists."""
    lines = [f"Warning: {text}" for text in log.warnings]
    lines += [f"A lower bound ({bound.about}): {bound.sentence}" for bound in log.lower_bound]
    return lines
