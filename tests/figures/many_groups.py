"""A made-up ledger of as many groups as wanted, all of them different; for sizes and speed."""

import numpy as np

from profiler_core.analysis.ledger.result import (
    FusionGroup,
    FusionLedger,
    GroupSide,
    KernelTime,
    OperatorTime,
)

_CATEGORIES = ("gemm", "conv", "elementwise", "norm", "reduction", "copy")


def many_groups(n: int, *, n_steps: int = 5) -> FusionLedger:
    """Times fall from about 1 ms to some microseconds, as they do in a large model."""
    groups = tuple(_group(number, n_steps) for number in range(n))
    return FusionLedger(
        groups=groups,
        baseline_ns=sum(group.baseline.time_ns for group in groups),
        candidate_ns=sum(group.candidate.time_ns for group in groups),
        n_baseline_steps=n_steps,
        n_candidate_steps=n_steps,
        step_classes=(),
        baseline_group=np.zeros(0, dtype=np.int32),
        candidate_group=np.zeros(0, dtype=np.int32),
        baseline_undecided=np.zeros(0, dtype=np.bool_),
        candidate_undecided=np.zeros(0, dtype=np.bool_),
    )


def _group(number: int, n_steps: int) -> FusionGroup:
    before = 1_000_000 // (1 + number % 977) + 2_000 + number
    after = before * (40 + number % 70) // 100
    category = _CATEGORIES[number % len(_CATEGORIES)]
    left = KernelTime(f"kernel_{number}", category, 2 * n_steps, before * n_steps)
    name = f"triton_poi_fused_{number}"
    right = KernelTime(name, "triton_pointwise", n_steps, after * n_steps)
    return FusionGroup(
        kind="matched",
        phase="forward",
        baseline=GroupSide(
            (OperatorTime(f"aten::op_{number}", n_steps, 2 * n_steps, before * n_steps),),
            (left,),
            2 * n_steps,
            before * n_steps,
        ),
        candidate=GroupSide(
            (OperatorTime(name, n_steps, n_steps, after * n_steps),),
            (right,),
            n_steps,
            after * n_steps,
        ),
        sources=((f"model.py:{number}", f"x = op_{number}(x)"),),
        module=f"layers.{number // 40}.block.{number % 40}",
        evidence=("source line",),
        n_steps=(n_steps, n_steps),
        class_steps=(n_steps, n_steps),
    )
