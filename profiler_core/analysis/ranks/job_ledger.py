"""The ledger of a job: what each group of the shown rank takes on every rank.

A rank that launches the same kernels on the same streams in the same order gets the shown rank's
groups kernel by kernel; one that runs the same operators, but with other kernels of a library, as
with another batch, operator by operator. One that does neither (a stage of a pipeline, work that
others do not have) has a ledger of its own, whose groups are laid beside the shown rank's in the
order of the program; what fits none of them is a group of that rank alone. So on every rank the
groups' times sum to its device time. Times are as the work costs alone (`waiting.as_it_costs`), ns
per step.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.ledger.alignment import align
from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger
from profiler_core.analysis.ledger.work_units import host_work
from profiler_core.analysis.work import device_work, host_steps
from profiler_core.model.trace import Trace

_LEAST_SHARE = 0.005  # of a rank's device time, that one rank needs more for groups of one title
Sides = tuple[LedgerSide, LedgerSide]  # baseline, candidate


@dataclass(frozen=True)
class Spread:
    """One side of some groups over the ranks; by_rank: ns per step, of every rank that was read."""

    by_rank: Mapping[int, float]

    @property
    def total_ns(self) -> float:
        """Of all ranks together."""
        return sum(self.by_rank.values())

    @property
    def least_ns(self) -> float:
        """On the rank where it is shortest."""
        return min(self.by_rank.values())

    @property
    def median_ns(self) -> float:
        """The middle rank; of two the mean."""
        return median(self.by_rank.values())

    @property
    def most_ns(self) -> float:
        """On the rank where it is longest."""
        return max(self.by_rank.values())

    @property
    def slowest(self) -> int:
        """The rank where it is longest, the lowest of equal ones."""
        return max(self.by_rank, key=lambda rank: (self.by_rank[rank], -rank))

    @property
    def excess_ns(self) -> float:
        """What the slowest rank needs more than the median of the others."""
        others = [ns for rank, ns in self.by_rank.items() if rank != self.slowest]
        return self.most_ns - median(others) if others else 0.0

    @property
    def is_of_one_rank(self) -> bool:
        """Is no other rank nearly as slow?"""
        others = [ns for rank, ns in self.by_rank.items() if rank != self.slowest]
        return bool(others) and 2 * (max(others) - median(others)) < self.excess_ns


@dataclass(frozen=True)
class JobGroup:
    """A group over all ranks."""

    group: int | None  # its place in the shown rank's ledger; None: only other ranks have it
    title: str
    baseline: Spread
    candidate: Spread


@dataclass(frozen=True)
class JobLedger:
    """The groups of a pair of jobs."""

    ranks: tuple[int, ...]  # that were read
    n_ranks: int  # of the job
    groups: tuple[JobGroup, ...]  # those of the shown rank's ledger in its order, then the others
    own_ledgers: tuple[int, ...]  # ranks whose kernels are not the shown rank's one by one
    notes: tuple[str, ...] = ()

    @property
    def foreign(self) -> tuple[JobGroup, ...]:
        """Groups that the shown rank does not have."""
        return tuple(group for group in self.groups if group.group is None)

    def of_groups(self, numbers: Iterable[int], side: int) -> Spread:
        """Some groups of the shown rank's ledger together; side 0 is the baseline's."""
        chosen = [self.groups[number] for number in numbers]
        return _together([(group.baseline, group.candidate)[side] for group in chosen])

    def slower(self, side: int) -> tuple["SlowerGroups", ...]:
        """Groups of one title that are slower on one rank only, the most first.

        By `_LEAST_SHARE` of a rank's device time or more; side 0 is the baseline's.
        """
        by_title: dict[str, list[JobGroup]] = {}
        for group in self.groups:
            by_title.setdefault(group.title, []).append(group)
        device_ns = [
            sum((g.baseline, g.candidate)[side].by_rank[rank] for g in self.groups)
            for rank in self.ranks
        ]
        least_ns = _LEAST_SHARE * median(device_ns) if device_ns else 0.0
        slower = []
        for title, groups in by_title.items():
            spread = _together([(group.baseline, group.candidate)[side] for group in groups])
            if spread.is_of_one_rank and spread.excess_ns >= max(1.0, least_ns):
                first = next((g.group for g in groups if g.group is not None), None)
                slower.append(SlowerGroups(title, len(groups), first, spread))
        return tuple(sorted(slower, key=lambda each: -each.spread.excess_ns))


@dataclass(frozen=True)
class SlowerGroups:
    """Groups of one title that one rank needs longer for than all others."""

    title: str
    n: int
    group: int | None  # the first of them in the shown rank's ledger; None: it has none
    spread: Spread

    @property
    def is_only_there(self) -> bool:
        """Does no other rank do this at all?"""
        return self.spread.total_ns == self.spread.most_ns


def _together(spreads: Sequence[Spread]) -> Spread:
    ranks = spreads[0].by_rank
    return Spread({rank: sum(spread.by_rank[rank] for spread in spreads) for rank in ranks})


def job_ledger(
    ledger: FusionLedger,
    shown: tuple[int, int],
    shown_sides: Sides,
    ranks: Sequence[int],
    sides_of: Callable[[int, bool], Sides | None],
    n_ranks: int,
) -> JobLedger:
    """Every rank's time in each group.

    Args:
        ledger: of the shown ranks.
        shown: their numbers in the baseline and in the candidate.
        shown_sides: their runs, whose kernels the ledger's rows are.
        ranks: to read.
        sides_of: the runs of a rank, and whether with its logs, which only a ledger of its own
            needs; None: they cannot be read. Asked for one at a time.
        n_ranks: of the job.
    """
    rows = (ledger.baseline_group, ledger.candidate_group)
    own_ns = (
        [group.baseline_step_ns for group in ledger.groups],
        [group.candidate_step_ns for group in ledger.groups],
    )
    times: dict[int, tuple[list[float], list[float]]] = {}
    foreign: dict[object, JobGroup] = {}
    own_ledgers, unread = [], []
    for rank in ranks:
        if rank == shown[0] == shown[1]:
            times[rank] = own_ns
            continue
        sides = sides_of(rank, False)
        if sides is None:
            unread.append(rank)
            continue
        dealt = [
            own_ns[side]
            if rank == shown[side]
            else _dealt(sides[side].trace, shown_sides[side].trace, rows[side], len(ledger.groups))
            for side in (0, 1)
        ]
        if dealt[0] is not None and dealt[1] is not None:
            times[rank] = (dealt[0], dealt[1])
            continue
        own_ledgers.append(rank)
        own = fusion_ledger(*(sides_of(rank, True) or sides))
        times[rank] = _laid_beside(ledger.groups, own.groups, rank, foreign)
    read = tuple(times)
    groups = [
        JobGroup(
            number,
            group.title,
            Spread({rank: times[rank][0][number] for rank in read}),
            Spread({rank: times[rank][1][number] for rank in read}),
        )
        for number, group in enumerate(ledger.groups)
    ]
    groups += [_over(read, group) for group in foreign.values()]
    notes = _notes(read, n_ranks, shown[1], own_ledgers, unread)
    return JobLedger(read, n_ranks, tuple(groups), tuple(own_ledgers), notes)


def runs_same_kernels(trace: Trace, other: Trace) -> bool:
    """Do two ranks launch the same kernels on the same streams in the same order?"""
    first, second = _sequence(trace), _sequence(other)
    return _order(first).equals(_order(second))


def _sequence(trace: Trace) -> pl.DataFrame:
    """Device events of the steps, stream by stream; a stream by its place among its device's."""
    return (
        device_work(trace)
        .with_row_index("row")
        .filter(pl.col("step").is_not_null())
        .select(
            "row",
            "step",
            pl.col("device").rank("dense").alias("device"),
            # Numbers of streams differ between processes; their order does not.
            pl.col("stream").rank("dense").alias("stream"),
            pl.col("name").cast(pl.String),
            "ts_ns",
            "dur_ns",
        )
        .sort("step", "device", "stream", "ts_ns", maintain_order=True)
    )


