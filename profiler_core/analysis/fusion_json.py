"""The ledger and the waterfall as plain JSON: `fusion` and `waterfall` of `compare --json`.

Every time is whole ns per step. They are apportioned, so that on either side the groups' times sum
to `baseline_ns` and `candidate_ns` exactly.
"""

from typing import Any

from profiler_core.analysis.apportion import apportion
from profiler_core.analysis.counters.groups import MeasuredLedger
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger
from profiler_core.analysis.waterfall import Waterfall, open_bar


def fusion_json(ledger: FusionLedger, measured: MeasuredLedger | None = None) -> dict[str, Any]:
    """The keys of `fusion` (docs/json.md), and kind, phase and bytes of each group beside them.

    Args:
        ledger: of the pair.
        measured: what hardware counters say of its groups.
    """
    left = apportion({i: group.baseline_step_ns for i, group in enumerate(ledger.groups)})
    right = apportion({i: group.candidate_step_ns for i, group in enumerate(ledger.groups)})

    def total(times: dict[int, int], *kinds: str) -> int:
        return sum(times[i] for i, group in enumerate(ledger.groups) if group.kind in kinds)

    return {
        "coverage_baseline": ledger.coverage_baseline,
        "coverage_candidate": ledger.coverage_candidate,
        "baseline_ns": sum(left.values()),
        "candidate_ns": sum(right.values()),
        "unmatched_baseline_ns": total(left, "unmatched"),
        "unmatched_candidate_ns": total(right, "unmatched"),
        "compiled_only_ns": total(right, "only in the candidate"),
        "n_steps": [ledger.n_baseline_steps, ledger.n_candidate_steps],
        "notes": list(ledger.notes),
        "groups": [
            {
                "kind": group.kind,
                "phase": group.phase,
                "baseline_ops": _operators(group, 0),
                "baseline_kernels": _kernels(group, 0),
                "candidate_ops": _operators(group, 1),
                "candidate_kernels": _kernels(group, 1),
                "baseline_ns": left[i],
                "candidate_ns": right[i],
                "baseline_bytes": _bytes(group, 0),
                "candidate_bytes": _bytes(group, 1),
                "baseline_dram_bytes": _dram_bytes(measured, i, 0),
                "candidate_dram_bytes": _dram_bytes(measured, i, 1),
                "source": [f"{label}: {code}" if code else label for label, code in group.sources],
                "module": group.module,
                "class_steps": list(group.class_steps),
                "notes": list(group.notes),
                "evidence": list(group.evidence),
                "confidence": group.confidence,
            }
            for i, group in enumerate(ledger.groups)
        ],
    }


def waterfall_json(result: Waterfall) -> list[dict[str, Any]]:
    """The rows of `waterfall`; their sides sum to the step times of `clock` exactly.

    A row of device work opens into the groups of `fusion` that it sums up.
    """
    return [
        {
            "class": row.key,
            "label": row.label,
            "baseline_ns": row.baseline_ns,
            "candidate_ns": row.candidate_ns,
            "delta_ns": row.delta_ns,
            "estimated": row.estimated,
            "groups": [
                {
                    "group": part.group,
                    "baseline_ns": part.baseline_ns,
                    "candidate_ns": part.candidate_ns,
                }
                for part in open_bar(row)
            ],
        }
        for row in result.rows
    ]


def finding_json(finding: Finding) -> dict[str, Any]:
    """One entry of `findings`."""
    return {
        "key": finding.key,
        "title": finding.title,
        "evidence": finding.evidence,
        "advice": finding.advice,
        "page": finding.page,
        "at_stake_ns": None if finding.at_stake_ns is None else round(finding.at_stake_ns),
        "at_most": finding.is_bound,
        "one_off_ns": None if finding.one_off_ns is None else round(finding.one_off_ns),
    }


def _operators(group: FusionGroup, side: int) -> list[dict[str, Any]]:
    return [
        {
            "op": operator.op,
            "n": group.per_step(operator.n, side),
            "n_kernels": group.per_step(operator.n_kernels, side),
            "time_ns": round(group.per_step(operator.time_ns, side)),
        }
        for operator in (group.baseline, group.candidate)[side].operators
    ]


def _kernels(group: FusionGroup, side: int) -> list[dict[str, Any]]:
    return [
        {
            "name": kernel.name,
            "category": kernel.category,
            "n": group.per_step(kernel.n, side),
            "time_ns": round(group.per_step(kernel.time_ns, side)),
        }
        for kernel in (group.baseline, group.candidate)[side].kernels
    ]


def _dram_bytes(measured: MeasuredLedger | None, group: int, side: int) -> int | None:
    group_counters = measured.of(group, side) if measured is not None else None
    return (
        None
        if group_counters is None or group_counters.dram_bytes is None
        else round(group_counters.dram_bytes)
    )


def _bytes(group: FusionGroup, side: int) -> int | None:
    moved = (group.baseline, group.candidate)[side].bytes_moved
    return None if moved is None else round(group.per_step(moved, side))
