"""What dossiers of graph breaks and skipped frames say: their cost, and how often they were met."""

from collections.abc import Sequence

from profiler_core.analysis.compilation.report import BreakReport, SkipReport
from profiler_core.analysis.wording.compilation import unpriced_clause
from profiler_core.analysis.wording.sentence import capitalised
from profiler_core.model.compilation import LimitHit
from profiler_core.units import format_count, format_duration

LIMITED_CHANGE = "Remove the cause of the recompiles below."
FOR_NEW_INPUTS = "runs eager for new inputs"


def break_answer(broken: BreakReport, breaks: Sequence[BreakReport], total_ns: float | None) -> str:
    """What it costs, of how much, and of how many others the cost is not known.

    Args:
        broken: the break.
        breaks: all of the run, with this one.
        total_ns: what all breaks of the run whose cost is known cost together; None: not known.
    """
    if total_ns == 0:
        return "It costs nothing: the device hides what the host does here."
    if broken.cost_ns is None or total_ns is None:
        return f"{capitalised(broken.cause.label)}, {_met(broken)}."
    n_unknown = sum(1 for each in breaks if each.cost_ns is None)
    n_known = len(breaks) - n_unknown
    text = f"Costs {format_duration(broken.cost_ns)} per step"
    if n_known > 1:
        together = f"{format_count(n_known)} breaks" if n_unknown else "all breaks"
        text += f", of {format_duration(total_ns)} that {together} cost together"
    if n_unknown:
        text += f"; {unpriced_clause(n_unknown)}"
    return f"{text}."


def skip_answer(skip: SkipReport) -> str:
    """Which function runs eager, and how often its break was met."""
    name = skip.event.function or "A function"
    return f"{name} runs eager in every step because of a break in it, {_met(skip)}."


def limited_name(hit: LimitHit) -> str:
    """What runs eager since the recompile limit: "forward", or "forward, from line 28 on"."""
    rest = f", from line {hit.line} on" if hit.is_rest else ""
    return f"{hit.function or 'a function'}{rest}"


def limited_sentence(hit: LimitHit) -> str:
    """Which limit it met, and the guard that failed last, where the log says it."""
    value = f" ({hit.value})" if hit.value else ""
    last = f" Last guard that failed: {hit.last_reason}." if hit.last_reason else ""
    limit = hit.limit or "the recompile limit"
    return f"It was compiled again and again until {limit}{value} was reached.{last}"


def break_about(broken: BreakReport) -> tuple[str, ...]:
    """How often it was met, and in which compilations; the answer says it where it has no cost."""
    return () if broken.cost_ns is None else (f"{capitalised(_met(broken))}.",)


def _met(broken: BreakReport | SkipReport) -> str:
    ids = broken.event.compile_ids
    of_ids = f" in {', '.join(ids[:8])}" if ids else ""
    return f"met {_times(broken.event.n)} while compiling{of_ids}"


def _times(n: int) -> str:
    return "once" if n == 1 else f"{format_count(n)} times"
