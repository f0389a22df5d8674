"""Where a program repeats itself, as the layers of a transformer do."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.ledger.program import Item

_SMALLEST = 4  # operators of a layer: fewer repeat by chance
_LARGEST = 600
_FEWEST = 3  # layers


@dataclass(frozen=True, slots=True)
class Stretch:
    """Items of a segment that repeat: `copies` layers of `length` items, from `start` on."""

    start: int
    length: int
    copies: int

    def items(self) -> range:
        """The numbers of all its items."""
        return range(self.start, self.start + self.length * self.copies)


def signature(item: Item) -> Hashable:
    """Equal for operators that may stand at one place of equal layers."""
    name = item.op.rstrip("0123456789") if item.by_kernel_name else item.op
    return name, item.shapes, item.dtypes, item.extent, len(item.units)


def stretches(signatures: Sequence[Hashable]) -> list[Stretch]:
    """Stretches that repeat three times and more, the longest first; none overlaps another."""
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(s, len(numbers)) for s in signatures], dtype=np.int64)
    taken = np.zeros(codes.size, dtype=np.bool_)
    closed: list[Stretch] = []
    while (best := _longest(codes, taken)) is not None:
        taken[best.start : best.start + best.length * best.copies] = True
        closed.append(best)
    return closed


def _longest(codes: npt.NDArray[np.int64], taken: npt.NDArray[np.bool_]) -> Stretch | None:
    best: Stretch | None = None
    covered = 0
    for length in range(_SMALLEST, min(_LARGEST, codes.size // _FEWEST) + 1):
        same = (codes[:-length] == codes[length:]) & ~taken[:-length] & ~taken[length:]
        ends = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
        for start, end in ends.reshape(-1, 2).tolist():
            copies = (end - start) // length + 1
            if copies >= _FEWEST and copies * length > covered:
                best, covered = Stretch(start, length, copies), copies * length
    return best
