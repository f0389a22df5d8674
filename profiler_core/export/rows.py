"""The row of its thread that an event is written to, so that Perfetto drops none.

In this format the events of one thread must nest; Perfetto drops those that cross
(`slice_drop_overlapping_complete_event` in its table `stats`). Those go to a row of their own.
"""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def nesting_rows(ts: Ints, end: Ints) -> Ints:
    """For each event the first row whose open events it fits into; 0 for nearly all.

    Args:
        ts: starts, ascending; longer events first where starts are equal.
        end: ends, ns.
    """
    rows = np.zeros(ts.size, np.int64)
    open_ends: list[list[int]] = [[]]
    for i, (start, stop) in enumerate(zip(ts.tolist(), end.tolist(), strict=True)):
        for number, ends in enumerate(open_ends):
            while ends and ends[-1] <= start:
                ends.pop()
            if not ends or stop <= ends[-1]:
                ends.append(stop)
                rows[i] = number
                break
        else:
            open_ends.append([stop])
            rows[i] = len(open_ends) - 1
    return rows
