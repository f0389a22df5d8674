"""Which intermediate buffers the candidate no longer makes.

Two ways, each exact in what it counts. Through the ledger: a buffer is made for the kernel that is
launched next, a kernel belongs to one fusion group, so each group has its buffers on either side.
Through two snapshots: by the source line, which Inductor's buffers carry too (torch >= 2.9 puts
the model's frames below those of the generated code).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.memory.snapshot import SnapshotHistory
from profiler_core.units import rounded_bytes

How = Literal["fusion group", "source line"]
_ELSEWHERE = "(of no group)"


@dataclass(frozen=True)
class VanishedRow:
    """Buffers of one origin, per step on either side: (baseline, candidate)."""

    label: str  # the group's operators, or the source line
    sources: tuple[str, ...]
    n: tuple[float, float]
    bytes: tuple[float, float]
    group: int | None = None  # in the ledger, the slowest of equal ones; None: of no group

    @property
    def vanished_bytes(self) -> float:
        """Allocated by the baseline and not by the candidate; below 0: the other way round."""
        return self.bytes[0] - self.bytes[1]


@dataclass(frozen=True)
class Vanished:
    """Every allocation of a step of both runs is in one row, so the rows sum to n and bytes."""

    how: How
    n: tuple[float, float]
    bytes: tuple[float, float]
    rows: tuple[VanishedRow, ...]  # what vanished most first
    # (rounded size, baseline's number, candidate's, bytes that are gone) of all of which the
    # candidate makes fewer, what adds up to most bytes first.
    largest: tuple[tuple[int, float, float, float], ...]

    @property
    def vanished_bytes(self) -> float:
        """Fewer bytes allocated per step; below 0: more."""
        return self.bytes[0] - self.bytes[1]


def vanished_by_group(
    ledger: FusionLedger,
    baseline: pl.DataFrame,
    candidate: pl.DataFrame,
    n_steps: tuple[int, int],
) -> Vanished:
    """What each fusion group allocates on either side.

    Args:
        ledger: of the two runs.
        baseline: its `allocations`.
        candidate: its `allocations`.
        n_steps: profiled steps on either side.
    """
    sides = [
        {
            group: (n / steps, size / steps)
            for group, (n, size) in made_by_group(allocated, groups).items()
        }
        for allocated, groups, steps in zip(
            (baseline, candidate),
            (ledger.baseline_group, ledger.candidate_group),
            n_steps,
            strict=True,
        )
    ]
    rows = []
    for folded in fold(ledger.groups):
        counts = [_sum(side.get(number) for number in folded.numbers) for side in sides]
        if any(n for n, _ in counts):
            rows.append(
                VanishedRow(
                    folded.title,
                    tuple(label for label, _ in folded.first.sources),
                    (counts[0][0], counts[1][0]),
                    (counts[0][1], counts[1][1]),
                    folded.slowest,
                )
            )
    without_group = [side.get(-1, (0.0, 0.0)) for side in sides]
    if any(n for n, _ in without_group):
        rows.append(
            VanishedRow(
                _ELSEWHERE,
                (),
                (without_group[0][0], without_group[1][0]),
                (without_group[0][1], without_group[1][1]),
            )
        )
    sizes = tuple(
        _sizes(allocated, n) for allocated, n in zip((baseline, candidate), n_steps, strict=True)
    )
    return _vanished("fusion group", rows, (sizes[0], sizes[1]))


def vanished_by_source(baseline: SnapshotHistory, candidate: SnapshotHistory) -> Vanished:
    """What each source line allocates in the steps that either snapshot recorded.

    Both must have recorded equally many steps, as the two runs of one capture have.
    """
    sides = []
    for history in (baseline, candidate):
        sums: dict[str, tuple[float, float]] = {}
        for origin, n, size in history.largest:
            before = sums.get(origin.label, (0.0, 0.0))
            sums[origin.label] = (before[0] + n, before[1] + size)
        sides.append(sums)
    rows = []
    for label in dict.fromkeys((*sides[0], *sides[1])):
        (n0, b0), (n1, b1) = (side.get(label, (0.0, 0.0)) for side in sides)
        rows.append(VanishedRow(label, (label,), (n0, n1), (b0, b1)))
    return _vanished("source line", rows, (baseline.sizes, candidate.sizes))


def made_by_group(
    allocated: pl.DataFrame, group_of_row: "Iterable[int]"
) -> dict[int, tuple[int, int]]:
    """Group -> buffers and bytes that it makes in all profiled steps; -1: of no group.

    Args:
        allocated: a run's `allocations`.
        group_of_row: for each row of its `device_work` the group.
    """
    groups = pl.Series("group", group_of_row, dtype=pl.Int32)
    rows = groups.to_frame().with_row_index("work_row")
    inside = allocated.filter(pl.col("step").is_not_null()).join(rows, on="work_row", how="left")
    totals = inside.group_by(pl.col("group").fill_null(-1)).agg(
        n=pl.len(), bytes=pl.col("bytes").sum()
    )
    return {group: (n, size) for group, n, size in totals.iter_rows()}


def _sizes(allocated: pl.DataFrame, n_steps: int) -> dict[int, float]:
    inside = allocated.filter(pl.col("step").is_not_null())
    return {size: n / n_steps for size, n in inside.group_by("bytes").len().iter_rows()}


def _by_read_size(sizes: dict[int, float]) -> tuple[dict[int, float], dict[int, float]]:
    """Buffers and bytes of each size as it is written: two that read the same are one size."""
    numbers: dict[int, float] = {}
    n_bytes: dict[int, float] = {}
    for size, n in sizes.items():
        read = rounded_bytes(size)
        numbers[read] = numbers.get(read, 0.0) + n
        n_bytes[read] = n_bytes.get(read, 0.0) + n * size
    return numbers, n_bytes


def _sum(totals: Iterable[tuple[float, float] | None]) -> tuple[float, float]:
    present = [total for total in totals if total is not None]
    return sum(n for n, _ in present), sum(size for _, size in present)


def _vanished(
    how: How, rows: list[VanishedRow], sizes: tuple[dict[int, float], dict[int, float]]
) -> Vanished:
    (was, was_bytes), (now, now_bytes) = (_by_read_size(side) for side in sizes)
    difference = Counter({size: was.get(size, 0) - now.get(size, 0)
                          for size in {*was, *now}})  # fmt: skip
    largest = sorted(difference, key=lambda size: (-size * difference[size], size))
    return Vanished(
        how,
        (sum(row.n[0] for row in rows), sum(row.n[1] for row in rows)),
        (sum(row.bytes[0] for row in rows), sum(row.bytes[1] for row in rows)),
        tuple(sorted(rows, key=lambda row: (-row.vanished_bytes, row.label))),
        tuple(
            (
                size,
                was.get(size, 0.0),
                now.get(size, 0.0),
                was_bytes.get(size, 0.0) - now_bytes.get(size, 0.0),
            )
            for size in largest
            if difference[size] > 0
        ),
    )
