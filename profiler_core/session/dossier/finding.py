"""The dossier of a finding: what is at stake, what to try, and each piece of its evidence."""

from collections.abc import Iterable, Sequence

from profiler_core.analysis.dossier.record import (
    Dossier,
    Related,
    Relation,
    RelationKind,
    StandsOut,
)
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.item import Item, ItemKind, finding_item, kernel_item
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.rows.findings import FindingRow, finding_rows
from profiler_core.analysis.wording.findings import NO_GAIN
from profiler_core.analysis.wording.sentence import capitalised
from profiler_core.errors import FusionscopeError, NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.breaks import break_of, skip_of
from profiler_core.session.dossier.common import pair_of_run, related_group, slowest_first
from profiler_core.session.dossier.rank import related_rank

_RELATIONS: dict[ItemKind, RelationKind] = {
    "group": "became", "kernel": "kernels", "operator": "operators", "break": "breaks",
    "skip": "skips", "rank": "ranks",
}  # fmt: skip


def finding_dossier(comparison: Comparison, item: Item) -> Dossier:
    """One finding of a candidate, or of a run alone.

    Raises:
        NothingToAnalyse: nothing of that key stands out in these runs.
    """
    run = item.run
    every = findings_of(comparison, run) if run is not None else ()
    place = next(
        (n for n, each in enumerate(every) if finding_item(run or 0, each.key) == item), -1
    )
    if run is None or place < 0:
        raise NothingToAnalyse(
            "This finding is not among those of these runs.",
            remedy="Choose the runs that the link was made for.",
        )
    finding, row = every[place], finding_rows(every)[place]
    stake = " ".join(filter(None, (row.amount if row.amount != "–" else "", row.unit)))
    interval = f" ({row.interval})" if row.interval else ""
    return Dossier(
        item=item,
        kind="finding",
        title=finding.title,
        answer=_answer(row, f"{stake}{interval}", comparison.in_run(run)),
        about=tuple(filter(None, (row.evidence, row.advice, row.overlaps))),
        relations=tuple(_evidence(comparison, run, finding)),
        page=finding.page,
        filters=finding.filters,
    )


def _answer(row: FindingRow, stake: str, in_run: str) -> str:
    if row.amount in (NO_GAIN, "–"):  # its evidence says why
        return capitalised(f"{in_run.strip()}.") if in_run else ""
    return f"At stake{in_run}: {stake}."


def kernels_of_finding(comparison: Comparison, key: str) -> tuple[Finding, frozenset[Item]] | None:
    """A finding and the kernels that it is about; None: none of that key is about kernels.

    Args:
        comparison: of the runs.
        key: as an address names it, "1.tf32_off".
    """
    item = Item("finding", key)
    for finding in findings_of(comparison, item.run) if item.run is not None else ():
        kernels = frozenset(each for each in finding.items if each.kind == "kernel")
        if kernels and finding_item(item.run or 0, finding.key) == item:
            return finding, kernels
    return None


def findings_of(comparison: Comparison, run: int) -> tuple[Finding, ...]:
    """What stands out in a candidate, or for 0 in the baseline alone; none where it fails."""
    try:
        pair = pair_of_run(comparison, run)
        if pair is None and run:
            return ()
        return (pair.findings if pair is not None else comparison.baseline.alone.findings) or ()
    except FusionscopeError:  # a note of the page's own says it
        return ()


def findings_about(comparison: Comparison, item: Item) -> tuple[StandsOut, ...]:
    """Each finding that names this very thing as evidence, and no other.

    What is of one run by its key has those of that run. Of a name all candidates have it, the one
    that pages show first before the others.
    """
    has_several = item.run is None and len(comparison.pairs) > 1
    if item.run is not None or not comparison.pairs:
        runs = [item.run or 0]
    else:
        first = comparison.asked_or_first(None)
        runs = sorted(range(1, len(comparison.pairs) + 1), key=lambda run: run != first)
    return tuple(
        StandsOut(finding, comparison.labels[run] if has_several else "")
        for run in runs
        for finding in findings_of(comparison, run)
        if item.named in finding.items
    )


def _evidence(comparison: Comparison, run: int, finding: Finding) -> Iterable[Relation]:
    """What the finding is about, a relation for each kind of thing."""
    pair = pair_of_run(comparison, run)
    labels = pair.labels if pair is not None else comparison.labels[:1]
    runs = (0, run) if pair is not None else (0,)
    kernels = {kernel_item(row.name): row for row in comparison.kernels}
    sides = [comparison.traced.index(n) if n in comparison.traced else None for n in runs]
    entries: dict[RelationKind, list[Related]] = {}
    for item in finding.items:
        kind = _RELATIONS.get(item.kind)
        if kind is None:
            continue
        entries.setdefault(kind, []).append(
            _related(comparison, item, kernels.get(item), sides, runs)
        )
    for kind, related in entries.items():
        yield Relation(kind, labels, tuple(slowest_first(related)))


def _related(
    comparison: Comparison,
    item: Item,
    kernel: KernelRow | None,
    sides: Sequence[int | None],
    runs: Sequence[int],
) -> Related:
    """A piece of evidence.

    Args:
        comparison: of the finding.
        item: the piece.
        kernel: of that name; None: it is none of these runs.
        sides: of the shown runs, places in the kernel's row; None: the run has no trace.
        runs: these runs' places in the comparison.
    """
    if kernel is not None:
        times = (None if side is None else kernel.time_ns(side) or None for side in sides)
        return Related(kernel.name, item, "", tuple(times))
    run, number = item.numbers or (0, 0)
    pair = pair_of_run(comparison, run)
    if item.kind == "group" and pair is not None and number < len(pair.ledger.groups):
        return related_group(pair, number)
    if item.kind == "break" and (broken := break_of(comparison, item)) is not None:
        cost = (*(None for _ in sides[1:]), broken.cost_ns)
        return Related(broken.title, item, broken.event.reason, cost)
    if item.kind == "rank" and (of_rank := related_rank(comparison, item, runs)) is not None:
        return of_rank
    skip = skip_of(comparison, item) if item.kind == "skip" else None
    title, note = (item.key, "") if skip is None else (skip.title, skip.event.reason)
    return Related(title, item, note, tuple(None for _ in sides))
