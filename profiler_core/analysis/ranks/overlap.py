"""What compiling did to overlap: two jobs' collectives beside each other, on their critical ranks.

All times are per step and of the profiled steps. Where the profiler slows the host, transfers are
exposed for longer than without it; what of that held a kernel up is told apart (`exchanges`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.ranks.exchanges import Exchange, ExchangeKind, by_kind
from profiler_core.analysis.ranks.slowed_kernels import SlowedKernel

# A collective that starts after as much more or less of the step's compute has moved.
MOVED_SHARE = 0.02

Times = tuple[float | None, float | None]


@dataclass(frozen=True)
class OverlapRow:
    """Collectives of one kind and process group: baseline and candidate, null where it has none."""

    kind: str
    label: str
    group: str
    group_size: int | None
    n: Times  # calls per step
    bytes: tuple[int | None, int | None]
    transfer_ns: Times  # without waiting
    exposed_ns: Times  # of it, with no kernel beside
    holding_up_ns: Times  # of that, while the kernel that follows was queued


@dataclass(frozen=True)
class Moved:
    """A collective that starts earlier or later in the step's compute than in the baseline."""

    kind: str
    label: str
    group: str
    number: int  # of its kind and group in a step, from 0
    bytes: tuple[int | None, int | None]
    compute_before: tuple[float, float]  # share of the step's compute that is over at its start
    exposed_ns: tuple[float, float]

    @property
    def later(self) -> float:
        """By what share of the compute; below 0: it is earlier."""
        return self.compute_before[1] - self.compute_before[0]


@dataclass(frozen=True)
class Overlap:
    """Both jobs on the ranks that the others wait for most."""

    ranks: tuple[int, int]
    rows: tuple[OverlapRow, ...]  # most exposed in the candidate first
    moved: tuple[Moved, ...]  # in the order of the candidate's step
    regrouped: tuple[str, ...]  # labels of kinds that are cut into other calls or sizes
    slowed_ns: tuple[float, float]  # what kernels took longer beside collectives
    slowed_kernels: tuple[tuple[SlowedKernel, ...], tuple[SlowedKernel, ...]]

    @property
    def exposed_ns(self) -> tuple[float, float]:
        """Transfers with no kernel beside them, of all kinds."""
        left, right = (sum(row.exposed_ns[side] or 0.0 for row in self.rows) for side in (0, 1))
        return left, right


def overlap(paths: tuple[CriticalPath | None, CriticalPath | None]) -> Overlap | None:
    """Two jobs' exchange beside each other; None: one of them is no job, or exchanges nothing.

    Args:
        paths: of baseline and candidate.
    """
    left, right = paths
    if left is None or right is None or not (left.exchanges or right.exchanges):
        return None
    sides = (left, right)
    kinds = tuple({(k.kind, k.group): k for k in by_kind(side.exchanges)} for side in sides)
    rows = [_row(kinds[0].get(key), kinds[1].get(key)) for key in {**kinds[1], **kinds[0]}]
    sizes = tuple(_sizes(side.exchanges) for side in sides)
    return Overlap(
        ranks=(left.rank, right.rank),
        rows=tuple(sorted(rows, key=lambda row: -(row.exposed_ns[1] or 0.0))),
        moved=_moved(left.exchanges, right.exchanges),
        regrouped=tuple(
            dict.fromkeys(
                kinds[1][key].label
                for key, own in sizes[1].items()
                if sizes[0].get(key, own) != own
            )
        ),
        slowed_ns=(
            left.slowed_ns + left.slowed_by_waiting_ns,
            right.slowed_ns + right.slowed_by_waiting_ns,
        ),
        slowed_kernels=(left.slowed_kernels, right.slowed_kernels),
    )


def _row(left: ExchangeKind | None, right: ExchangeKind | None) -> OverlapRow:
    either = right or left
    if either is None:
        raise ValueError("neither job has the kind")

    def pair(field: str) -> tuple[float | None, float | None]:
        return getattr(left, field, None), getattr(right, field, None)

    return OverlapRow(
        kind=either.kind,
        label=either.label,
        group=either.group,
        group_size=either.group_size,
        n=pair("n"),
        bytes=(left.bytes if left else None, right.bytes if right else None),
        transfer_ns=pair("transfer_ns"),
        exposed_ns=pair("exposed_ns"),
        holding_up_ns=pair("holding_up_ns"),
    )


def _sizes(rows: Sequence[Exchange]) -> dict[tuple[str, str], tuple[int | None, ...]]:
    """Bytes of the calls of each kind and group, in the order in which they are launched."""
    ordered = sorted(rows, key=lambda row: row.number)
    keys = dict.fromkeys((row.kind, row.group) for row in ordered)
    return {key: tuple(r.bytes for r in ordered if (r.kind, r.group) == key) for key in keys}


def _moved(left: Sequence[Exchange], right: Sequence[Exchange]) -> tuple[Moved, ...]:
    before = {(row.kind, row.group, row.number): row for row in left}
    moved = []
    for row in right:
        other = before.get((row.kind, row.group, row.number))
        if other is None or other.compute_before is None or row.compute_before is None:
            continue
        if abs(row.compute_before - other.compute_before) >= MOVED_SHARE:
            moved.append(
                Moved(
                    kind=row.kind,
                    label=row.label,
                    group=row.group,
                    number=row.number,
                    bytes=(other.bytes, row.bytes),
                    compute_before=(other.compute_before, row.compute_before),
                    exposed_ns=(other.exposed_ns, row.exposed_ns),
                )
            )
    return tuple(moved)
