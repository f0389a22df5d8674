"""What `compare` says about the why: waterfall, fusion ledger and findings of each candidate."""

from collections.abc import Mapping, Sequence
from typing import Any

from profiler_core.analysis.compare import CandidateComparison
from profiler_core.analysis.explanation import Explanation
from profiler_core.analysis.finding_text import stake_text
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.fusion_json import finding_json, fusion_json, waterfall_json
from profiler_core.analysis.waterfall import Waterfall
from profiler_core.cli.table import shorten, table
from profiler_core.units import format_difference, format_duration, format_share

_TOP = 5  # findings in the text; --json has all
_WIDTH = 100


def explanation_answer(one: Explanation) -> Mapping[str, Any]:
    """`waterfall`, `fusion` and `findings` of docs/json.md."""
    return {
        "waterfall": None if one.waterfall is None else waterfall_json(one.waterfall),
        "fusion": None if one.ledger is None else fusion_json(one.ledger, one.measured),
        "findings": None if one.findings is None else [finding_json(f) for f in one.findings],
    }


def explanation_text(one: Explanation, c: CandidateComparison) -> list[str]:
    """Paragraphs for the terminal: the waterfall, what fusion covers, the first findings."""
    parts = []
    if one.waterfall is not None:
        parts.append(_waterfall(one.waterfall, c))
    if one.ledger is not None:
        matched = sum(1 for _ in one.ledger.of_kind("matched"))
        parts.append(
            f"Fusion: {matched} {'group places' if matched == 1 else 'groups place'} "
            f"{format_share(one.ledger.coverage_baseline)} of {c.baseline_label}'s and "
            f"{format_share(one.ledger.coverage_candidate)} of {c.label}'s time (--json has them)."
        )
    parts.extend(findings_text(one.findings))
    return parts


def findings_text(found: Sequence[Finding] | None) -> list[str]:
    """The first findings in one paragraph; none where nothing stands out."""
    if not found:
        return []
    lines = []
    for finding in found[:_TOP]:
        stake = stake_text(finding)[0] if finding.at_stake_ns is not None else "–"
        evidence = shorten(finding.evidence.replace("\n", " "), _WIDTH)
        lines.append(f"{stake:>9}  {finding.title}\n{'':11}{evidence}")
    more = len(found) - _TOP
    if more > 0:
        lines.append(f"{'':11}and {more} more (--json)")
    return ["\n".join(["at stake a step, what stands out", *lines])]


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
