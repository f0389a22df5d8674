"""The explanation part of `compare`: waterfall, fusion ledger and findings of each candidate."""

from collections.abc import Sequence

from profiler_core.analysis.compare import CandidateComparison
from profiler_core.analysis.explanation import Explanation
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.waterfall import Waterfall
from profiler_core.analysis.wording.findings import stake_text
from profiler_core.cli.table import shorten, table
from profiler_core.units import format_difference, format_duration, format_share

_TOP = 5  # findings in the text; --json has all
_WIDTH = 100


def explanation_text(explanation: Explanation, c: CandidateComparison) -> list[str]:
    """Paragraphs for the terminal: the waterfall, what fusion covers, the first findings."""
    parts = []
    if explanation.waterfall is not None:
        parts.append(_waterfall(explanation.waterfall, c))
    if explanation.ledger is not None:
        matched = sum(1 for _ in explanation.ledger.of_kind("matched"))
        parts.append(
            f"Fusion: {matched} {'group places' if matched == 1 else 'groups place'} "
            f"{format_share(explanation.ledger.coverage_baseline)} of {c.baseline_label}'s and "
            f"{format_share(explanation.ledger.coverage_candidate)} of {c.label}'s time "
            "(--json has them)."
        )
    parts.extend(findings_text(explanation.findings))
    return parts


def findings_text(findings: Sequence[Finding] | None) -> list[str]:
    """The first findings in one paragraph; none where nothing stands out."""
    if not findings:
        return []
    lines = []
    for finding in findings[:_TOP]:
        stake = stake_text(finding)[0] if finding.at_stake_ns is not None else "–"
        evidence = shorten(finding.evidence.replace("\n", " "), _WIDTH)
        lines.append(f"{stake:>9}  {finding.title}\n{'':11}{evidence}")
    n_left_out = len(findings) - _TOP
    if n_left_out > 0:
        lines.append(f"{'':11}and {n_left_out} more (--json)")
    return ["\n".join(["at stake per step, what stands out", *lines])]


def _waterfall(result: Waterfall, c: CandidateComparison) -> str:
    rows = [
        [
            f"{'≈ ' if row.estimated else ''}{row.label}",
            format_duration(row.baseline_ns),
            format_duration(row.candidate_ns),
            format_difference(row.delta_ns) if row.delta_ns else "",
        ]
        for row in result.rows
    ]
    delta = result.candidate_ns - result.baseline_ns
    total = [
        f"step, {result.clock}",
        format_duration(result.baseline_ns),
        format_duration(result.candidate_ns),
        format_difference(delta) if delta else "",
    ]
    return table(["where a step goes", c.baseline_label, c.label, "change"], [*rows, total])
