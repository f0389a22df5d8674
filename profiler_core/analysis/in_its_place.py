"""What runs in the place of a kernel that one run of a pair alone has, by the ledger.

A CPU's kernels are its outermost operators, so names change where compiled code calls
`aten::addmm` itself, which eager's `aten::linear` calls.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from profiler_core.analysis.ledger.result import FusionGroup


def in_its_place(groups: Sequence[FusionGroup]) -> Mapping[str, tuple[str, ...]]:
    """Kernel of one side alone -> those of the other side in its groups, longest first.

    () where the other side has nothing for it; a kernel of both sides is left out.
    """
    sides = [[group.baseline for group in groups], [group.candidate for group in groups]]
    names = [{kernel.name for each in side for kernel in each.kernels} for side in sides]
    places: dict[str, Counter[str]] = {}
    for own, other in ((0, 1), (1, 0)):
        for side, facing in zip(sides[own], sides[other], strict=True):
            for name in {kernel.name for kernel in side.kernels} - names[other]:
                times_ns = places.setdefault(name, Counter())
                for kernel in facing.kernels:
                    times_ns[kernel.name] += kernel.time_ns
    return {
        name: tuple(sorted(times_ns, key=lambda other: (-times_ns[other], other)))
        for name, times_ns in places.items()
    }
