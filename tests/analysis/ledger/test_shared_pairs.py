"""Every pair of the larger captures: exact sums, coverage, no giant groups."""

import pytest

from profiler_core.analysis.ledger.folding import fold
from tests.analysis.ledger.pairs import CAPTURES, INFERENCE, SAME_KIND, TRAINING, ledger, side
from tests.analysis.ledger.test_ledger import assert_adds_up

DEEP = ("resnet50_b32", "bert", "resnet50_train")


@pytest.mark.parametrize(("baseline", "candidate"), INFERENCE + TRAINING + SAME_KIND)
@pytest.mark.parametrize("logs", [True, False])
def test_sums_to_the_nanosecond(baseline, candidate, logs):
    result = ledger(CAPTURES / baseline, CAPTURES / candidate, logs)
    assert_adds_up(result, side(CAPTURES / baseline, logs), side(CAPTURES / candidate, logs))


@pytest.mark.parametrize(("baseline", "candidate"), INFERENCE + TRAINING + SAME_KIND)
def test_coverage_with_structured_logs(baseline, candidate):
    result = ledger(CAPTURES / baseline, CAPTURES / candidate)
    assert result.coverage_baseline >= 0.99
    assert result.coverage_candidate >= 0.99
    if candidate.startswith(DEEP):
        for group in result.of_kind("matched"):
            assert group.baseline.time_ns <= 0.15 * result.baseline_ns
            assert group.candidate.time_ns <= 0.15 * result.candidate_ns


@pytest.mark.parametrize(("baseline", "candidate"), INFERENCE + TRAINING + SAME_KIND)
def test_coverage_without_structured_logs(baseline, candidate):
    result = ledger(CAPTURES / baseline, CAPTURES / candidate, logs=False)
    assert result.coverage_baseline >= 0.85
    assert result.coverage_candidate >= 0.85
    for group in result.of_kind("matched"):
        assert group.evidence


def test_training_is_not_joined_across_phases():
    result = ledger(CAPTURES / TRAINING[0][0], CAPTURES / TRAINING[0][1])
    phases = dict.fromkeys(("forward", "backward", "update"), 0)
    for group in result.of_kind("matched"):
        phases[group.phase] += group.baseline.time_ns
        both = (*group.baseline.operators, *group.candidate.operators)
        # A generated kernel of the forward may be named after the mask that it saves.
        names = " ".join(op.op for op in both if op.op.startswith("aten::"))
        assert group.phase == "backward" or "_backward" not in names, group
        if "_foreach" in names:
            assert group.phase == "update"
    assert all(time_ns > 0.02 * result.baseline_ns for time_ns in phases.values())


def test_repeated_blocks_of_a_training_step_give_equal_groups():
    """ResNet-50's 16 bottlenecks: 48 backward convolutions of three lines, each line 16 equal."""
    result = ledger(CAPTURES / TRAINING[0][0], CAPTURES / TRAINING[0][1])
    shown = fold(result.groups)
    assert len(shown) < 0.35 * len(result.groups)
    for line in ("resnet.py:146", "resnet.py:150", "resnet.py:154"):
        groups = [
            one
            for one in shown
            if one.phase == "backward"
            and one.first.sources[:1]
            and one.first.sources[0][0] == line
            and {op.op for op in one.first.baseline.operators} == {"aten::convolution_backward"}
        ]
        assert sum(len(one.groups) for one in groups) == 16
