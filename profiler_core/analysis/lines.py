"""Where the device time of two runs goes by source line, as `modules` divides it by module.

A kernel that computes operators of several lines is divided among them in proportion to what each
took in the baseline; equally where that is not known. The lines of a group have all of its time.
"""

from collections.abc import Mapping

from profiler_core.analysis.ledger.result import FusionGroup, GroupSide

BySide = tuple[float, float]  # ns per step of the baseline's run and of the candidate's


def times_by_line(group: FusionGroup) -> dict[str, BySide]:
    """Line of code -> what it takes of a group on either side; {}: no file says its lines."""
    labels = [label for label, _ in group.sources]
    before = _divided(group.baseline, labels, {})
    after = _divided(group.candidate, labels, before)
    return {
        label: (group.per_step(before[label], 0), group.per_step(after[label], 1))
        for label in labels
    }


def _divided(side: GroupSide, labels: list[str], weights: Mapping[str, float]) -> dict[str, float]:
    """A side's time by line, ns over all steps; of unknown lines it is all lines' of the group."""
    times = dict.fromkeys(labels, 0.0)
    for work in side.lines:
        own = work.labels or labels
        if not any(weights.get(label) for label in own) and any(weights.values()):
            own = tuple(labels)  # it does a part of theirs: a softmax that builds the mask, too
        whole = sum(weights.get(label, 0.0) for label in own)
        for label in own:
            share = weights.get(label, 0.0) / whole if whole else 1 / len(own)
            times[label] += work.time_ns * share
    return times
