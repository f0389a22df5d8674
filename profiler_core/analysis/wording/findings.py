"""What a finding has at stake and what to do, as the page, reports, terminal and agents say it."""

from collections.abc import Sequence

from profiler_core.analysis.finding_overlaps import (
    add_more_together,
    add_up,
    more_alone,
    together,
)
from profiler_core.analysis.finding_rules.facts import Finding
from profiler_core.analysis.span import common_span
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.analysis.wording.sentence import clause, uncapitalised
from profiler_core.units import format_duration, format_durations

NO_GAIN = "no gain"  # in place of an amount
_MOST_NAMED = 2
# Whose advice holds where the change would not pay: it weighs graphs itself, or names no change.
_HOLDS_ANYWAY = ("launch_bound", "slower_groups", "slower_by_a_rank")


def stake_text(finding: Finding) -> tuple[str, str]:
    """(amount, of what): ("≤ 800 µs", "per step"), ("≥ 3.00 s", "once"); an en dash for none."""
    if finding.prediction is not None:
        return amount_text(finding.prediction), finding.span
    if finding.one_off_ns is not None:
        once_ns = finding.one_off_ns
        if finding.is_one_off_at_least:
            return f"≥ {format_duration(once_ns, 'down')}", "once"
        return format_duration(once_ns), "once"
    return "–", "to know" if finding.weight == "note" else ""


def overlap_text(others: Sequence[Finding]) -> str:
    """Which others draw on the same time; "" where none does."""
    if not others:
        return ""
    titles = [f"“{clause(other.title)}”" for other in others[:_MOST_NAMED]]
    further = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    both = "the two" if len(others) == 1 else "they"
    return f"Overlaps with {', '.join(titles)}{further}: {both} do not add up."


def together_text(findings: Sequence[Finding]) -> str:
    """What the findings promise together; "" where fewer than two promise anything."""
    promising = [finding for finding in findings if (finding.at_stake_ns or 0.0) > 0]
    if len(promising) < 2:
        return ""
    ns, is_bound = together(findings)
    amount = f"at most {format_duration(ns, 'up')}" if is_bound else format_duration(ns)
    alone = more_alone(findings)
    if alone is not None and len(promising) == 2:
        first, second = (clause(finding.title) for finding in promising)
        return f"“{first}” and “{second}” overlap: the two do not add up."
    span = common_span(finding.span for finding in findings)
    which = "Together " if alone is None else f"All but “{clause(alone.title)}” together "
    if add_more_together(findings):
        how = "done together they save more than one by one"
    else:
        how = "they add up" if add_up(findings) else "what overlaps counts once"
    return f"{which}{amount} {span}: {how}."


def amounts_text(findings: Sequence[Finding]) -> str:
    """What to know of a list's amounts: what a ≤ means, where one stands, and what they sum to.

    Args:
        findings: those that stand there, so that nothing is said of others.
    """
    bound = "≤ is an upper bound." if any(map(_shows_bound, findings)) else ""
    return " ".join(filter(None, (bound, together_text(findings))))


def _shows_bound(finding: Finding) -> bool:
    """Does a ≤ stand at its amount, or at one in its advice?"""
    others = finding.alternatives if finding.advice else ()
    return any(each.is_bound for each in (finding, *others))


def amount_text(prediction: Prediction) -> str:
    """What is expected, or the bound: "175 µs", "≤ 800 µs", "no gain"."""
    if prediction.is_bound:
        return f"≤ {format_duration(prediction.high_ns, 'up')}"
    if prediction.is_loss or _is_nothing(prediction):
        return NO_GAIN
    return format_duration(prediction.expected_ns)


def interval_text(prediction: Prediction | None) -> str:
    """From the least to the most that may be saved: "81.0 to 243 µs"; "" for a bound or no number.

    What may cost time is named so: "138 µs slower to 27.4 µs faster", "20.0 to 138 µs slower".
    """
    if prediction is None or prediction.is_bound or _is_nothing(prediction):
        return ""
    low, high = prediction.low_ns, prediction.high_ns
    if low >= 0:
        return format_durations(low, high)
    if high < 0:
        return f"{format_durations(-high, -low)} slower"
    most = f"{format_duration(high)} faster" if high else NO_GAIN
    return f"{format_duration(-low)} slower to {most}"


