"""The products of a kernel that a CUDA graph replays, by the baseline's operators.

A replay has no operators, and so no shapes. They are told of a kernel where each fusion group that
has it is surely matched with products of the baseline, and has no other kernel that computes any.
"""

from collections.abc import Sequence
from dataclasses import replace

from profiler_core.analysis.categories import PRODUCT_CATEGORIES
from profiler_core.analysis.dossier.kernel_products import is_product_helper
from profiler_core.analysis.finding_rules.op_work import OpWork, products_of_group
from profiler_core.analysis.finding_rules.replayed_products import matched_products
from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger
from profiler_core.analysis.product_precision import HALF_NAME


def replayed_products(
    products: Sequence[OpWork], ledger: FusionLedger, kernel: str
) -> tuple[OpWork, ...]:
    """The baseline's products that one kernel of the candidate computes, with its own time.

    Args:
        products: of the baseline's trace.
        ledger: from that trace to the candidate, both in the same precision.
        kernel: by name.

    Returns:
        () where any of its groups is not surely matched, computes products with another kernel, or
        has none in the baseline, and where its name tells other types than the baseline's.
    """
    computed: list[OpWork] = []
    for number, group in enumerate(ledger.groups):
        if all(each.name != kernel for each in group.candidate.kernels):
            continue
        own = products_of_group(products, ledger.baseline_group, number)
        is_sure = _is_alone(group, kernel)
        matched = matched_products(own, ledger, PRODUCT_CATEGORIES) if is_sure else ()
        if not matched:
            return ()
        computed += matched
    in_halves = HALF_NAME.search(kernel) is not None
    if any(op.in_halves != in_halves for op in computed):
        return ()
    return tuple(
        replace(
            op,
            kernel=kernel,
            kernel_ns=sum(ns for name, ns in op.parts[0] if name == kernel),
        )
        for op in computed
    )


def _is_alone(group: FusionGroup, kernel: str) -> bool:
    """Is it sure what the group became, and this kernel all that computes it?"""
    computing = {
        each.name
        for each in group.candidate.kernels
        if each.category in PRODUCT_CATEGORIES and not is_product_helper(each.name)
    }
    return group.confidence == "high" and computing == {kernel}
