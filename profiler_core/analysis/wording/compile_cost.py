"""The cost of compiling in words, and when it has paid for itself."""

from profiler_core.analysis.compilation.cost import CompileCost, NoBreakEven
from profiler_core.units import format_count, format_duration


def compile_cost_sentence(cost: CompileCost, baseline: str) -> str:
    """What compiling takes, and when it has paid for itself.

    Args:
        cost: of the candidate beside its baseline.
        baseline: what that is called.
    """
    warm = "" if cost.warm_seconds is None else f"{_seconds(cost.warm_seconds)} with a warm cache"
    if cost.source == "first call" or cost.first_call_seconds is None:
        subject = "The first call costs" if cost.source == "first call" else "Compiling takes"
        sentence = f"{subject} {_seconds(cost.seconds)}{', ' if warm else ''}{warm}"
    else:
        calls = f"the first call {_seconds(cost.first_call_seconds)}{', ' if warm else ''}{warm}"
        sentence = f"Compiling takes {_seconds(cost.seconds)} ({calls})"
        if cost.autotuning_seconds:
            sentence += f", {at_first_calls(cost.autotuning_seconds, cost.recording_seconds)}"
    after = break_even_clause(cost, baseline)
    return f"{sentence}{after and '; '}{after}."


def at_first_calls(seconds: float, recording_seconds: float) -> str:
    """What the first calls do beside compiling, as a part of a sentence.

    Args:
        seconds: all of it.
        recording_seconds: of these, recording CUDA graphs.
    """
    both = ("autotuning", seconds - recording_seconds), ("recording CUDA graphs", recording_seconds)
    parts = [f"{doing} {_seconds(part)}" for doing, part in both if part > 0]
    return f"at the first calls {' and '.join(parts)}"


def break_even_clause(cost: CompileCost, baseline: str) -> str:
    """When compiling has paid for itself, as a part of a sentence; "" where nothing is known.

    Args:
        cost: of the candidate beside its baseline.
        baseline: what that is called.
    """
    beyond = cost.beyond_baseline_seconds
    more = ""
    if beyond is not None:
        difference = f"{_seconds(abs(beyond))} {'more' if beyond > 0 else 'less'} than"
        if not beyond:
            difference = "as much as"
        more = f"that is {difference} compiling {baseline} costs, "
        if cost.no_break_even == NoBreakEven.NOT_DEARER:
            return f"{more}so there is nothing to earn back"
    if cost.break_even_steps is not None:
        return f"{more}it has paid for itself after {format_count(cost.break_even_steps)} steps"
    return {
        None: "",
        NoBreakEven.NEVER: f"{more}it never pays for itself",
        NoBreakEven.CANNOT_BE_TOLD: f"{more}whether it pays for itself cannot be told",
        NoBreakEven.BASELINE_UNKNOWN: f"what compiling {baseline} cost is not known, so it cannot "
        "be told when the difference is earned back",
    }[cost.no_break_even]


def _seconds(seconds: float | None) -> str:
    return format_duration(None if seconds is None else seconds * 1e9)