def _order(sequence: pl.DataFrame) -> pl.DataFrame:
    return sequence.select("step", "device", "stream", "name")


def _dealt(
    trace: Trace, reference: Trace, groups: npt.NDArray[np.int32], n_groups: int
) -> list[float] | None:
    """Time of each group where the kernels, or else the operators, are the reference's one by one.

    None where neither are. A library takes other kernels for other extents, and sometimes two.
    """
    own, shown = _sequence(trace), _sequence(reference)
    if _order(own).equals(_order(shown)):
        of_row = groups[shown["row"].to_numpy()]
        durations = own["dur_ns"].to_numpy()
    else:
        rows, names = _by_operator(trace)
        reference_rows, reference_names = _by_operator(reference)
        if names != reference_names:
            return None
        first = [events[0] for events in reference_rows]
        of_row = np.repeat(groups[first], [len(events) for events in rows])
        durations = device_work(trace)["dur_ns"].to_numpy()[np.concatenate(rows)]
    inside = of_row >= 0
    sums = np.bincount(of_row[inside], weights=durations[inside], minlength=n_groups)
    n_steps = max(1, host_steps(trace).height)
    return [float(ns) / n_steps for ns in sums]


def _by_operator(trace: Trace) -> tuple[list[list[int]], list[tuple[int, str]]]:
    """Step by step in the order of the host: the rows of what each operator launched; its name."""
    units: list[tuple[int, str, list[int]]] = []
    for step in host_work(trace).steps:
        for unit in step.units:
            if unit.events:
                every_rows = step.form.like(list(unit.events)).tolist()
                units += [
                    (number, unit.name, rows)
                    for number, rows in zip(step.form.steps.tolist(), every_rows, strict=True)
                ]
    units.sort(key=lambda unit: unit[0])  # stable: within a step the host's order stays
    return [rows for _, _, rows in units], [(number, name) for number, name, _ in units]


