"""Products of a replay, with the shapes of the operators that the ledger matched them with.

A CUDA graph's replay has kernels and no operators. Where the baseline ran the same products as
operators, their shapes are the replay's too, and only the time is the replay's own.
"""

from dataclasses import replace

from profiler_core.analysis.finding_rules.op_work import BESIDE_PRODUCTS, OpWork
from profiler_core.analysis.ledger.result import FusionLedger, KernelTime

_Call = tuple[OpWork, int]  # and which of its calls


def matched_products(
    products: tuple[OpWork, ...], ledger: FusionLedger, categories: tuple[str, ...]
) -> tuple[OpWork, ...]:
    """The baseline's products with the candidate's times and kernels.

    Args:
        products: of the baseline's trace.
        ledger: from that trace to the candidate.
        categories: of kernels that compute products.

    Returns:
        As many steps' worth as the candidate has. A group's time, with what the products launch
        besides, is divided over them as the baseline's is. Left out: products whose group computes
        none in the candidate.
    """
    by_group: dict[int, dict[int, list[_Call]]] = {}
    for op in products:
        for number, (row, step) in enumerate(zip(op.rows, op.steps, strict=True)):
            group = int(ledger.baseline_group[row])
            if group >= 0:
                by_group.setdefault(group, {}).setdefault(step, []).append((op, number))
    matched: list[OpWork] = []
    for group, steps in by_group.items():
        of_group = ledger.groups[group].candidate.kernels
        kernels = [kernel for kernel in of_group if kernel.category in categories]
        if kernels:
            beside = [kernel for kernel in of_group if kernel.category in BESIDE_PRODUCTS]
            cycle = list(steps.values())
            n = ledger.n_candidate_steps
            chosen = [call for step in range(n) for call in cycle[step % len(cycle)]]
            matched += _with_times_of(chosen, kernels, beside)
    return tuple(matched)


def _with_times_of(
    calls: list[_Call], kernels: list[KernelTime], beside: list[KernelTime]
) -> list[OpWork]:
    products = sum(kernel.time_ns for kernel in kernels)
    total = products + sum(kernel.time_ns for kernel in beside)
    before = sum(op.times_ns[number] for op, number in calls)
    longest = max(kernels, key=lambda kernel: kernel.time_ns).name
    matched = []
    for op, number in calls:
        share = op.times_ns[number] / before
        matched.append(
            replace(
                op,
                times_ns=(round(total * share),),
                kernel=longest,
                product_times_ns=(round(products * share),),
                parts=(tuple((kernel.name, round(kernel.time_ns * share)) for kernel in kernels),),
                rows=(),
                steps=(),
            )
        )
    return matched
