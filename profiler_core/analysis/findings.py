"""What stands out in a run: each finding with evidence, what is at stake, and what to try.

Order: wrong results, then a loss against the baseline, then by time at stake a step, notes last.
A rule is a function Facts -> Finding | None in `finding_rules`; nothing here reads files.
"""

from profiler_core.analysis.finding_rules import compiler, host, memory, outcome, precision
from profiler_core.analysis.finding_rules.facts import Facts, Finding

__all__ = ["RULES", "Facts", "Finding", "findings"]

RULES = (*outcome.RULES, *precision.RULES, *host.RULES, *compiler.RULES, *memory.RULES)

_ORDER = {"first of all": 0, "first": 1, "by time": 2, "note": 3}


def findings(facts: Facts) -> tuple[Finding, ...]:
    """All that fire, most important first."""
    found = [finding for rule in RULES if (finding := rule(facts)) is not None]
    return tuple(sorted(found, key=lambda one: (_ORDER[one.weight], -(one.at_stake_ns or 0.0))))
