"""Whether data came from DRAM or stayed in the L2 cache: measured over estimated bytes.

Measured on an H200 (docs/counters.md): kernels over tensors of 51 MB and more move through DRAM
what their shapes say; over 26 MB tensors less than half of it, over 13 MB tensors nothing at all.
"""

from typing import Literal

Residence = Literal["memory", "partly in L2", "in L2", "more than shapes"]

_ALL = 0.85  # of what shapes demand: what a cache may keep at its edges is left to it
_NOTHING = 0.15
_MORE = 1.15


def residence(measured_bytes: float | None, estimated_bytes: float | None) -> Residence | None:
    """Where the bytes of some kernels came from and went to; None: one of them is not known.

    Args:
        measured_bytes: through DRAM, read and written.
        estimated_bytes: that the shapes demand, read and written.
    """
    if measured_bytes is None or not estimated_bytes:
        return None
    share = measured_bytes / estimated_bytes
    if share <= _NOTHING:
        return "in L2"
    if share < _ALL:
        return "partly in L2"
    return "memory" if share <= _MORE else "more than shapes"
