"""Findings about memory: bandwidth that is reached already, and capacity that is nearly used."""

import numpy as np

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.ledger.bandwidth import bandwidth, is_outpaced
from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger
from profiler_core.analysis.ranks.share_beside import is_cost_unknown, share_of
from profiler_core.analysis.span import spanned
from profiler_core.units import format_bytes, format_duration, format_share_of

# Reserved beyond allocated: 10 to 18 % on every sample, half of which empty_cache would give back.
_UNUSED = 0.3
# A small run that reserves too much hurts nobody.
_WORTH_A_WORD = 0.25  # of the device


def memory_roof(facts: Facts) -> Finding | None:
    """Groups that move their bytes as fast as the memory can: only fewer bytes would help."""
    if facts.ledger is None or facts.peaks is None or not facts.on_gpu:
        return None
    ledger = facts.ledger
    numbers = [
        number
        for number, group in enumerate(ledger.groups)
        if group.kind == "matched"
        and _at_roof(facts, group)
        and not _is_beside_collectives(facts, ledger, number)
    ]
    at_roof = [ledger.groups[number] for number in numbers]
    time = sum(group.candidate_step_ns for group in at_roof)
    if time < 0.1 * facts.step_ns:
        return None
    best = max(at_roof, key=lambda group: group.candidate.time_ns)
    fastest = bandwidth(best.candidate, best.n_steps[1], facts.peaks)
    speed = fastest.bytes_per_s if fastest else 0.0
    return Finding(
        key="memory_roof",
        title=f"Part of the {spanned(facts.span)} is at the memory's limit already.",
        evidence=f"{len(at_roof)} groups, {format_duration(time)} {facts.span}; {best.title}: "
        f"{format_bytes(speed)}/s of {format_bytes(facts.peaks.memory_bytes_per_s)}/s "
        f"({format_share_of(speed, facts.peaks.memory_bytes_per_s)}). The device's memory, not its "
        f"cache: such a kernel moves more than {facts.peaks.name}'s L2 holds "
        f"({format_bytes(facts.peaks.l2_bytes)}).",
        advice="Nothing to gain from other kernels here; only smaller types or more fusion help.",
        page="fusion",
        weight="note",
        items=facts.group_items(
            sorted(numbers, key=lambda number: -ledger.groups[number].candidate.time_ns)
        ),
    )


def _at_roof(facts: Facts, group: FusionGroup) -> bool:
    before, after = (
        bandwidth(side, n, facts.peaks)
        for side, n in zip((group.baseline, group.candidate), group.n_steps, strict=True)
    )
    if after is None or not after.at_peak:
        return False
    return before is None or not is_outpaced(
        after.bytes_moved, after.bytes_per_s, before.bytes_moved, before.bytes_per_s
    )


def _is_beside_collectives(facts: Facts, ledger: FusionLedger, number: int) -> bool:
    """Is the time of a group in the candidate not its own, as in its dossier?"""
    if facts.shares_beside is None:
        return False
    rows = np.flatnonzero(ledger.candidate_group == number)
    return is_cost_unknown(share_of(rows, facts.shares_beside, facts.trace))


def memory_limit(facts: Facts) -> Finding | None:
    """The peak is close to what the device has."""
    peak, capacity = facts.summary.memory.peak_reserved_bytes, facts.summary.device.memory_bytes
    if peak is None or not capacity or peak < 0.9 * capacity:
        return None
    return Finding(
        key="memory_limit",
        title="Memory is nearly used up.",
        evidence=f"{format_bytes(peak)} of {format_bytes(capacity)} reserved at the peak "
        f"({format_share_of(peak, capacity)}).",
        advice="Lower the batch, checkpoint activations, or set "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
        page="memory",
        weight="note",
    )


def fragmentation(facts: Facts) -> Finding | None:
    """Much more is reserved at the peak than was ever allocated, and no CUDA graph holds it."""
    memory, capacity = facts.summary.memory, facts.summary.device.memory_bytes
    reserved, allocated = memory.peak_reserved_bytes, memory.peak_allocated_bytes
    if not reserved or allocated is None or not capacity or facts.summary.n_graph_launches:
        return None
    unused = reserved - allocated
    if unused < _UNUSED * reserved or reserved < _WORTH_A_WORD * capacity:
        return None
    return Finding(
        key="fragmentation",
        title="The allocator holds much more than tensors ever needed.",
        evidence=f"{format_bytes(reserved)} reserved and {format_bytes(allocated)} allocated at "
        f"their peaks: {format_bytes(unused)} ({format_share_of(unused, reserved)}) lie between.",
        advice="Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or keep sizes alike from "
        "step to step. Where the free blocks lie is shown of a run with a memory snapshot.",
        page="memory",
        weight="note",
    )


PLACE = 180
RULES: tuple[Rule, ...] = (memory_roof, memory_limit, fragmentation)
