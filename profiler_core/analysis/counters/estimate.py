"""Our own estimate beside the counters: bytes of single kernels, from shapes and types.

The ledger knows bytes of operators and of generated calls; where one of these is one kernel, they
are that kernel's. An operator of several kernels (a convolution with its layout copies) is left
out: it is unknown which of them moves how many bytes.
"""

from collections.abc import Mapping

from profiler_core.analysis.ledger.bytes_moved import bytes_of
from profiler_core.analysis.ledger.sides import LedgerSide, read_side


def estimated_bytes(side: LedgerSide) -> Mapping[int, int]:
    """Row of device_work -> bytes that the kernel reads and writes at least.

    Kernels of unknown shapes are not in it.
    """
    units_of_side = read_side(side)
    bytes_by_row: dict[int, int] = {}
    for step, executions in zip(units_of_side.steps, units_of_side.executions, strict=True):
        graph_of = {execution.run: execution.graph for execution in executions}
        for unit in step.units:
            if len(unit.events) != 1:
                continue
            graph = graph_of.get(unit.run) if unit.run is not None else None
            moved = bytes_of(unit, graph)
            if moved is not None:
                for row in step.form.like(unit.events)[:, 0].tolist():
                    bytes_by_row[row] = sum(moved)
    return bytes_by_row
