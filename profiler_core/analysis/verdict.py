"""Is the candidate worth it, in one sentence: the page and the command line say the same.

A fast wrong answer is said first, then slower, no difference, faster; a number without repeats
is a measurement and carries no verdict.
"""

from dataclasses import dataclass

from profiler_core.analysis.compare import CandidateComparison
from profiler_core.analysis.step_time import StepTime
from profiler_core.analysis.verdict_kind import (
    CANNOT_BE_TOLD,
    VerdictKind,
    cannot_be_told,
    never_earned_back,
)
from profiler_core.units import format_bytes, format_count, format_duration, format_energy


@dataclass(frozen=True)
class Verdict:
    """One headline, and further sentences in the order in which they matter."""

    kind: VerdictKind
    headline: str
    details: tuple[str, ...]


def verdict_sentence(comparison: CandidateComparison) -> Verdict:
    """The verdict on one candidate in words."""
    headline = {
        "wrong_numerics": _wrong,
        "slower": _slower,
        "no_difference": _no_difference,
        "faster": _faster,
        "no_verdict": _measurement,
    }[comparison.verdict](comparison)
    return Verdict(comparison.verdict, headline, _details(comparison))


def _wrong(c: CandidateComparison) -> str:
    numerics = c.numerics
    if numerics is None or numerics.rms_error is None or numerics.tolerance is None:
        return f"{c.label} gives wrong results, so its speed does not count."
    against = (
        f", {c.baseline_label} is off by {numerics.baseline_rms_error:.2g}"
        if (numerics.baseline_rms_error is not None)
        else ""
    )
    return (
        f"{c.label} gives wrong results, so its speed does not count: RMS error "
        f"{numerics.rms_error:.2g} where {numerics.tolerance:.2g} is allowed{against}."
    )


def _slower(c: CandidateComparison) -> str:
    ratio = c.step_time.ratio or 1.0
    return (
        f"{c.label} is slower than {c.baseline_label}: a step takes {1 / ratio:.2f} times as long, "
        f"{_times(c.step_time)} ({_interval(c.step_time, inverse=True)})."
    )


def _faster(c: CandidateComparison) -> str:
    return (
        f"{c.label} is {c.step_time.ratio:.2f} times as fast as {c.baseline_label}: a step takes "
        f"{_times(c.step_time)} ({_interval(c.step_time)})."
    )


def _no_difference(c: CandidateComparison) -> str:
    if cannot_be_told(c.verdict, c.step_time.interval):
        return (
            f"Whether {c.label} is faster or slower than {c.baseline_label} {CANNOT_BE_TOLD}: a "
            f"step takes {_times(c.step_time)}, and the interval of the ratio holds 1 and is too "
            f"wide ({_interval(c.step_time)})."
        )
    reason = (
        "the interval of the ratio holds 1"
        if not c.step_time.significant
        else "the ratio rounds to 1.00"
    )
    return (
        f"{c.label} makes no difference against {c.baseline_label}: a step takes "
        f"{_times(c.step_time)}, and {reason} ({_interval(c.step_time)})."
    )


def _measurement(c: CandidateComparison) -> str:
    time = c.step_time
    if c.workloads_differ:
        return _different_workloads(c)
    if c.status in ("failed", "cancelled", "lost") and time.ratio is None:
        reason = f": {c.error}" if c.error else "."
        return f"{c.label} cannot be judged, its run is {c.status}{reason}"
    if time.clock == "unprofiled":
        rounds = "one round" if max(time.n_rounds) == 1 else f"{min(time.n_rounds)} rounds"
        return (
            f"A step takes {format_duration(time.baseline_ns)} with {c.baseline_label} and "
            f"{format_duration(time.candidate_ns)} with {c.label}, measured over "
            f"{format_count(min(time.n_steps))} steps in {rounds} each: too few repeats for a "
            "verdict."
        )
    if c.empty_traces:
        return (
            f"{c.label} and {c.baseline_label} cannot be compared: the trace of "
            f"{' and of '.join(c.empty_traces)} holds neither steps nor work of a device."
        )
    if set(c.device_kinds) == {"gpu", "cpu"}:
        without = c.label if c.device_kinds[1] == "cpu" else c.baseline_label
        return (
            f"{c.label} and {c.baseline_label} cannot be compared: the trace of {without} holds no "
            "GPU events."
        )
    baseline_ns, candidate_ns = c.device_time_ns
    if baseline_ns is None or candidate_ns is None:
        return f"{c.label} and {c.baseline_label} cannot be compared: a trace is missing."
    steps = sorted({n for n in c.n_profiled_steps if n is not None})
    n_steps = " and ".join(format_count(n) for n in steps)
    busy = "CPU time" if c.device_kinds == ("cpu", "cpu") else "Device time"
    # A step can take longer while the device does less: the host is what it waits for.
    step_text = "" if time.ratio is None else f", the step itself {_times(time)},"
    return (
        f"{busy} per step {format_duration(baseline_ns)} → {format_duration(candidate_ns)}"
        f"{step_text} from "
        f"{c.baseline_label} to {c.label} (profiled, {n_steps} step{'s' if steps != [1] else ''}, "
        "no repeats): a measurement, not a verdict."
    )


