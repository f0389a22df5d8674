"""What a finding has at stake, as text: the page, the report, its Markdown and the terminal."""

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
