"""Attention written as one function on one side, in products and a softmax on the other.

Inductor decomposes what has no fast kernel, such as attention with a bias of its own in FP32, and
leaves the rest as it is: of one model some may be one, some the other.
"""

from collections.abc import Iterator, Sequence
from math import prod

from profiler_core.analysis.ledger.extents import Extent
from profiler_core.analysis.ledger.moved import Way, both_ways
from profiler_core.analysis.ledger.operators import SOFTMAX
from profiler_core.analysis.ledger.program import Item

_NEAR = 8  # items from a softmax to its products


def parts_by_name(
    a: Sequence[Item], b: Sequence[Item], taken: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Attention with the other side's softmax kernels, and the products beside these.

    Two products and a softmax stand around other products, such as that of the values, so their
    place says little; but each attention has one softmax, where it is not one function there too:
    of both together the n-th is the n-th. Beside a softmax the product of the attention's extents
    is its own; in a replay one whose factors lie as in no product of the program: a linear layer's
    weight is handed over transposed.

    Args:
        a: items of the baseline.
        b: of the candidate.
        taken: what faces each other already.
    """
    pairs: list[tuple[int, int]] = []
    for way in both_ways(a, b, taken):
        tied = {own for own, _ in way.facing}
        attentions = [n for n, x in enumerate(way.items) if x.op == "attention" and x.units]
        there = [n for n, y in enumerate(way.others) if _is_attention(y)]
        has_softmax = any(way.others[n].by_kernel_name for n in there)
        if tied.intersection(attentions) or len(attentions) != len(there) or not has_softmax:
            continue
        layouts = frozenset[str]().union(*(x.layouts for x in way.items))
        for attention, other in zip(attentions, there, strict=True):
            facing = [other]
            if way.others[other].by_kernel_name:
                facing += _products_beside(way, attention, other, layouts)
            pairs.extend(way.pair(attention, n) for n in facing)
    return sorted(pairs)


def _is_attention(item: Item) -> bool:
    """One function, or the softmax of what it was decomposed into; not that of a loss."""
    if item.by_kernel_name:
        return bool(item.inner & SOFTMAX) and "log_softmax" not in item.inner
    return item.op == "attention" and bool(item.units)


def _products_beside(
    way: Way, attention: int, softmax: int, layouts: frozenset[str]
) -> Iterator[int]:
    """Numbers of the product before a softmax and of that behind it, with what copies for them."""
    tied = {other for _, other in way.facing}
    ranges = (range(softmax - 1, -1, -1), range(softmax + 1, len(way.others)))
    extents: Sequence[Extent | None] = products_of(way.items[attention]) or (None, None)
    for near, extent in zip(ranges, extents, strict=True):
        products = [
            n
            for n in near[:_NEAR]
            if way.others[n].op == "matmul"
            and n not in tied
            and (
                way.others[n].extent == extent
                if extent is not None and way.others[n].extent is not None
                else _is_foreign(way.others[n], layouts)
            )
        ]
        for product in products[:1]:
            yield product
            yield from _copies_before(way.others, product)


def _copies_before(items: Sequence[Item], number: int) -> Iterator[int]:
    """Generated kernels that arrange memory for the item of this number alone.

    Such a kernel may scale what it copies: it writes a factor of the product.
    """
    factors = {prod(shape) for shape in items[number].shapes[:2]}
    for before in range(number - 1, -1, -1):
        item = items[before]
        writes_factor = "clone" in item.inner and {prod(s) for s in item.shapes[-1:]} <= factors
        if not item.only_copies and not (item.by_kernel_name and factors and writes_factor):
            return
        yield before


def _is_foreign(product: Item, layouts: frozenset[str]) -> bool:
    return bool(product.library_kernel and product.layouts and layouts) and not (
        product.layouts & layouts
    )


def products_of(attention: Item) -> list[Extent]:
    """Extents of the two products that an attention is made of; empty where its shapes are not."""
    if len(attention.shapes) < 3 or min(map(len, attention.shapes[:3])) < 3:
        return []
    query, key, value = attention.shapes[:3]
    batch = prod(query[:-2])
    rows, columns = query[-2], key[-2]
    return [(batch, rows, columns, query[-1]), (batch, rows, value[-1], columns)]
