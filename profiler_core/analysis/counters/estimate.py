"""Our own estimate beside the counters: bytes of single kernels, from shapes and types.

The ledger knows bytes of operators, of the calls inside them that launch kernels, and of generated
calls; where one of these is one kernel, they are that kernel's. A call of several kernels (a
convolution with its layout copies) is left out: it is unknown which of them moves how many bytes.
"""

from collections.abc import Mapping

from profiler_core.analysis.ledger.bytes_moved import bytes_by_call
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
            graph = graph_of.get(unit.run) if unit.run is not None else None
            for call, moved in bytes_by_call(unit, units_of_side.names, graph):
                if len(call.events) != 1 or moved is None:
                    continue
                for row in step.form.like(call.events)[:, 0].tolist():
                    bytes_by_row[row] = sum(moved)
    return bytes_by_row
