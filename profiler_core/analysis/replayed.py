"""Categories of kernels that a CUDA graph replays, learnt from a run that shows their operators.

A replay says no operators, so a 1 × 1 convolution that cuDNN hands to a GEMM kernel goes by its
name and counts as GEMM, where the same kernel counts as convolution in the eager run beside it.
Inside a capture the run that knows lends its knowledge, whether it is compared or not.
"""

from collections.abc import Iterable, Mapping

from profiler_core.analysis.categories import CATEGORIES, category_of_kernel
from profiler_core.analysis.kernels import CategoryTotal
from profiler_core.analysis.summary import Summary


def known_categories(
    summaries: Iterable[Summary | None], *, or_else: Iterable[Summary | None] = ()
) -> dict[str, str]:
    """Kernel name -> category, where the operators put a name elsewhere than it would go alone.

    Only runs without graph launches are asked, and only names that they agree on are given.

    Args:
        summaries: of the runs that are asked.
        or_else: of those that are asked where each of the first replays graphs.
    """
    showing = _without_graphs(summaries) or _without_graphs(or_else)
    categories_of_name: dict[str, set[str]] = {}
    for summary in showing:
        for kernel in summary.kernels:
            categories_of_name.setdefault(kernel.name, set()).add(kernel.category)
    return {
        name: next(iter(categories))
        for name, categories in categories_of_name.items()
        if len(categories) == 1 and category_of_kernel(name) not in categories
    }


def _without_graphs(summaries: Iterable[Summary | None]) -> list[Summary]:
    return [
        summary for summary in summaries if summary is not None and not summary.n_graph_launches
    ]


def categories_of_replays(
    summary: Summary, category_by_name: Mapping[str, str]
) -> tuple[dict[str, CategoryTotal], int]:
    """(by_category with the known names in their place, how many kernels were moved).

    The totals over all categories stay what they are.
    """
    totals = {key: (total.n, total.time_ns) for key, total in summary.by_category.items()}
    moved = 0
    for kernel in summary.kernels if summary.n_graph_launches else ():
        target = category_by_name.get(kernel.name)
        if target is None or kernel.category != category_of_kernel(kernel.name):
            continue
        moved += kernel.n
        for category, sign in ((kernel.category, -1), (target, 1)):
            n, time_ns = totals.get(category, (0, 0))
            totals[category] = (n + sign * kernel.n, time_ns + sign * kernel.time_ns)
    present = {key: CategoryTotal(*totals[key]) for key in CATEGORIES if totals.get(key, (0, 0))[0]}
    return present, moved
