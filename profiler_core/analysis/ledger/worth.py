"""How sure it is that two items are one operator: the scores of the alignment."""

from profiler_core.analysis.ledger.operators import KERNEL_FREE
from profiler_core.analysis.ledger.program import Item, Phase

SOFTMAX = frozenset(("softmax", "_softmax", "_safe_softmax", "safe_softmax"))


def worth(a: Item, b: Item, phase: Phase) -> int:
    """How sure it is that two items are one operator; 0: they are not."""
    same = bool(a.op) and a.op == b.op
    is_related = related(a, b)
    known = bool(a.labels) and bool(b.labels)
    agree = bool(a.labels & b.labels)
    if a.by_kernel_name or b.by_kernel_name:
        return _worth_of_names(a, b)
    if phase == "backward":
        if known and not agree:
            return 0
        if is_related:
            value = 20 if agree else 6
            return max(1, value + shape_bonus(a, b))
        return 3 if agree else 0
    if not is_related:
        # cuDNN computes 1x1 convolutions with kernels that are named as products.
        return 3 if {a.op, b.op} == {"matmul", "convolution"} else 0
    value = 12 if same else 7
    if a.is_anchor or b.is_anchor:
        value += 8
    if a.op in KERNEL_FREE:
        value = 2
    if known:
        value += 5 if agree else -3
    if a.node and a.node == b.node:
        value += 3
    return max(1, value + shape_bonus(a, b))


def related(a: Item, b: Item) -> bool:
    """Is one the operator of the other, or part of it?"""
    return (bool(a.op) and a.op == b.op) or a.op in b.inner or b.op in a.inner


def _worth_of_names(a: Item, b: Item) -> int:
    """Kernels known by name only: equal ones, or an operator that the name mentions."""
    if a.op == b.op:
        return 12 + len(a.inner)
    if a.by_kernel_name and b.by_kernel_name:
        common = len(a.inner & b.inner)
        return 2 * common if common and 2 * common >= min(len(a.inner), len(b.inner)) else 0
    name, plain = (a, b) if a.by_kernel_name else (b, a)
    if plain.op == "attention" and name.inner & SOFTMAX:
        return 14  # attention in several kernels: nothing else has its softmax between two products
    return 4 if plain.op in name.inner or plain.inner & name.inner else 0


def shape_bonus(a: Item, b: Item) -> int:
    """Equal shapes of the first two tensors speak for a match, others against it."""
    shared = list(zip(a.shapes[:2], b.shapes[:2], strict=False))
    if not shared:
        return 0
    equal = sum(x == y for x, y in shared)
    return equal - 2 * (len(shared) - equal)
