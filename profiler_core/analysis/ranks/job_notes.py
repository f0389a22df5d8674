"""What limits the numbers of a job: files, missing ranks, steps; one sentence each."""

from collections.abc import Sequence

from profiler_core.analysis.ranks.rank_summary import RankSummary
from profiler_core.analysis.ranks.rank_time import WHOLE_TRACE
from profiler_core.analysis.wording.sentence import ended

_WITHOUT_STEPS = (
    "No steps are marked in these traces: each counts as one step here, from its first event to "
    "its last, whatever number of steps it holds."
)
_ON_CPU = (
    "The ranks ran on CPUs: compute is the time in which an operator ran, communication that of "
    "the collectives on threads of their own. What these move is not in such traces, so "
    "bandwidths cannot be told."
)


def on_gpu(usable: Sequence[RankSummary]) -> bool:
    """Do all of them have GPU events?"""
    return all(s.on_gpu for s in usable)


def file_notes(summaries: Sequence[RankSummary], usable: Sequence[RankSummary]) -> list[str]:
    """A sentence for each rank whose file could not be read, or only in part."""
    unreadable = [f"Rank {s.rank}, {s.source}: {ended(s.problem)}" for s in summaries if s.problem]
    damaged = [
        f"Rank {s.rank}, {s.source}: the file is damaged ({'; '.join(s.mended)}); its numbers "
        "are of what could be read."
        for s in usable
        if s.mended
    ]
    return unreadable + damaged


def completeness_notes(
    present: set[int], missing: Sequence[int], usable: Sequence[RankSummary]
) -> list[str]:
    """Which ranks are not among those that can be shown."""
    left_out = tuple(sorted(present.difference(s.rank for s in usable)))
    if not usable or not (missing or left_out):
        return []
    return [_missing_note(missing, left_out, len(usable))]


def pairing_notes(
    usable: Sequence[RankSummary], shared_steps: Sequence[str], n_matched_calls: int
) -> list[str]:
    """What times are of without a GPU or steps; why ranks cannot be compared, if they cannot."""
    notes = [] if on_gpu(usable) else [_ON_CPU]
    if WHOLE_TRACE in shared_steps:
        notes.append(_WITHOUT_STEPS)
    if usable and not shared_steps:
        notes.append("The ranks have no step in common, so nothing can be compared between them.")
    elif len(usable) > 1 and not n_matched_calls:
        notes.append("No collective was found on more than one rank: waiting cannot be told.")
    return notes


def _missing_note(missing: Sequence[int], left_out: Sequence[int], n_present: int) -> str:
    """What is not among the ranks that can be shown, and what that costs.

    Args:
        missing: ranks that nobody brought.
        left_out: ranks whose problem another note names.
        n_present: how many can be shown.
    """
    subject = " and ".join(
        f"{_ranks(ranks)} {'is' if len(ranks) == 1 else 'are'} {what}"
        for ranks, what in ((missing, "missing"), (left_out, "left out, as said above"))
        if ranks
    )
    of = f"{n_present} of {n_present + len(missing) + len(left_out)} ranks can be shown; {subject}"
    if n_present < 2:
        return f"{of}: who waits for whom cannot be told."
    return (
        f"{of}. Waiting is told between those that are here: a missing one may "
        "be later still, so it is the least that they wait, and bandwidths cannot be told."
    )


def _ranks(ranks: Sequence[int]) -> str:
    shown = ", ".join(str(rank) for rank in ranks[:8]) + (" …" if len(ranks) > 8 else "")
    return f"rank {shown}" if len(ranks) == 1 else f"ranks {shown}"
