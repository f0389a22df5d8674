"""The kernels of several runs side by side, by name, per step."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.kernels import KernelTotal
from profiler_core.analysis.summary import Summary


@dataclass(frozen=True)
class KernelSide:
    """One kernel in one run; per step, except min and max, which are single calls."""

    n: float
    time_ns: float
    mean_ns: float
    min_ns: int
    max_ns: int


@dataclass(frozen=True)
class KernelRow:
    """One kernel name, and what each run did with it (None: never ran there)."""

    name: str
    category: str
    sides: tuple[KernelSide | None, ...]  # in the order of the runs, the baseline first

    def time_ns(self, run: int) -> float:
        """Per step; a kernel that never ran took no time."""
        side = self.sides[run]
        return side.time_ns if side else 0.0

    def n(self, run: int) -> float:
        """Calls per step."""
        side = self.sides[run]
        return side.n if side else 0.0

    def delta_ns(self, run: int) -> float:
        """Time per step more than in the baseline; negative: less."""
        return self.time_ns(run) - self.time_ns(0)

    @property
    def most_ns(self) -> float:
        """The longest time per step on any side."""
        return max(self.time_ns(run) for run in range(len(self.sides)))


def kernel_sides(
    summaries: Sequence[Summary], *, in_all_steps: bool = False
) -> tuple[KernelRow, ...]:
    """Join the runs' kernels by name, the longest on any side first.

    A name that operators of different categories launched is one row, in the category where it
    took the most time. The times of one run's rows sum to its kernel_time_ns per step.

    Args:
        summaries: of the runs.
        in_all_steps: sums over all that a trace holds, not per step: of a cut one nobody knows how
            many steps that is.
    """
    totals = [summary.kernels for summary in summaries]
    return _sides(totals, _divisors(summaries, in_all_steps=in_all_steps))


def copy_sides(
    summaries: Sequence[Summary], *, in_all_steps: bool = False
) -> tuple[KernelRow, ...]:
    """The same of the runs' copies and memsets, which are no kernels.

    Args:
        summaries: of the runs.
        in_all_steps: as of `kernel_sides`.
    """
    totals = [summary.copies for summary in summaries]
    return _sides(totals, _divisors(summaries, in_all_steps=in_all_steps))


def _divisors(summaries: Sequence[Summary], *, in_all_steps: bool) -> list[int]:
    return [1 if in_all_steps else summary.n_steps for summary in summaries]


def _sides(
    totals: Sequence[Sequence[KernelTotal]], n_steps_of_runs: Sequence[int]
) -> tuple[KernelRow, ...]:
    sides_by_name: dict[str, list[KernelSide | None]] = {}
    weights: dict[str, Counter[str]] = {}
    for run, (of_run, n_steps) in enumerate(zip(totals, n_steps_of_runs, strict=True)):
        for kernel in of_run:
            sides = sides_by_name.setdefault(kernel.name, [None] * len(totals))
            sides[run] = _sum(sides[run], _side(kernel, n_steps))
            weights.setdefault(kernel.name, Counter())[kernel.category] += kernel.time_ns
    rows = [
        KernelRow(name, weights[name].most_common(1)[0][0], tuple(s))
        for name, s in sides_by_name.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.most_ns, row.name)))


def _side(kernel: KernelTotal, n_steps: int) -> KernelSide:
    return KernelSide(
        n=kernel.n / n_steps,
        time_ns=kernel.time_ns / n_steps,
        mean_ns=kernel.mean_ns,
        min_ns=kernel.min_ns,
        max_ns=kernel.max_ns,
    )


def _sum(first: KernelSide | None, second: KernelSide) -> KernelSide:
    if first is None:
        return second
    n, time_ns = first.n + second.n, first.time_ns + second.time_ns
    return KernelSide(
        n=n,
        time_ns=time_ns,
        mean_ns=time_ns / n,
        min_ns=min(first.min_ns, second.min_ns),
        max_ns=max(first.max_ns, second.max_ns),
    )
