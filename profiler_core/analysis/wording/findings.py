"""What a finding has at stake and what to do, as the page, reports, terminal and agents say it."""

from profiler_core.analysis.finding_rules.facts import Finding
from profiler_core.units import format_duration


def stake_text(finding: Finding) -> tuple[str, str]:
    """(amount, of what): ("≤ 800 µs", "per step"); an en dash where there is no number."""
    if finding.at_stake_ns is not None:
        bound = "≤ " if finding.is_bound else ""
        return bound + format_duration(finding.at_stake_ns), "per step"
    if finding.one_off_ns is not None:
        return format_duration(finding.one_off_ns), "once"
    return "–", "to know" if finding.weight == "note" else ""


def advice_text(finding: Finding) -> str:
    """What to try, and what else would win of the same time."""
    sentences = [finding.advice]
    for other in finding.alternatives:
        bound = other.at_stake_ns
        amount = "" if bound is None else f" (≤ {format_duration(bound)})"
        sentences.append(f"Of the same time and not on top{amount}: {other.advice}")
    return " ".join(sentences)
