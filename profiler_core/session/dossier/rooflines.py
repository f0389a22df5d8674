"""How near groups and kernels come to the device's limits, decided for both in the same place.

A group's other side, and collectives beside it, may show that the memory is not what limits it: a
kernel is held against the same of its groups, so that its dossier and theirs say one thing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from profiler_core.analysis.categories import PRODUCT_CATEGORIES
from profiler_core.analysis.dossier.kernel_products import is_product_helper
from profiler_core.analysis.dossier.roofline import (
    Roofline,
    Traffic,
    beside,
    in_groups,
    marked,
    roofline,
)
from profiler_core.analysis.finding_rules.op_work import OpWork, product_work, products_of_group
from profiler_core.analysis.finding_rules.replayed_products import matched_products
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.work import device_work
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.beside_collectives import share_of_groups, share_of_kernel
from profiler_core.session.dossier.common import are_in_one_precision, peaks_of_run
from profiler_core.session.dossier.ledger_runs import LedgerRuns, pairs_with_ledger
from profiler_core.session.pair import Pair


@dataclass(frozen=True)
class PairRooflines:
    """Products and rooflines of the groups of a pair's ledger."""

    comparison: Comparison
    pair: Pair

    @cached_property
    def _works(self) -> tuple[tuple[OpWork, ...], ...]:
        """The products of either run; () where the ledger is of another rank than its trace."""
        ledger, works = self.pair.ledger, []
        groups_of = ledger.baseline_group, ledger.candidate_group
        for run, group_of in zip(self.pair.runs, groups_of, strict=True):
            trace = run.worked_trace
            is_same = trace is not None and device_work(trace).height == group_of.size
            works.append(product_work(trace) if trace is not None and is_same else ())
        return tuple(works)

    def recorded(self, number: int) -> list[tuple[OpWork, ...]]:
        """Matrix products and convolutions of both sides of a group, with its own calls alone."""
        ledger = self.pair.ledger
        groups_of = ledger.baseline_group, ledger.candidate_group
        return [
            products_of_group(work, group_of, number) if work else ()
            for work, group_of in zip(self._works, groups_of, strict=True)
        ]

    def products(self, number: int) -> list[tuple[OpWork, ...]]:
        """The same; where the candidate replays a graph the baseline's.

        In another precision the baseline's types are not the candidate's, which then has none.
        """
        before, after = self.recorded(number)
        if not after and are_in_one_precision(self.pair):
            after = matched_products(before, self.pair.ledger, PRODUCT_CATEGORIES)
        return [before, after]

    def lines(self, number: int) -> tuple[Roofline | None, Roofline | None]:
        """Both sides of a group, with what each shows of the other."""
        products = self.products(number)
        before, after = (self._line(number, side, products[side]) for side in (0, 1))
        return beside(before, after), beside(after, before)

    def _line(self, number: int, side: int, products: Sequence[OpWork]) -> Roofline | None:
        pair, group = self.pair, self.pair.ledger.groups[number]
        of_side = (group.baseline, group.candidate)[side]
        moved = of_side.bytes_moved
        # All of a group's kernels are in it, so that none shares its operator with another: its
        # calls count as having one event each.
        traffic = (
            None
            if not moved or not of_side.time_ns  # of a scalar, which has no shape, 0 is counted
            else Traffic(
                moved,
                of_side.time_ns,
                of_side.n_launching,
                of_side.n_launching,
                of_side.largest_bytes,
                counts_once=of_side.counts_once,
                looks_up=of_side.looks_up,
            )
        )
        peaks = peaks_of_run(self.comparison, pair.number + 1 if side else 0)
        line = roofline(pair.labels[side], peaks, group.n_steps[side], traffic, products)
        line = marked(line, (kernel.category for kernel in of_side.kernels))
        if line is None:
            return None
        share = share_of_groups(self.comparison, LedgerRuns.of_pair(pair), [number], side)
        return replace(line, share_beside=share)


def kernel_line(
    comparison: Comparison, line: Roofline | None, run: int, row: KernelRow
) -> Roofline | None:
    """A kernel's line in one run with what its groups show of it.

    Args:
        comparison: of the runs.
        line: of its own calls; None: not known.
        run: its place.
        row: of the kernel.
    """
    line = marked(line, (row.category,), only_helps=is_product_helper(row.name))
    if line is None:
        return None
    line = replace(line, share_beside=share_of_kernel(comparison.runs[run], row.name))
    for pair in pairs_with_ledger(comparison) if line.limit == "memory" else ():
        if run in (0, pair.number + 1):
            line = in_groups(line, list(_lines_alone(comparison, pair, int(run > 0), row.name)))
    return line


def _lines_alone(comparison: Comparison, pair: Pair, side: int, name: str) -> Iterator[Roofline]:
    """The lines of one side of the groups in which a kernel is all that runs on it."""
    rooflines = PairRooflines(comparison, pair)
    for number, group in enumerate(pair.ledger.groups):
        kernels = (group.baseline, group.candidate)[side].kernels
        if kernels and all(kernel.name == name for kernel in kernels):
            line = rooflines.lines(number)[side]
            if line is not None:
                yield line
