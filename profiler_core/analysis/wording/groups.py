"""Evidence, confidence and kind of a group, said to somebody who does not know the ledger."""

from collections.abc import Mapping, Sequence

from profiler_core.analysis.handed_more import HandedMore
from profiler_core.analysis.kernel_names import kernel_labels
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger
from profiler_core.analysis.ranks.job_ledger import JobLedger
from profiler_core.analysis.wording.sentence import listed
from profiler_core.units import format_count, format_duration, format_per_step, format_share

OTHER_WORKLOADS = (
    "These are different workloads: a group joins what looks most alike, and says nothing of what "
    "compiling did."
)

_MOST_KERNELS = 3  # of a side, in a sentence
_LONGEST_NAME = 60  # characters

_SURE = {
    "high": "This match is sure",
    "medium": "This match is likely",
    "low": "This match is a guess",
    "undecidable": "This match is one of several that explain the kernels equally well",
}
_KNOWN_BY = {
    "logs": "the compiler's structured logs",
    "shapes": "shapes and names of operators and kernels, without the compiler's logs",
    "names": "names of kernels and their order alone",
}
_EVIDENCE = {
    "operator in order": "the same operator stands at the same place in both programs",
    "operator and shapes": "operator and input shapes are the same on both sides",
    "source line": "both sides come from the same line of the code",
    "composite": "the compiler is known to make one of the other",
    "optimizer step": "both are the optimizer's step",
    "exchange between ranks": "both are what the ranks exchange in a step",
    "kernel name": "the compiled kernel's name lists these operators",
    "unlike equal layers": "equal layers of the model have another group at this place",
    "position": "both stand between the same neighbours, the only hint there is",
}
_KINDS = {
    "removed": "The candidate no longer runs a kernel for this.",
    "only in the candidate": "Only the candidate runs this: a cost that compiling brings along.",
    "unmatched": "Its counterpart on the other side could not be identified.",
}


def how_known(group: FusionGroup) -> str:
    """For instance: This match is sure: both sides come from the same line of the code."""
    reasons = [_EVIDENCE.get(evidence, evidence) for evidence in group.evidence]
    if not reasons:
        return f"{_SURE[group.confidence]}."
    return f"{_SURE[group.confidence]}: {'; '.join(reasons)}."


def confidence_of(folded: FoldedGroup) -> str:
    """For instance: low to high confidence, of the least sure match to the surest."""
    confidences = list(folded.confidences)
    words = " to ".join(dict.fromkeys((confidences[0], confidences[-1])))
    return words if confidences == ["undecidable"] else f"{words} confidence"


def how_known_of_all(folded: FoldedGroup) -> str:
    """For instance: Of all 11 matches 9 are of high confidence and 2 are of low confidence.

    "" where all are of one.
    """
    if len(folded.confidences) < 2:
        return ""
    grades = [
        f"{format_count(n)} {'is' if n == 1 else 'are'} "
        + (each if each == "undecidable" else f"of {each} confidence")
        for each, n in reversed(folded.confidences.items())
    ]
    return f"Of all {format_count(len(folded.groups))} matches {listed(grades)}."


def what_slows(group: FusionGroup) -> str:
    """The kernels that make a group slower, with their times per step; "" where it is not slower.

    For instance: In place of copy_kernel (11.7 µs) runs triton_poi_fused__to_copy_0 (29.9 µs).
    """
    if group.kind != "matched" or group.became != "slower":
        return ""
    before, after = (
        {kernel.name: group.per_step(kernel.time_ns, side) for kernel in of_side.kernels}
        for side, of_side in enumerate((group.baseline, group.candidate))
    )
    names = list(dict.fromkeys((*before, *after)))
    label_of = dict(zip(names, kernel_labels(names, _LONGEST_NAME), strict=True))
    grown_ns = {name: after[name] - before[name] for name in before if name in after}
    if 2 * sum(grown_ns.values()) >= group.delta_ns:
        grown = sorted((name for name in grown_ns if grown_ns[name] > 0), key=grown_ns.__getitem__)
        slowest = grown[: -_MOST_KERNELS - 1 : -1]
        kernels = listed([f"{label_of[name]} ({_change(group, name)})" for name in slowest])
        if len(slowest) == 1:
            return f"A kernel that runs on both sides takes longer: {kernels}."
        return f"Kernels that run on both sides take longer: {kernels}."
    gone = {name: ns for name, ns in before.items() if name not in after}
    new = {name: ns for name, ns in after.items() if name not in before}
    place = f"In place of {_with_times(gone, label_of)}" if gone else "Beside the same kernels"
    return f"{place} {'runs' if len(new) == 1 else 'run'} {_with_times(new, label_of)}."


