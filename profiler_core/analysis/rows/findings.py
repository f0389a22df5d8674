"""What stands out, as rows: in words, with what is at stake beside it."""

from collections.abc import Iterable
from dataclasses import dataclass

from profiler_core.analysis.finding_overlaps import overlaps
from profiler_core.analysis.findings import GRAVE, Finding
from profiler_core.analysis.wording.findings import (
    advice_text,
    evidence_text,
    interval_text,
    overlap_text,
    stake_text,
)


@dataclass(frozen=True)
class FindingRow:
    """One finding as it is shown."""

    title: str
    evidence: str
    advice: str
    amount: str  # at stake: "≤ 800 µs"
    unit: str  # "per step"
    page: str  # where it shows
    is_grave: bool  # wrong results, or a loss against the baseline
    overlaps: str = ""  # with which other findings its stake does not add up
    interval: str = ""  # of the amount: "81 to 243 µs"; empty for a bound


def finding_rows(findings: Iterable[Finding] | None) -> tuple[FindingRow, ...]:
    """In the order given; none for None."""
    listed_findings = tuple(findings or ())
    shared = overlaps(listed_findings)
    return tuple(
        FindingRow(
            finding.title,
            evidence_text(finding),
            advice_text(finding),
            *stake_text(finding),
            finding.page,
            finding.weight in GRAVE,
            overlap_text([listed_findings[position] for position in others]),
            interval_text(finding.prediction),
        )
        for finding, others in zip(listed_findings, shared, strict=True)
    )
