"""One category for each kernel name in all runs that are compared; see `replayed.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from profiler_core.analysis.categories import category_of_kernel
from profiler_core.analysis.compare import ComparedNumbers
from profiler_core.analysis.ledger.result import FusionLedger, GroupSide
from profiler_core.analysis.per_step import per_step
from profiler_core.analysis.replayed import categories_of_replays
from profiler_core.analysis.side import Side
from profiler_core.analysis.summary import Summary


def sides_of(comparison: ComparedNumbers) -> tuple[Side, ...]:
    """Baseline and candidates, replayed kernels in the category that the other runs give them."""
    sides = (comparison.baseline, *comparison.sides)
    summaries = with_shared_categories(
        [side.summary for side in sides], comparison.category_by_name
    )
    return tuple(
        side if summary is None else replace(side, summary=summary, per_step=per_step(summary))
        for side, summary in zip(sides, summaries, strict=True)
    )


def with_shared_categories(
    summaries: Sequence[Summary | None], category_by_name: Mapping[str, str]
) -> tuple[Summary | None, ...]:
    """The summaries with kernels and totals of replays moved; all other totals are untouched."""
    shared: list[Summary | None] = []
    for summary in summaries:
        if summary is None or not summary.n_graph_launches:
            shared.append(summary)
            continue
        by_category, _ = categories_of_replays(summary, category_by_name)
        kernels = tuple(
            replace(kernel, category=category_by_name[kernel.name])
            if kernel.name in category_by_name
            and kernel.category == category_of_kernel(kernel.name)
            else kernel
            for kernel in summary.kernels
        )
        shared.append(replace(summary, by_category=by_category, kernels=kernels))
    return tuple(shared)


def with_known_categories(
    ledger: FusionLedger, category_by_name: Mapping[str, str]
) -> FusionLedger:
    """The ledger with its replayed kernels in the categories that the summaries have them in.

    Args:
        ledger: as made.
        category_by_name: from `known_categories`.
    """
    if not category_by_name:
        return ledger

    def side(group_side: GroupSide) -> GroupSide:
        if not any(kernel.name in category_by_name for kernel in group_side.kernels):
            return group_side
        return replace(
            group_side,
            kernels=tuple(
                replace(kernel, category=category_by_name[kernel.name])
                if kernel.name in category_by_name
                and kernel.category == category_of_kernel(kernel.name)
                else kernel
                for kernel in group_side.kernels
            ),
        )

    groups = tuple(
        replace(group, baseline=side(group.baseline), candidate=side(group.candidate))
        for group in ledger.groups
    )
    return replace(ledger, groups=groups)