def _change(group: FusionGroup, name: str) -> str:
    """Time of a kernel of both sides per step, and its calls where these differ."""
    sides = [
        (group.per_step(kernel.time_ns, side), group.per_step(kernel.n, side))
        for side, of_side in enumerate((group.baseline, group.candidate))
        for kernel in of_side.kernels
        if kernel.name == name
    ]
    (before_ns, n_before), (after_ns, n_after) = sides[0], sides[-1]
    times = f"{format_duration(before_ns)} → {format_duration(after_ns)}"
    calls = f"{format_per_step(n_before)} → {format_per_step(n_after)} calls"
    return times if n_before == n_after else f"{times}, {calls}"


def _with_times(kernels: Mapping[str, float], label_of: Mapping[str, str]) -> str:
    """The slowest kernels with their times, and what the others take together."""
    slowest = sorted(kernels.items(), key=lambda kernel: -kernel[1])
    entries = [f"{label_of[name]} ({format_duration(ns)})" for name, ns in slowest[:_MOST_KERNELS]]
    if rest := [ns for _, ns in slowest[_MOST_KERNELS:]]:
        entries.append(f"{format_count(len(rest))} more ({format_duration(sum(rest))})")
    return listed(entries)


def beside_sentence(shares: Mapping[str, float]) -> str:
    """Of a job's kernels, why their times may differ by no more than what runs beside them.

    For instance: Collectives run beside 74 % of its time in eager and 95 % in default, in calls of
    kernels and shapes of which none runs without one: what these cost alone is not known, and a
    difference may be that more of a call lies beside one.

    Args:
        shares: label of a run -> of the time there; without runs where it is no matter.
    """
    if not shares:
        return ""
    first, *others = shares
    times = [f"{format_share(shares[first])} of its time in {first}"]
    times += [f"{format_share(shares[run])} in {run}" for run in others]
    return (
        f"Collectives run beside {listed(times)}, in calls of kernels and shapes of which none "
        "runs without one: what these cost alone is not known, and a difference may be that more "
        "of a call lies beside one."
    )


def slower_on_one_rank(labels: Sequence[str], job: JobLedger, title: str) -> list[str]:
    """What one rank needs more for the groups of a title, of each run where it does.

    For instance: On rank 1 the 24 groups “linear” take 12.5 ms per step in default, 5.75 ms more
    than the median of the others.

    Args:
        labels: of baseline and candidate.
        job: the groups on all ranks.
        title: of the group.
    """
    sentences = []
    for side, label in enumerate(labels):
        for slower in job.slower(side):
            if slower.title != title:
                continue
            which = f"the {slower.n} groups “{title}” take" if slower.n > 1 else "it takes"
            spread = slower.spread
            sentences.append(
                f"On rank {spread.slowest} {which} {format_duration(spread.most_ns)} per step in "
                f"{label}, {format_duration(spread.excess_ns)} more than the median of the others."
            )
    return sentences


def handed_sentence(more: HandedMore) -> str:
    """For instance: aten::mm is handed 8×1024 f32, in the baseline 8×1000 f32."""
    what = f"an attention mask of {more.after}" if more.is_mask else more.after
    beside = f"in the baseline {more.before}" if more.before else "which the baseline leaves out"
    return f"{more.operator} is handed {what}, {beside}."


def how_ledger_knows(ledger: FusionLedger) -> str:
    """For instance: Matched by the compiler's structured logs."""
    matched = f"Matched by {_KNOWN_BY[ledger.known_by]}"
    return "; ".join(part for part in (matched, _undecidable(ledger)) if part) + "."


def undecidable_sentence(ledger: FusionLedger) -> str:
    """How much of the runs' time other groups explain equally well; "" where none is."""
    text = _undecidable(ledger)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _undecidable(ledger: FusionLedger) -> str:
    shares = (ledger.undecidable_baseline, ledger.undecidable_candidate)
    if not any(shares):
        return ""
    before, after = map(format_share, shares)
    return (
        f"for {before} of the baseline's and {after} of the candidate's time another "
        "group would explain the kernels equally well"
    )


def what_kind(group: FusionGroup) -> str:
    """Why a group has only one side."""
    return _KINDS.get(group.kind, group.kind)
