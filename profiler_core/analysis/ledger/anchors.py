"""What libraries compute, matched by its size: the frame of a match that no log supports.

Inductor's scheduler changes the order of what does not wait for each other: the gradient of a
weight comes before that of the input where eager has it after. Sequence by sequence of equal
operator, extents and types nothing changes place, so there the n-th of one side is the n-th of the
other.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from math import prod

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.ledger.moved import both_ways
from profiler_core.analysis.ledger.program import Item

# Tensors that say how large an operator is: what comes behind them is optional or a result.
_SIZED_BY = {
    "convolution": 2,  # input, weight
    "convolution_backward": 3,  # gradient, input, weight
    "attention": 3,  # query, key, value
    "attention_backward": 4,  # gradient, query, key, value
}

_WRITING = frozenset(("clone",))  # `copy_` in a kernel's name: the result goes into an argument

_NEAR = 8  # pairs: what moved across more than these moved for a reason of its own


def pairs_by_size(a: Sequence[Item], b: Sequence[Item]) -> list[tuple[int, int]]:
    """Places (i, j) of library operators that face each other, in order of i; j need not rise.

    Only where both sides have equally many of an operator, extents and types: else one of them
    stands for something that the other side does not have, and which it is the order cannot say.
    """
    sizes = tuple(_by_size(items) for items in (a, b))
    pairs: list[tuple[int, int]] = []
    for size, places in sizes[0].items():
        others = sizes[1].get(size, ())
        if len(places) == len(others):
            pairs.extend(zip(places, others, strict=True))
    return sorted(pairs)


def in_doubt(
    items: Sequence[Item], pairs: Sequence[tuple[int, int]]
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Two pairs of one size each that may as well have each other's partners.

    To exchange two of one size would cross each other once, and twice each pair between them. Where
    the compiler is seen to have moved a pair across as many others as that, the order decides
    nothing: products of one size for query, key and value are an example. Nor does it where pairs
    cross within a run of gradients that layers of one size may all have asked for: they change
    places two by two.

    Args:
        items: of the baseline.
        pairs: of equal sizes, in order of i.
    """
    crossed = _crossed(pairs)
    shuffled = {
        pair: number for number, run in enumerate(shuffled_runs(items, pairs)) for pair in run
    }
    by_size: dict[Hashable, list[int]] = defaultdict(list)
    for number, (i, _) in enumerate(pairs):
        by_size[size_of(items[i])].append(number)
    doubtful: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for numbers in by_size.values():
        for number, following in pairwise(numbers):
            if following - number > _NEAR:
                continue
            first, last = sorted((pairs[number][1], pairs[following][1]))
            between = sum(first < pairs[n][1] < last for n in range(number + 1, following))
            runs = shuffled.get(pairs[number]), shuffled.get(pairs[following])
            of_one_run = runs[0] is not None and runs[0] == runs[1]
            if of_one_run or crossed[number : following + 1].max() >= 1 + 2 * between:
                doubtful.append((pairs[number], pairs[following]))
    return doubtful


def shuffled_runs(
    items: Sequence[Item], pairs: Sequence[tuple[int, int]]
) -> list[list[tuple[int, int]]]:
    """Runs of pairs of one linear layer's size that cross from layer to layer.

    Of a layer with `rows`, `in` and `out` the product and both gradients have these extents in
    some order. That both gradients of one layer change places is no doubt: only that those of one
    stand beyond those of the next.

    Args:
        items: of the baseline.
        pairs: of equal sizes, in order of i.
    """
    runs: list[list[tuple[int, int]]] = []
    previous: Hashable = None
    for i, j in pairs:
        extent = items[i].extent
        family = tuple(sorted(extent)) if extent is not None and extent[0] == 1 else None
        if family is None or family != previous:
            runs.append([])
        runs[-1].append((i, j))
        previous = family
    return [run for run in runs if _is_shuffled(items, run)]


def _is_shuffled(items: Sequence[Item], run: Sequence[tuple[int, int]]) -> bool:
    by_extent: dict[Hashable, list[int]] = defaultdict(list)
    for i, j in run:
        by_extent[items[i].extent].append(j)
    layers = zip(*by_extent.values(), strict=False)
    return any(max(layer) > min(following) for layer, following in pairwise(layers))


