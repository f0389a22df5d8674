"""One kernel, one category, in all runs of a comparison.

A CUDA graph's replay does not say which operator a kernel came from, so there a convolution that
runs as an implicit GEMM can only be called GEMM by its name. Another run of the same model often
launched the very same kernel under its operator, and knows.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.kernels import CategoryTotal, KernelTotal
from profiler_core.analysis.summary import Summary


def with_shared_categories(summaries: Sequence[Summary]) -> tuple[Summary, ...]:
    """The summaries, where runs with graph launches take categories from those without.

    Only names that one category holds in the runs without graph launches are taken over; totals
    over all categories stay what they were.
    """
    known = _known_by_operator(summaries)
    return tuple(_recategorised(s, known) if s.n_graph_launches else s for s in summaries)


def _known_by_operator(summaries: Sequence[Summary]) -> dict[str, str]:
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for summary in summaries:
        if not summary.n_graph_launches:
            for kernel in summary.kernels:
                seen[kernel.name].add(kernel.category)
    return {name: next(iter(found)) for name, found in seen.items() if len(found) == 1}


def _recategorised(summary: Summary, known: Mapping[str, str]) -> Summary:
    n, time_ns = (
        Counter({name: total.n for name, total in summary.by_category.items()}),
        Counter({name: total.time_ns for name, total in summary.by_category.items()}),
    )
    kernels: list[KernelTotal] = []
    for kernel in summary.kernels:
        category = known.get(kernel.name, kernel.category)
        for counter, amount in ((n, kernel.n), (time_ns, kernel.time_ns)):
            counter[kernel.category] -= amount
            counter[category] += amount
        kernels.append(replace(kernel, category=category))
    return replace(
        summary,
        kernels=tuple(kernels),
        by_category={
            name: CategoryTotal(n[name], time_ns[name]) for name in CATEGORIES if n[name] > 0
        },
    )