def _laid_beside(
    groups: Sequence[FusionGroup],
    own: Sequence[FusionGroup],
    rank: int,
    foreign: dict[object, JobGroup],
) -> tuple[list[float], list[float]]:
    """A rank's own groups beside the shown rank's: by all that they are, then by operators."""
    partner: dict[int, int] = {}
    free = set(range(len(groups)))
    for signature in (_likeness, _operators):
        left = [number for number in range(len(own)) if number not in partner]
        right = sorted(free)
        pairs = align(
            [signature(own[number]) for number in left],
            [signature(groups[number]) for number in right],
            lambda a, b: int(a == b),
        )
        for i, j in pairs:
            partner[left[i]] = right[j]
            free.remove(right[j])
    sums: tuple[list[float], list[float]] = ([0.0] * len(groups), [0.0] * len(groups))
    counts: dict[object, int] = {}
    for number, group in enumerate(own):
        sides = (group.baseline_step_ns, group.candidate_step_ns)
        if number in partner:
            for side in (0, 1):
                sums[side][partner[number]] += sides[side]
            continue
        likeness = _likeness(group)
        counts[likeness] = counts.get(likeness, 0) + 1
        key = (likeness, counts[likeness])
        before = foreign.get(key) or JobGroup(None, group.title, Spread({}), Spread({}))
        foreign[key] = JobGroup(
            None,
            group.title,
            Spread({**before.baseline.by_rank, rank: sides[0]}),
            Spread({**before.candidate.by_rank, rank: sides[1]}),
        )
    return sums


def _likeness(group: FusionGroup) -> tuple[object, ...]:
    return (group.phase, group.module, group.sources, *_operators(group))


def _operators(group: FusionGroup) -> tuple[object, ...]:
    return tuple(
        tuple(sorted((operator.op, operator.n) for operator in side.operators))
        for side in (group.baseline, group.candidate)
    )


def _over(ranks: Sequence[int], group: JobGroup) -> JobGroup:
    """The same with 0 on the ranks that do not have it."""
    baseline, candidate = (
        Spread({rank: spread.by_rank.get(rank, 0.0) for rank in ranks})
        for spread in (group.baseline, group.candidate)
    )
    return JobGroup(None, group.title, baseline, candidate)


def _notes(
    read: Sequence[int],
    n_ranks: int,
    shown: int,
    own_ledgers: Sequence[int],
    unread: Sequence[int],
) -> tuple[str, ...]:
    notes = []
    if len(read) + len(unread) < n_ranks:
        notes.append(
            f"The groups' times over ranks are of {len(read)} of {n_ranks} ranks: the critical "
            "one, and others from the most to the least compute."
        )
    if unread:
        numbers = ", ".join(map(str, unread))
        notes.append(f"The kernels of rank {numbers} could not be read for the ledger.")
    if own_ledgers:
        numbers = ", ".join(map(str, own_ledgers))
        notes.append(
            f"Rank {numbers} does not launch the same kernels as rank {shown} in the same order: "
            "its groups come from its own trace and are matched by their operators."
        )
    return tuple(notes)
