"""How fast a group moves its bytes, and against which memory's peak that may be held.

Bytes are those that the shapes demand at least; over the time they give an effective bandwidth.
What fits into the L2 cache need not reach the memory at all, so that its bandwidth says nothing
about it (docs/counters.md).
"""

from dataclasses import dataclass

from profiler_core.analysis.device_peaks import DevicePeaks
from profiler_core.analysis.ledger.result import GroupSide

_FASTER = 1.1  # as many bytes at a tenth more: more than kernels differ by from run to run
AT_PEAK = 0.7  # share of the data sheet's: pointwise kernels reach 85 to 89 % (docs/counters.md)


@dataclass(frozen=True)
class Bandwidth:
    """Of one side of a group."""

    bytes_moved: float  # per step
    bytes_per_s: float
    peak_bytes_per_s: float | None  # None: the device is not known
    # Is the data of each call no larger than the L2? None: not known, or that of some calls alone.
    fits_cache: bool | None

    @property
    def share(self) -> float | None:
        """Of the memory's peak; above 1 it must be a cache's. None: the peak is not known."""
        return None if self.peak_bytes_per_s is None else self.bytes_per_s / self.peak_bytes_per_s

    @property
    def at_peak(self) -> bool:
        """Is it at the memory's limit? Never where the L2's size is not known."""
        return self.share is not None and self.fits_cache is False and self.share >= AT_PEAK


def is_outpaced(
    bytes_moved: float, bytes_per_s: float, other_moved: float, other_per_s: float
) -> bool:
    """Do as many bytes or more go notably faster on the other side, so that none is the limit?"""
    return other_moved >= bytes_moved and other_per_s > _FASTER * bytes_per_s


def all_and_some_fit(
    n_bytes: float, n_calls: float, largest_bytes: float, cache_bytes: float
) -> tuple[bool, bool]:
    """Is the data of each call no larger than a cache; or that of an average call alone?

    Args:
        n_bytes: of all calls.
        n_calls: that launch kernels, of which each may start several.
        largest_bytes: of one call; 0: not known, or all move the same.
        cache_bytes: what it holds.
    """
    mean = n_bytes / max(1, n_calls)
    largest = max(mean, largest_bytes)
    return largest <= cache_bytes, mean <= cache_bytes < largest


def bandwidth(side: GroupSide, n_steps: int, peaks: DevicePeaks | None) -> Bandwidth | None:
    """The effective bandwidth of one side; None where a shape or the time is not known.

    Args:
        side: of a group.
        n_steps: profiled steps of that side's run.
        peaks: of the device it ran on; None: not known.
    """
    moved, per_s = side.bytes_moved, side.bytes_per_s
    if moved is None or per_s is None or not side.n_events:
        return None
    cache = None if peaks is None else peaks.l2_bytes
    fits = None
    if cache is not None:
        all_fit, some_fit = all_and_some_fit(moved, side.n_launching, side.largest_bytes, cache)
        fits = None if some_fit else all_fit
    return Bandwidth(
        bytes_moved=moved / max(1, n_steps),
        bytes_per_s=per_s,
        peak_bytes_per_s=None if peaks is None else peaks.memory_bytes_per_s,
        fits_cache=fits,
    )
