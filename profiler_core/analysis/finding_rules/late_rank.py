"""Communication that nothing hides: time in which a rank waits for others."""

from profiler_core.analysis.finding_rules.facts import LEAST_SHARE, Facts, Finding, Rule
from profiler_core.units import format_duration


def late_rank(facts: Facts) -> Finding | None:
    """A collective lasts from this rank's arrival to the last one's: most of it may be waiting."""
    exposed = facts.pace * facts.summary.exposed_communication_ns / facts.n_steps
    if not facts.on_gpu or exposed < LEAST_SHARE * facts.step_ns:
        return None
    whole = facts.per_step(facts.kernels("communication"))
    return Finding(
        key="late_rank",
        title="The device waits for other ranks.",
        evidence=f"{format_duration(exposed)} per step ({facts.share_text(exposed)}) are "
        f"communication beside which nothing is computed, of {format_duration(whole)} in "
        "collectives. A collective ends when the last rank has come: at most all of it is "
        "waiting.",
        advice="Ranks says which one comes last and for how long the others wait; balance its "
        "work, or see what slows its host. If all come at once, hide the exchange (larger "
        "buckets, no_sync while gradients accumulate).",
        page="ranks",
        at_stake_ns=exposed,
        at_most=True,
    )


RULES: tuple[Rule, ...] = (late_rank,)
