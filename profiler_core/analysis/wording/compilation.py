"""What the compiler did to one run, in words: breaks and recompiles, and what they cost."""

from profiler_core.analysis.compilation.report import BreakReport, CompilationReport, Unpriced
from profiler_core.analysis.wording.compile_cost import at_first_calls
from profiler_core.analysis.wording.sentence import Phrase, Strong, counted, ended
from profiler_core.units import format_count, format_duration


def headline(report: CompilationReport) -> Phrase:
    """What stands between this run and one graph, as a sentence."""
    if report.eager_only:
        return (Strong("Everything runs eager"), ": a break in a loop made Dynamo give up.")
    parts = [part for part in (*_eager(report), *_breaks(report), *_recompiles(report)) if part]
    if parts:
        phrase: Phrase = ()
        for position, part in enumerate(parts):
            phrase += ("; ", *part) if position else part
        return (*phrase, ".")
    if report.log.failures:
        return ("The compiler ", Strong("gave up with an error"), ".")
    return ("One graph, compiled once: ", Strong("no break, no recompile"), ".")


def break_line(graph_break: BreakReport) -> str:
    """One break in a line: where, why, and what to change by its own hint.

    Where the user's line only calls the place at which Dynamo stopped, that stands there too.
    """
    frame, inner = graph_break.place, graph_break.innermost
    inside = f" (inside {inner.file}:{inner.line})" if inner is not None else ""
    reason = ended(graph_break.event.reason)
    return f"{frame.file}:{frame.line}{inside}: {reason} {graph_break.advice}"


def _eager(report: CompilationReport) -> list[Phrase]:
    functions = report.eager_functions
    how = "partly eager" if functions.partly == functions.limited else "eager"
    phrases: list[Phrase] = []
    for n, eager, why in (
        (functions.skipped, "eager", "because of a break inside"),
        (functions.limited, how, "since the recompile limit"),
    ):
        if n:
            verb = "runs" if n == 1 else "run"
            phrases.append((Strong(f"{counted(n, 'function')} {verb} {eager}"), f" {why}"))
    return phrases


def _breaks(report: CompilationReport) -> list[Phrase]:
    n, cost = len(report.breaks), report.break_cost
    if not n:
        return []
    subject = counted(n, "graph break")
    if cost is None or not cost.n:
        return [(subject,)]
    if not cost.cost_ns:
        return [(f"{subject}, which {'costs' if n == 1 else 'cost'} nothing here",)]
    amount = Strong(f"{format_duration(cost.cost_ns)} per step")
    n_unpriced = report.n_unpriced_breaks
    if not n_unpriced:
        return [(f"{subject} {'costs' if n == 1 else 'cost'} ", amount)]
    n_priced = n - n_unpriced
    costs = "one costs" if n_priced == 1 else f"{format_count(n_priced)} cost"
    return [(f"{subject}: {costs} ", amount, f", {unpriced_clause(n_unpriced)}")]


def unpriced_clause(n: int) -> str:
    """That there are breaks whose cost is not known, as a clause.

    Args:
        n: how many of them, beside others whose cost stands before.
    """
    others = "break costs" if n == 1 else f"{format_count(n)} cost"
    return f"what the other {others} is not known"


def saving_subject(report: CompilationReport) -> str:
    """The breaks that `break_cost` is of, after "without"."""
    if not report.n_unpriced_breaks:
        return "the breaks"
    n_priced = len(report.breaks) - report.n_unpriced_breaks
    return "that break" if n_priced == 1 else f"those {format_count(n_priced)} breaks"


def _recompiles(report: CompilationReport) -> list[Phrase]:
    if not report.recompiles:
        return []
    n, n_untimed = len(report.recompiles), report.n_untimed_recompiles
    again = counted(n, "recompile")
    if report.recompile_ns is None:
        return [(f"{again}, whose time is not known",)]
    took = f"took {format_duration(report.recompile_ns)}"
    if not n_untimed:
        return [(f"{again} {took}",)]
    timed = "one" if n - n_untimed == 1 else format_count(n - n_untimed)
    others = "one" if n_untimed == 1 else format_count(n_untimed)
    return [(f"{again}: {timed} {took}, what the other {others} took is not known",)]


def _of_breaks(report: CompilationReport) -> list[str]:
    """What the breaks cost, and how that is known; [] without a break."""
    lines: list[str] = []
    cost = report.break_cost
    if cost is None and report.breaks and report.unpriced is Unpriced.NO_STEPS:
        lines.append(f"What the breaks cost is not known: {report.unpriced}.")
    if cost is not None and report.breaks:
        if cost.cost_ns:
            low, high = (format_duration(ns) for ns in cost.range_ns)
            text = (
                f"Without {saving_subject(report)} a step would take "
                f"{format_duration(cost.without_ns)} instead of {format_duration(cost.step_ns)} "
                f"({cost.clock} clock; the saving lies between {low} and {high})."
            )
            if len(report.breaks) - report.n_unpriced_breaks > 1:
                text += " Costs of single breaks do not add up: the first costs most."
            lines.append(text)
            if cost.n_replayed_steps < cost.n_steps:
                lines.append(
                    f"Judged by {format_count(cost.n_replayed_steps)} of "
                    f"{format_count(cost.n_steps)} steps, spread evenly."
                )
        elif not cost.n:
            lines.append(
                "In the profiled steps no compiled call follows a break: what comes after it runs "
                "eager, so what the break costs cannot be told."
            )
        elif cost.bound == "device":
            lines.append(
                f"The device sets the pace: in a step of {format_duration(cost.step_ns)} it hides "
                f"the host's {format_duration(cost.host_work_ns)} between the compiled calls."
            )
    return lines


def evidence(report: CompilationReport) -> list[str]:
    """The numbers behind the headline, one sentence each."""
    lines = _of_breaks(report)
    compile_time = report.compile_time
    if compile_time is not None:
        subject = "Compiling" if report.engine is None else "Tracing the graphs"
        text = f"{subject} took {format_duration(compile_time.seconds * 1e9)}"
        if compile_time.runtime_seconds > 0.001:
            first_calls = compile_time.runtime_seconds, compile_time.recording_seconds
            text += f", {at_first_calls(*first_calls)}"
        if report.break_even_steps is not None and report.engine is None:
            text += f"; paid back after {format_count(report.break_even_steps)} steps"
        if report.engine is not None:
            text += (
                f"; {report.engine} itself compiles when it is first called, of which no log "
                "tells: the overview has the first call"
            )
        lines.append(text + ".")
    if report.lost is not None and report.lost.ns:
        lines.insert(0, f"The skipped functions lose {report.lost.amount} in every step.")
    return lines