def _different_workloads(c: CandidateComparison) -> str:
    difference = next((d for d in c.environment_differs if d.key == "workload"), None)
    if difference is None:
        difference = next(d for d in c.environment_differs if d.key.startswith("spec."))
    verb = "is" if difference.key == "workload" else f"has {difference.key.removeprefix('spec.')}"
    sentence = (
        f"{c.baseline_label} and {c.label} are different workloads: one {verb} "
        f"{difference.baseline}, the other {difference.candidate}, so neither is faster or slower "
        "than the other"
    )
    time = c.step_time
    if time.baseline_ns is None or time.candidate_ns is None:
        return f"{sentence}."
    return (
        f"{sentence} (a step takes {format_duration(time.baseline_ns)} and "
        f"{format_duration(time.candidate_ns)})."
    )


def _details(c: CandidateComparison) -> tuple[str, ...]:
    sentences = [*_unfair(c), *_numerics(c), *_compile(c), *_memory(c), *_energy(c)]
    if c.step_time.interval is not None and c.interleaved is False:
        sentences.append(
            "The runs were not timed in turns: a drift of the clocks may be in the ratio."
        )
    if c.environment_differs:
        listed = ", ".join(
            f"{d.key} ({d.baseline} against {d.candidate})" for d in c.environment_differs[:3]
        )
        n_further = len(c.environment_differs) - 3
        sentences.append(
            f"The runs differ in more than the variant: {listed}"
            + (f" and {n_further} more." if n_further > 0 else ".")
        )
    return tuple(sentences)


def _numerics(c: CandidateComparison) -> list[str]:
    if c.numerics is None:
        return []
    if c.numerics.verdict == "right":
        compared = f" ({c.numerics.compared} compared)" if c.numerics.compared else ""
        return [f"Its results are right{compared}."]
    if c.numerics.verdict == "wrong" and c.step_time.ratio is not None:
        return [f"A step takes {_times(c.step_time)}, ratio {c.step_time.ratio:.2f}."]
    reason = (c.numerics.reason or c.numerics.verdict).rstrip(".")
    return [f"Its results could not be checked: {reason}."]


def _compile(c: CandidateComparison) -> list[str]:
    cost = c.compile
    if cost.seconds is None:
        return []
    warm = "" if cost.warm_seconds is None else f"{_seconds(cost.warm_seconds)} with a warm cache"
    if cost.source == "first call" or cost.first_call_seconds is None:
        subject = "The first call costs" if cost.source == "first call" else "Compiling takes"
        sentence = f"{subject} {_seconds(cost.seconds)}{', ' if warm else ''}{warm}"
    else:
        calls = f"the first call {_seconds(cost.first_call_seconds)}{', ' if warm else ''}{warm}"
        sentence = f"Compiling takes {_seconds(cost.seconds)} ({calls})"
    if cost.break_even_steps is not None:
        sentence += f"; it has paid for itself after {format_count(cost.break_even_steps)} steps."
    elif c.workloads_differ:
        sentence += "."
    else:
        instead = never_earned_back(c.verdict, c.step_time.interval)
        if instead == CANNOT_BE_TOLD:
            sentence += f"; whether it pays for itself {CANNOT_BE_TOLD}."
        else:
            sentence += "." if instead is None else "; it never pays for itself."
    return [sentence]


def _seconds(seconds: float) -> str:
    return format_duration(seconds * 1e9)


def _memory(c: CandidateComparison) -> list[str]:
    baseline_bytes, candidate_bytes = c.memory.peak_reserved_bytes
    if baseline_bytes is None or candidate_bytes is None:
        return []
    before, after = format_bytes(baseline_bytes), format_bytes(candidate_bytes)
    if before == after:
        return [f"Peak memory (reserved) stays at {before}."]
    return [f"Peak memory (reserved) {before} → {after}."]


def _unfair(c: CandidateComparison) -> tuple[str, ...]:
    """Before all other details: clocks apart, or one of the two throttled."""
    return c.fairness.sentences if c.fairness is not None and c.fairness.fair is False else ()


def _energy(c: CandidateComparison) -> list[str]:
    baseline_j, candidate_j = c.energy_per_step_j
    if baseline_j is None or candidate_j is None:
        return []
    before, after = format_energy(baseline_j), format_energy(candidate_j)
    energy = f"stays at {before}" if before == after else f"{before} → {after}"
    fair = c.fairness is not None and c.fairness.fair
    return [f"Energy per step {energy}{', the GPU at the same clocks for both' if fair else ''}."]


def _times(time: StepTime) -> str:
    return f"{format_duration(time.baseline_ns)} → {format_duration(time.candidate_ns)}"


def _interval(time: StepTime, *, inverse: bool = False) -> str:
    if time.interval is None:
        return "no interval"
    low, high = time.interval
    if inverse:
        low, high = 1 / high, 1 / low
    rounds = f"{min(time.n_rounds)} {'interleaved ' if time.paired else ''}rounds"
    # As many digits as tell the ends apart: "1.25 to 1.25" would look like a mistake.
    digits = next((n for n in (2, 3) if f"{low:.{n}f}" != f"{high:.{n}f}"), None)
    if digits is None:
        return f"95 % interval narrower than 0.001, {rounds}"
    return f"95 % interval {low:.{digits}f} to {high:.{digits}f}, {rounds}"
