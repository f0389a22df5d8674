"""When two runs that nobody names look like two programs."""

import numpy as np
import pytest

from profiler_core.analysis.explainable import look_unrelated
from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger, GroupSide, KernelTime

NOTHING = np.empty(0, dtype=np.int32)


def a_side(category: str, time_ns: int) -> GroupSide:
    kernels = (KernelTime("of a library", category, 1, time_ns),) if time_ns else ()
    return GroupSide(kernels=kernels, n_events=len(kernels), time_ns=time_ns)


def a_ledger(matched_ns: int, category: str, unmatched_ns: int) -> FusionLedger:
    both, alone = a_side("gemm", matched_ns), a_side(category, unmatched_ns)
    return FusionLedger(
        groups=(
            FusionGroup("matched", "forward", both, both),
            FusionGroup("unmatched", "forward", alone, GroupSide()),
        ),
        baseline_ns=matched_ns + unmatched_ns,
        candidate_ns=matched_ns,
        n_baseline_steps=1,
        n_candidate_steps=1,
        step_classes=(),
        baseline_group=NOTHING,
        candidate_group=NOTHING,
        baseline_undecided=NOTHING,
        candidate_undecided=NOTHING,
    )


@pytest.mark.parametrize(
    ("category", "unmatched_ns", "is_unrelated"),
    [
        ("gemm", 300, True),
        ("gemm", 200, False),
        # A ResNet-50 on one GPU and a rank of it on two were "different programs", by NCCL's 28 %.
        ("communication", 300, False),
    ],
)
def test_work_that_finds_nothing_tells_two_programs_and_exchange_does_not(
    category, unmatched_ns, is_unrelated
):
    told = look_unrelated(a_ledger(700, category, unmatched_ns), ("one", "other"))
    assert bool(told) == is_unrelated
    if is_unrelated:
        assert told == "30 % of the device time of one matches nothing in other"
