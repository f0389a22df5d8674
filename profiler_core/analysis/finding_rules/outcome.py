"""Findings about the outcome: wrong results, and a candidate that is slower."""

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.step_time import StepTime
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.units import format_change, format_duration


def wrong_numerics(facts: Facts) -> Finding | None:
    """A fast wrong answer must be seen before anything else."""
    numerics = facts.record.numerics
    if numerics is None or numerics.verdict != "wrong":
        return None
    error, tolerance = numerics.rms_error, numerics.tolerance
    numbers = (
        f" RMS error {error:.2e}, tolerance {tolerance:.2e}."
        if error is not None and tolerance is not None
        else ""
    )
    return Finding(
        key="wrong_numerics",
        title="The results are wrong.",
        evidence=f"{numerics.reason.rstrip('.')}.{numbers}" if numerics.reason else numbers.strip(),
        advice="Do not use this variant. Look for the operator with "
        "torch._dynamo.config.repro_after='aot' and repro_level=4, and compare in fp32."
        if facts.is_inductors
        else "Do not use this variant as it is. Let the backend compute in the baseline's types "
        "where it has an option for that; else give it fewer parts of the model until they agree.",
        page="overview",
        weight="first of all",
    )


def slower(facts: Facts) -> Finding | None:
    """Fires where the verdict is a loss; too few rounds for a verdict are none for a finding."""
    if facts.comparison is None or facts.comparison.verdict not in ("slower", "wrong_numerics"):
        return None
    time = facts.comparison.step_time
    if time.ratio is None or time.baseline_ns is None or time.candidate_ns is None:
        return None
    lost = time.candidate_ns - time.baseline_ns
    if lost <= 0 or not time.significant or round(time.ratio, 2) == 1.0:
        return None
    change = format_change(1 / time.ratio)
    return Finding(
        key="slower",
        change=Change("uncompiled"),
        title=f"{facts.comparison.label} is slower than {facts.comparison.baseline_label}.",
        evidence=f"{format_duration(time.baseline_ns)} → {format_duration(time.candidate_ns)} a "
        f"step ({change}, {time.clock}).",
        advice="See where the difference comes from; while it stands, leave this part uncompiled "
        "(torch.compiler.disable).",
        page="overview",
        prediction=_of_baseline(facts, lost, time),
        weight="first",
    )


def _of_baseline(facts: Facts, lost: float, time: StepTime) -> Prediction:
    """Going back to the baseline saves what was measured, within its interval."""
    label = facts.comparison.baseline_label if facts.comparison else ""
    low, high = time.interval or (time.ratio or 1.0,) * 2
    candidate = time.candidate_ns or 0
    saved = sorted(candidate * (1 - ratio) for ratio in (low, high))
    return Prediction(
        lost, min(lost, saved[0]), max(lost, saved[1]), "measured_by_sibling", facts.clock, label
    )


PLACE = 0
RULES: tuple[Rule, ...] = (wrong_numerics, slower)
