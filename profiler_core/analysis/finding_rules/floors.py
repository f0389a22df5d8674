"""The least that products can take: the roofline.

A product's floor is its floating-point operations at the device's dense peak, or what it reads once
through the memory, whichever takes longer.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from profiler_core.analysis.device_peaks import DevicePeaks
from profiler_core.analysis.finding_rules.op_work import OpWork


def floor_ns(op: OpWork, flops_per_s: float, peaks: DevicePeaks, item: int) -> float | None:
    """The least time that one call of a product can take; None where its shapes are not known.

    Args:
        op: the product.
        flops_per_s: the device's dense peak in the type that it is to be computed in.
        peaks: of the device.
        item: bytes an element of that type.
    """
    flops = op.flops
    if flops is None:
        return None
    return 1e9 * max(flops / flops_per_s, op.least_bytes(item) / peaks.memory_bytes_per_s)


@dataclass(frozen=True)
class Headroom:
    """Products against their floors, ns per step."""

    time_ns: float  # of those whose shapes are known
    floor_ns: float
    flops: float

    @property
    def at_most_ns(self) -> float:
        """What could be won if every product ran at its floor."""
        return max(0.0, self.time_ns - self.floor_ns)


def headroom(
    ops: Iterable[tuple[OpWork, float | None, int]], peaks: DevicePeaks, n_steps: int
) -> Headroom | None:
    """Add up products, each with the peak and the bytes of the type it is to be computed in.

    A product that already is at its floor counts with its own time. None: no shape is known.
    """
    time = floor = flops = 0.0
    for op, peak, item in ops:
        bound_ns = None if peak is None else floor_ns(op, peak, peaks, item)
        if bound_ns is not None:
            time += op.time_ns
            floor += sum(min(bound_ns, time_ns) for time_ns in op.times_ns)
            flops += (op.flops or 0) * len(op.times_ns)
    if time == 0:
        return None
    return Headroom(time / n_steps, floor / n_steps, flops / n_steps)
