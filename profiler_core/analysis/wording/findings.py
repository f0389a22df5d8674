"""What a finding has at stake and what to do, as the page, reports, terminal and agents say it."""

from collections.abc import Sequence

from profiler_core.analysis.finding_overlaps import together
from profiler_core.analysis.finding_rules.facts import Finding
from profiler_core.units import format_duration

_MOST_NAMED = 2


def stake_text(finding: Finding) -> tuple[str, str]:
    """(amount, of what): ("≤ 800 µs", "per step"); an en dash where there is no number."""
    if finding.at_stake_ns is not None:
        bound = "≤ " if finding.is_bound else ""
        return bound + format_duration(finding.at_stake_ns), "per step"
    if finding.one_off_ns is not None:
        return format_duration(finding.one_off_ns), "once"
    return "–", "to know" if finding.weight == "note" else ""


def overlap_text(others: Sequence[Finding]) -> str:
    """Which others draw on the same time; "" where none does."""
    if not others:
        return ""
    titles = [f"“{other.title}”" for other in others[:_MOST_NAMED]]
    further = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    return f"Overlaps with {', '.join(titles)}{further}: the two do not add up."


def together_text(findings: Sequence[Finding]) -> str:
    """What the findings promise together; "" where fewer than two have a number."""
    if sum(finding.at_stake_ns is not None for finding in findings) < 2:
        return ""
    ns, is_bound = together(findings)
    bound = "at most " if is_bound else ""
    return f"Together {bound}{format_duration(ns)} per step: what overlaps counts once."


def advice_text(finding: Finding) -> str:
    """What to try, and what else would win of the same time."""
    sentences = [finding.advice]
    for other in finding.alternatives:
        bound = other.at_stake_ns
        amount = "" if bound is None else f" (≤ {format_duration(bound)})"
        sentences.append(f"Of the same time and not on top{amount}: {other.advice}")
    return " ".join(sentences)
