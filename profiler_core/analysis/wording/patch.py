"""What a patch of the user's code brings, as one sentence."""

from typing import Literal

from profiler_core.analysis.wording.experiment import interval
from profiler_core.model.experiment import Ratio
from profiler_core.model.run import Numerics
from profiler_core.units import format_duration, format_ratio

Outcome = Literal[
    "faster", "slower", "cannot be told", "wrong answers", "does not compile", "does not run"
]


def patch_sentence(
    outcome: Outcome,
    patch: str,
    times_ns: tuple[float | None, float | None],
    speedup: Ratio | None,
    numerics: Numerics | None,
    error: str | None,
) -> str:
    """The outcome with its numbers.

    Args:
        outcome: which.
        patch: what it is called.
        times_ns: of a step before and after it; None: not timed.
        speedup: the one over the other; None: too few rounds.
        numerics: of the patched copy; None: not checked.
        error: why it does not run.
    """
    if outcome in ("does not compile", "does not run"):
        return f"{patch}: it {outcome}: {error or 'it was not timed.'}"
    times = " → ".join(format_duration(time) for time in times_ns)
    if speedup is None:
        return f"{patch}: {outcome}: {times}, and too few rounds to tell."
    if outcome == "wrong answers" and numerics is not None:
        return f"{patch}: wrong answers: {numerics.reason}. Steps took {times}."
    if outcome == "cannot be told":
        told = f"makes no difference that can be told: {times} ({interval(speedup)})"
    else:
        shown = speedup if outcome == "faster" else speedup.inverse
        told = f"makes it {format_ratio(shown.ratio)} {outcome} ({interval(shown)}): {times}"
    return f"{patch} {told}. {_answers(numerics)}"


def _answers(numerics: Numerics | None) -> str:
    if numerics is None:
        return "Its answers were not checked."
    if numerics.verdict == "right":
        return "Its answers are right."
    return f"Its answers could not be compared: {numerics.reason}"