def basis_text(prediction: Prediction | None, change: Change | None = None) -> str:
    """What the number rests on, in a sentence; "" where there is none.

    Args:
        prediction: of what is at stake.
        change: that it is of; None: it has no name.
    """
    if prediction is None:
        return ""
    if prediction.is_bound:
        return f"At most {format_duration(prediction.high_ns, 'up')}: {prediction.reason}."
    if _is_nothing(prediction):
        if prediction.basis != "simulated":
            return "It costs nothing here."
        return f"{_replay(prediction, change)} saves nothing: something else is the limit here."
    interval = f"{amount_text(prediction)} ({interval_text(prediction)})"
    longer = format_duration(-prediction.expected_ns)
    slower = f"the step {longer} longer ({interval_text(prediction)})"
    if prediction.basis == "measured_by_sibling" and prediction.is_loss:
        return f"Measured: {prediction.reason} beside this run makes {slower}."
    if prediction.basis == "measured_by_sibling":
        return f"Measured: {prediction.reason} beside this run saves {interval}."
    if prediction.basis == "measured":
        return f"From {interval_text(prediction)}."
    if prediction.is_loss:
        return f"{_replay(prediction, change)} makes {slower}: something else is the limit here."
    late = ""
    if prediction.late_work_ns > 0:
        late = (
            f", {format_duration(prediction.late_work_ns)} of it of what the late rank works more"
        )
    return f"{_replay(prediction, change)} saves {interval}{late}."


def _replay(prediction: Prediction, change: Change | None) -> str:
    """What was replayed: what got slower has no change of its own, but the baseline's times."""
    replay = "A replay with this change"
    if change is not None and change.lever == "like_baseline":
        replay = "A replay with these parts as fast as in the baseline"
    if prediction.clock == "unprofiled":
        return replay
    return f"On the profiler's clock, which slows the host, {uncapitalised(replay)}"


def _is_nothing(prediction: Prediction) -> bool:
    return prediction.low_ns == prediction.high_ns == 0


def pace_text(pace: float) -> str:
    """How a finding's times differ from those of its kernels in the trace; "" where they do not.

    Args:
        pace: by which these were brought to the unprofiled step.
    """
    factor = f"{pace:.3g}"
    if factor == "1":
        return ""
    there = "longer" if pace < 1 else "shorter"
    return (
        f"The time per step is brought to the unprofiled step by × {factor}: in the trace it is "
        f"{there}."
    )


def evidence_text(finding: Finding) -> str:
    """What was measured, on which clock, and what the number beside it rests on."""
    basis = basis_text(finding.prediction, finding.change)
    return " ".join(filter(None, (finding.evidence, pace_text(finding.pace), basis)))


def advice_text(finding: Finding) -> str:
    """What to try, and what else would win of the same time; against what would not pay.

    "" of one without advice: what could be done instead of it has nothing to stand beside.
    """
    if not finding.advice:
        return ""
    # That it does not pay is said by its number, and why by its evidence: not a third time.
    advice = finding.advice
    sentences = [f"Considered: {uncapitalised(advice)}" if _loses(finding) else advice]
    for other in finding.alternatives:
        if _loses(other):
            sentences.append(_advised_against(other))
            continue
        amount = "" if other.prediction is None else f" ({amount_text(other.prediction)})"
        sentences.append(f"Or, instead of that{amount}: {uncapitalised(other.advice)}")
    return " ".join(sentences)


def _loses(finding: Finding) -> bool:
    prediction = finding.prediction
    if prediction is None or finding.key in _HOLDS_ANYWAY:
        return False
    replayed_for_nothing = _is_nothing(prediction) and prediction.basis == "simulated"
    return prediction.is_loss or replayed_for_nothing


def _advised_against(finding: Finding) -> str:
    return f"This would not pay here: {uncapitalised(finding.advice)}"
