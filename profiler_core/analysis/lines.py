"""Where the device time of two runs goes by source line, as `modules` divides it by module.

A kernel that computes operators of several lines is divided among them in proportion to what each
took in the baseline, a bias that it adds for a convolution of another group included; equally where
that is not known. The lines of a group have all of its time.
"""

from collections.abc import Mapping, Sequence

from profiler_core.analysis.ledger.result import AddedWork, FusionGroup, GroupSide

BySide = tuple[float, float]  # ns per step of the baseline's run and of the candidate's


def lines_of(group: FusionGroup) -> tuple[tuple[str, str], ...]:
    """(Line, its text) of a group, with those that its kernels add a bias for."""
    added = [source for work in group.adds for source in work.sources] if group.sources else []
    return tuple(dict.fromkeys((*group.sources, *added)))


def times_by_line(group: FusionGroup) -> dict[str, BySide]:
    """Line of code -> what it takes of a group on either side; {}: no file says its lines."""
    labels = [label for label, _ in group.sources]
    before = _divided(group.baseline, labels, {})
    after = _divided(group.candidate, labels, before, group.adds)
    return {
        label: (group.per_step(before.get(label, 0.0), 0), group.per_step(after.get(label, 0.0), 1))
        for label, _ in lines_of(group)
    }


def counted_elsewhere_ns(group: FusionGroup, label: str, counted_ns: float) -> float:
    """What kernels of one line alone take in the candidate, ns per step, and count for others.

    Lines that did their work in the baseline have it: the copy after an attention, which eager's
    attention leaves where it belongs.

    Args:
        group: that has the line.
        label: of the line.
        counted_ns: what counts for it in the candidate, by `times_by_line`.
    """
    own_ns = sum(work.time_ns for work in group.candidate.lines if work.labels == (label,))
    return max(0.0, group.per_step(own_ns, 1) - counted_ns)


def _divided(
    side: GroupSide,
    labels: list[str],
    weights: Mapping[str, float],
    adds: Sequence[AddedWork] = (),
) -> dict[str, float]:
    """A side's time by line, ns over all steps; of unknown lines it is all lines' of the group."""
    times = dict.fromkeys(labels, 0.0)
    added = _added(adds, is_timed=any(weights.values()))
    for work in side.lines:
        own = work.labels or labels
        if not any(weights.get(label) for label in own) and any(weights.values()):
            own = tuple(labels)  # it does a part of theirs: a softmax that builds the mask, too
        parts = {label: weights.get(label, 0.0) for label in own}
        if not any(parts.values()):
            parts = dict.fromkeys(own, 1.0)
        for label, more in added.items():
            parts[label] = parts.get(label, 0.0) + more
        whole = sum(parts.values())
        for label, part in parts.items():
            times[label] = times.get(label, 0.0) + work.time_ns * part / whole
    return times


def _added(adds: Sequence[AddedWork], *, is_timed: bool) -> dict[str, float]:
    """Line -> what the baseline needs for the biases of its convolutions, ns.

    Without times of the group's own lines each work counts 1, as each of these does.
    """
    added: dict[str, float] = {}
    for work in adds:
        for label, _ in work.sources:
            own = work.baseline_ns / len(work.sources) if is_timed else 1.0
            added[label] = added.get(label, 0.0) + own
    return added
