"""Findings that hardware counters prove: how much less per step moves through the memory."""

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.units import format_bytes, format_change_between, format_count

# Of the baseline's traffic; two passes of one program differ by about 1 % (L2 keeps other lines).
_WORTH_A_WORD = 0.03


def dram_traffic(facts: Facts) -> Finding | None:
    """Fires where Nsight Compute measured both runs, and groups of fewer kernels move less."""
    measured, ledger = facts.measured, facts.ledger
    if measured is None or ledger is None or not measured.both_joined:
        return None
    before, after = (None if totals is None else totals.dram_bytes for totals in measured.totals)
    if not before or after is None:
        return None
    saved, n_groups = 0.0, 0
    for number, group in enumerate(ledger.groups):
        kernels = [
            # Counters are of one step that has it, and ncu sees no copies.
            group.per_own_step(side.n_kernels, side_number)
            for side_number, side in enumerate((group.baseline, group.candidate))
        ]
        baseline, candidate = (measured.of(number, side) for side in (0, 1))
        if group.kind not in ("matched", "removed") or kernels[1] >= kernels[0] or baseline is None:
            continue
        moved = baseline.dram_bytes, candidate.dram_bytes if candidate is not None else 0.0
        if moved[0] is not None and moved[1] is not None and (candidate or not kernels[1]):
            saved += moved[0] - moved[1]
            n_groups += 1
    if saved < _WORTH_A_WORD * before:
        return None
    return Finding(
        key="dram_traffic",
        title=f"Fusion removed {format_bytes(saved)} of DRAM traffic {facts.span}.",
        evidence=f"Measured by Nsight Compute in both runs: {format_count(n_groups)} groups of "
        f"operators that fewer kernels compute now. The whole step: {format_bytes(before)} → "
        f"{format_bytes(after)} ({format_change_between(before, after)}).",
        advice="Nothing to do for these; look on the fusion page for groups that still move most.",
        page="fusion",
        weight="note",
    )


PLACE = 200
RULES: tuple[Rule, ...] = (dram_traffic,)