def _crossed(pairs: Sequence[tuple[int, int]]) -> npt.NDArray[np.int64]:
    """How many of the near pairs each one crosses; what moved far counts for itself alone."""
    ends = np.array([j for _, j in pairs], dtype=np.int64)
    crossed = np.zeros(len(pairs), dtype=np.int64)
    for _ in range(2):
        stays = crossed <= _NEAR
        crossed = np.zeros(len(pairs), dtype=np.int64)
        for distance in range(1, min(4 * _NEAR, len(pairs))):
            crosses = ends[:-distance] > ends[distance:]
            crossed[:-distance] += crosses & stays[distance:]
            crossed[distance:] += crosses & stays[:-distance]
    return crossed


def kernels_by_size(
    a: Sequence[Item], b: Sequence[Item], taken: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Generated kernels of one operator with the operators of their size: the n-th is the n-th.

    The casts of all gradients to the parameters' type, or the counters of all batch norms, come
    where the scheduler puts them: together, at the end. Only where no other kernel names the
    operator at that size, and both sides have equally many.

    Args:
        a: items of the baseline.
        b: of the candidate.
        taken: what faces each other already.
    """
    pairs: list[tuple[int, int]] = []
    for way in both_ways(a, b, taken):
        tied, others_tied = {own for own, _ in way.facing}, {other for _, other in way.facing}
        kernels: dict[tuple[str, int, tuple[str, ...]], list[int]] = defaultdict(list)
        fused: set[Hashable] = set()
        for number, item in enumerate(way.others):
            if item.by_kernel_name and item.size is not None and number not in others_tied:
                named = item.inner - _WRITING if len(item.inner) > 1 else item.inner
                if len(named) == 1:
                    kernels[min(named), item.size, item.dtypes[:1]].append(number)
                else:
                    sizes = {prod(shape) for shape in item.shapes}
                    fused.update((op, size) for op in named for size in sizes)
        operators: dict[Hashable, list[int]] = defaultdict(list)
        for number, item in enumerate(way.items):
            if item.units and not item.by_kernel_name and number not in tied:
                operators[item.op, item.size, item.dtypes[:1]].append(number)
        for key, numbers in kernels.items():
            if len(numbers) == len(operators.get(key, ())) and key[:2] not in fused:
                pairs.extend(map(way.pair, operators[key], numbers))
    return sorted(pairs)


def rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs in which j rises with i."""
    lasts: list[int] = []  # least j at which a chain of that length ends
    ends: list[int] = []  # number of the pair that ends it
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(lasts, j)
        before.append(ends[length - 1] if length else -1)
        if length == len(lasts):
            lasts.append(j)
            ends.append(number)
        else:
            lasts[length], ends[length] = j, number
    chain = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def between(
    frame: Sequence[tuple[int, int]], pairs: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The frame, rising in both, with those of the pairs that cross none of it nor each other."""
    wider = list(frame)
    for i, j in pairs:
        at = bisect_left(wider, (i, j))
        before = wider[at - 1] if at else (-1, -1)
        if before[0] < i and before[1] < j and (at == len(wider) or wider[at][1] > j):
            wider.insert(at, (i, j))
    return wider


def _by_size(items: Sequence[Item]) -> dict[Hashable, list[int]]:
    sizes: dict[Hashable, list[int]] = defaultdict(list)
    for position, item in enumerate(items):
        size = size_of(item)
        if size is not None and item.units:
            sizes[size].append(position)
    return sizes


def size_of(item: Item) -> Hashable | None:
    """Operator, extents and types of a library's operator; None where the trace does not say."""
    if item.op == "matmul":
        return None if item.extent is None else (item.op, item.extent, item.dtypes[:1])
    n_tensors = _SIZED_BY.get(item.op)
    if n_tensors is None or len(item.shapes) < n_tensors:
        return None
    return item.op, item.shapes[:n_tensors], item.dtypes[:1]
