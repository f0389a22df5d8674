"""Second halves of split reductions, by the shape that the first half hands over.

Where a reduction's result is small (the gradient of a bias over all rows), Inductor has a first
kernel reduce chunks and a second one the chunks' results. By its name the second half may be
anything that the first one's neighbours are fused of; but it is handed a tensor that nothing else
in the program has, such as 128 x 157 for 157 chunks.
"""

from collections.abc import Sequence
from itertools import dropwhile
from math import prod

from profiler_core.analysis.ledger.extents import Shape
from profiler_core.analysis.ledger.program import Item

_NEAR = 12  # generated kernels between the halves: the scheduler runs independent ones together


def first_halves(items: Sequence[Item]) -> dict[int, int]:
    """Number of a second half -> number of the first one. Only kernels known by name have any.

    Args:
        items: of one segment, in order.
    """
    of_libraries = {shape for item in items if not item.by_kernel_name for shape in item.shapes}
    firsts: dict[int, int] = {}
    for number, item in enumerate(items):
        chunks = _chunks(item)
        if chunks is None or chunks in of_libraries:
            continue
        for before in range(number - 1, max(-1, number - 1 - _NEAR), -1):
            if _writes(items[before], chunks):
                firsts[number] = before
                break
    return firsts


def _chunks(item: Item) -> Shape | None:
    """What a second half is handed, once or for several sums: one axis more than its results."""
    if not item.is_reduction or not item.shapes:
        return None
    given = item.shapes[0]
    results = list(dropwhile(lambda shape: shape == given, item.shapes))
    sizes = {prod(given[:axis] + given[axis + 1 :]) for axis in range(len(given))}
    # A result without axes has no shape in the trace.
    written = {prod(shape) for shape in results} or {1}
    return given if written <= sizes else None


def _writes(item: Item, chunks: Shape) -> bool:
    """Is it a reduction whose results, which come last, have this shape?"""
    return item.is_reduction and item.shapes[-1:] == (chunks,) and item.shapes[0] != chunks
