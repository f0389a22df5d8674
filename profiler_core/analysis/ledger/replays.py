"""Operators for the kernels of a CUDA-graph replay, from a run of the same program that shows them.

A replay without a log shows kernels only. A run that launches them one by one shows with which
operator each began and on which shapes: the same compiled program without CUDA graphs has the same
generated kernels in the same order, and any other run may start some of the same library kernels
on the same grids.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from profiler_core.analysis.ledger.alignment import align
from profiler_core.analysis.ledger.operators import ANCHORS, operators_of_kernel
from profiler_core.analysis.ledger.work_units import HostStep, Unit

Kernel = str  # name and grid
Kernels = tuple[Kernel, ...]

# Of the generated kernels of a replay, how many a run must have to be the same program.
_SAME_PROGRAM = 0.9


@dataclass(slots=True)
class Recording:
    """What other runs show of which operator starts which kernels."""

    runs: list[list[tuple[Kernel, Unit]]] = field(default_factory=list)  # of a compiled graph
    # Kernels of one operator of a library -> the operators that started exactly these.
    operators: dict[Kernels, list[Unit]] = field(default_factory=lambda: defaultdict(list))

    def add(self, steps: Iterable[HostStep], kernels: Mapping[int, Kernel]) -> None:
        """Add a run.

        Args:
            steps: one of each form.
            kernels: of the rows of its work table.
        """
        for step in steps:
            by_run: dict[int, list[tuple[Kernel, Unit]]] = defaultdict(list)
            for unit in step.units:
                if not unit.events or unit.is_replay or unit.end_ns == unit.ts_ns:
                    continue
                started = [kernels[event] for event in unit.events]
                if unit.run is not None:
                    by_run[unit.run].extend((kernel, unit) for kernel in started)
                main = tuple(kernel for kernel in started if not is_memory(kernel))
                if unit.common in ANCHORS and main:
                    self.operators[main].append(unit)
            self.runs.extend(by_run.values())

    def operators_of(self, kernels: Sequence[Kernel]) -> list[tuple[int, Unit] | None]:
        """(number, operator) of each kernel of a replay; one number is one call. None: not known.

        Args:
            kernels: of one replay, in the order in which they ran.
        """
        run = self._same_program(kernels)
        if run is not None:
            return _by_order(kernels, run)
        return self._by_library(kernels)

    def _same_program(self, kernels: Sequence[Kernel]) -> list[tuple[Kernel, Unit]] | None:
        """The run with the same generated kernels in the same number."""
        wanted = _generated(kernels)
        n_wanted = sum(wanted.values())
        for run in self.runs if n_wanted else ():
            others = _generated(kernel for kernel, _ in run)
            common = sum((wanted & others).values())
            if common >= _SAME_PROGRAM * max(n_wanted, sum(others.values())):
                return run
        return None

    def _by_library(self, kernels: Sequence[Kernel]) -> list[tuple[int, Unit] | None]:
        """Library kernels that only one operator, always on the same shapes, started elsewhere."""
        operators = {
            started: units[0]
            for started, units in self.operators.items()
            if len({(unit.common, unit.shapes, unit.dtypes, unit.window) for unit in units}) == 1
        }
        longest = max(map(len, operators), default=0)
        positions = [position for position, kernel in enumerate(kernels) if not is_memory(kernel)]
        result: list[tuple[int, Unit] | None] = [None] * len(kernels)
        at = 0
        while at < len(positions):
            for n in range(min(longest, len(positions) - at), 0, -1):
                here = positions[at : at + n]
                unit = operators.get(tuple(kernels[position] for position in here))
                if unit is not None:
                    for position in range(here[0], here[-1] + 1):
                        result[position] = (at, unit)
                    at += n
                    break
            else:
                at += 1
        return result


def is_memory(kernel: Kernel) -> bool:
    """A copy or a memset, which a replay may do by another kernel."""
    return kernel.lower().startswith(("memset", "memcpy"))


def _generated(kernels: Iterable[Kernel]) -> Counter[str]:
    names = (kernel.partition(" ")[0] for kernel in kernels)
    return Counter(name for name in names if operators_of_kernel(name))


def _by_order(
    kernels: Sequence[Kernel], run: Sequence[tuple[Kernel, Unit]]
) -> list[tuple[int, Unit] | None]:
    """Kernel by kernel; what has no counterpart of its name lies between two of one operator."""
    pairs = align(kernels, [kernel for kernel, _ in run], lambda a, b: int(a == b))
    result: list[tuple[int, Unit] | None] = [None] * len(kernels)
    for position, other in pairs:
        unit = run[other][1]
        result[position] = (id(unit), unit)
    following: tuple[int, Unit] | None = None
    for position in range(len(kernels) - 1, -1, -1):
        if result[position] is None and is_memory(kernels[position]):
            result[position] = following  # fills or copies what the next operator works on
        following = result[position]
    return result
