"""Align two sequences in order, so that the matches are worth as much as possible in all.

A gap costs nothing, a match of i and j is worth `worth[i, j]` (0: they cannot match). Rows are
vectors, so 5 000 x 6 000 takes about 0.2 s; beyond that, halves are aligned on their own
(Hirschberg), which keeps the memory linear.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Worth = npt.NDArray[np.int32]
Pairs = Sequence[tuple[int, int]]
T = TypeVar("T", bound=Hashable)

# Cells of the matrix that one alignment keeps, 4 bytes each.
_MOST_CELLS = 24_000_000


def align(
    left: Sequence[T], right: Sequence[T], worth: Callable[[T, T], int]
) -> list[tuple[int, int]]:
    """The matches (i, j), both rising.

    Args:
        left: signatures; equal ones are judged once.
        right: likewise.
        worth: how much a match is worth, 0 or less: none.
    """
    lefts, left_codes = _encode(left)
    rights, right_codes = _encode(right)
    table = np.zeros((len(lefts), len(rights)), dtype=np.int32)
    for i, a in enumerate(lefts):
        for j, b in enumerate(rights):
            value = worth(a, b)
            if value > 0:
                table[i, j] = value
    return align_codes(left_codes, right_codes, table)


def align_codes(left: Codes, right: Codes, table: Worth) -> list[tuple[int, int]]:
    """Like `align`, with signatures as numbers and `table[left code, right code]` as the worth."""
    if not len(left) or not len(right) or not table.any():
        return []
    pairs: list[tuple[int, int]] = []
    _align(left, right, table, 0, 0, pairs)
    return pairs


def alternatives(
    left: Codes, right: Codes, table: Worth, pairs: Pairs
) -> list[tuple[list[int], list[int]]]:
    """What else each match's two could face in an alignment of the same worth: places i, places j.

    Two sequences too long to keep all rows have none: there every match passes for certain.

    Args:
        left: as for `align_codes`.
        right: likewise.
        table: likewise.
        pairs: what `align_codes` gave for them.
    """
    if not pairs or (len(left) + 1) * (len(right) + 1) > _MOST_CELLS:
        return [([], [])] * len(pairs)
    head = _rows(left, right, table)
    tail = _rows(left[::-1], right[::-1], table)[::-1, ::-1]
    best = head[-1, -1]
    others = []
    for i, j in pairs:
        gains = table[left[i]][right]
        row = (gains > 0) & (head[i, :-1] + gains + tail[i + 1, 1:] == best)
        gains = table[left, right[j]]
        column = (gains > 0) & (head[:-1, j] + gains + tail[1:, j + 1] == best)
        row[j] = column[i] = False
        others.append((np.flatnonzero(column).tolist(), np.flatnonzero(row).tolist()))
    return others


def _encode(items: Sequence[T]) -> tuple[list[T], Codes]:
    numbers: dict[T, int] = {}
    codes = np.fromiter(
        (numbers.setdefault(item, len(numbers)) for item in items), dtype=np.int32, count=len(items)
    )
    return list(numbers), codes


def _align(
    left: Codes, right: Codes, table: Worth, i0: int, j0: int, pairs: list[tuple[int, int]]
) -> None:
    if not len(left) or not len(right):
        return
    if len(left) == 1 or (len(left) + 1) * (len(right) + 1) <= _MOST_CELLS:
        pairs.extend((i0 + i, j0 + j) for i, j in _trace(left, right, table))
        return
    middle = len(left) // 2
    head = _last_row(left[:middle], right, table)
    tail = _last_row(left[middle:][::-1], right[::-1], table)[::-1]
    cut = int(np.argmax(head + tail))
    _align(left[:middle], right[:cut], table, i0, j0, pairs)
    _align(left[middle:], right[cut:], table, i0 + middle, j0 + cut, pairs)


def _step(above: Worth, gain: Worth) -> Worth:
    """One row: skipping on the left is the value above, on the right a running maximum."""
    row = np.empty_like(above)
    row[0] = 0
    np.maximum(above[1:], np.where(gain > 0, above[:-1] + gain, 0), out=row[1:])
    return np.maximum.accumulate(row)


def _last_row(left: Codes, right: Codes, table: Worth) -> Worth:
    row = np.zeros(len(right) + 1, dtype=np.int32)
    for code in left:
        row = _step(row, table[code][right])
    return row


def _rows(left: Codes, right: Codes, table: Worth) -> Worth:
    """Worth of the best alignment of the first i and the first j, for all i and j."""
    best = np.zeros((len(left) + 1, len(right) + 1), dtype=np.int32)
    for i, code in enumerate(left, start=1):
        best[i] = _step(best[i - 1], table[code][right])
    return best


def _trace(left: Codes, right: Codes, table: Worth) -> list[tuple[int, int]]:
    best = _rows(left, right, table)
    pairs = []
    i, j = len(left), len(right)
    while i and j:
        value = best[i, j]
        gain = table[left[i - 1], right[j - 1]]
        if gain > 0 and value == best[i - 1, j - 1] + gain:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif value == best[i - 1, j]:
            i -= 1
        else:
            j -= 1
    pairs.reverse()
    return pairs
