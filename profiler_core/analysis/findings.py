"""What stands out in a run: each finding with evidence, what is at stake, and what to try.

Order: wrong results, then a loss against the baseline, then by time at stake per step, notes last.
An upper bound counts half: anything from 0 to it may be won, so that an estimate of similar size
goes before it.
A rule is a function Facts -> Finding | None in `finding_rules`; nothing here reads files.
"""

from collections.abc import Iterable

from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.analysis.finding_rules import (
    compiler,
    counters,
    engine,
    host,
    memory,
    outcome,
    precision,
    telemetry,
)
from profiler_core.analysis.finding_rules.facts import Facts, Finding
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.model.run import RunRecord
from profiler_core.model.trace import Trace

__all__ = ["GRAVE", "RULES", "Facts", "Finding", "findings", "ranked", "run_findings"]

RULES = (
    *outcome.RULES,
    *precision.RULES,
    *host.RULES,
    *compiler.RULES,
    *engine.RULES,
    *memory.RULES,
    *telemetry.RULES,
    *counters.RULES,
)

GRAVE = ("first of all", "first")  # weights: wrong results, a loss against the baseline
_ORDER = {"first of all": 0, "first": 1, "by time": 2, "note": 3}


def findings(facts: Facts) -> tuple[Finding, ...]:
    """All that fire, most important first."""
    return ranked(finding for rule in RULES if (finding := rule(facts)) is not None)


def ranked(fired: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same, most important first."""
    return tuple(sorted(fired, key=lambda finding: (_ORDER[finding.weight], -finding.expected_ns)))


def run_findings(
    trace: Trace,
    summary: Summary,
    record: RunRecord,
    compilation: CompilationReport | None = None,
    sampled: RunTelemetry | None = None,
) -> tuple[Finding, ...]:
    """What stands out in one run that nothing is compared with, most important first.

    Rules that need a baseline or the ledger say nothing here.

    Args:
        trace: of the run.
        summary: of that trace.
        record: its run.json; empty for a bare trace.
        compilation: from its logs, where it has any.
        sampled: its telemetry, where it has any.
    """
    return findings(Facts(trace, summary, record, compilation=compilation, telemetry=sampled))
