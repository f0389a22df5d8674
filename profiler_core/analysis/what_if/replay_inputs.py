"""The inputs that a CUDA graph's replay copies into its own memory, by what Inductor logged.

Parameters and buffers lie where the graph was captured; every other input comes at a new address.
"""

import math
import re

from profiler_core.analysis.device_peaks import DevicePeaks
from profiler_core.analysis.graph_arguments import is_of_module
from profiler_core.analysis.ledger.operator_call import ITEM_BYTES
from profiler_core.analysis.what_if.change import ReplayInputs
from profiler_core.model.inductor import CompiledGraph, InductorLog

_FRAGMENT = re.compile(r"(\w+)\[([\d, ]*)\]")  # "f32[64, 2048][2048, 1]cuda:0"


def replay_inputs(code: InductorLog | None, peaks: DevicePeaks | None) -> tuple[ReplayInputs, ...]:
    """Of each compiled graph with inputs that move; () where no log says them.

    Args:
        code: of the run.
        peaks: of the device; None: copies count with no time that grows with their size.
    """
    graphs = () if code is None else code.graphs
    return tuple(
        ReplayInputs(graph.compile_id, len(moving), _copy_ns(graph, moving, peaks))
        for graph in graphs
        if graph.direction != "backward" and (moving := _moving(graph))
    )


def _moving(graph: CompiledGraph) -> list[int]:
    """Places of the inputs that are neither parameters nor buffers."""
    return [number for number, name in enumerate(graph.placeholders) if not is_of_module(name)]


def _copy_ns(graph: CompiledGraph, moving: list[int], peaks: DevicePeaks | None) -> float:
    """What the device's memory takes to read and write them, as far as kernels say their sizes."""
    if peaks is None:
        return 0.0
    shown = {name: text for kernel in graph.kernels.values() for name, text in kernel.inputs}
    names = [f"primals_{n + 1}" if graph.direction == "forward" else f"arg{n}_1" for n in moving]
    sizes = (_bytes(shown.get(name, "")) for name in names)
    return 2 * sum(sizes) / peaks.memory_bytes_per_s * 1e9


def _bytes(fragment: str) -> int:
    """Of a tensor; 0 where its size is not known."""
    match = _FRAGMENT.match(fragment)
    if match is None:
        return 0
    sizes = [int(size) for size in match[2].split(",") if size.strip()]
    return math.prod(sizes) * ITEM_BYTES.get(match[1], 0)
