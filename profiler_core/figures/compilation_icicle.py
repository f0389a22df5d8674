"""Compile time as an icicle: compilations side by side, the phases inside each below it."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from profiler_core.analysis.compilation.phases import Node, Stage
from profiler_core.figures.icicle import icicle
from profiler_core.figures.names import plotly_text
from profiler_core.figures.theme import Palette
from profiler_core.units import format_count, format_duration, format_share_of

_ROW_PX = 30
STAGE_LABELS: Mapping[Stage, str] = {
    "dynamo": "Dynamo: tracing Python",
    "aot": "AOTAutograd",
    "inductor": "Inductor: graphs and scheduling",
    "codegen": "generating and compiling kernels",
    "autotune": "autotuning",
    "cache": "caches",
    "other": "other",
}


def stage_colors(palette: Palette) -> Mapping[Stage, str]:
    """A colour for each part of the compiler, from the palette of the kernels."""
    return {
        "dynamo": palette.category("gemm"),
        "aot": palette.category("attention"),
        "inductor": palette.category("triton_pointwise"),
        "codegen": palette.category("triton_reduction"),
        "autotune": palette.category("norm"),
        "cache": palette.category("memcpy"),
        "other": palette.baseline,
    }


def compilation_icicle(nodes: Sequence[Node], palette: Palette) -> go.Figure:
    """An icicle of compile phases, each box as wide as its time; a click zooms into a box."""
    colors = stage_colors(palette)
    total = nodes[0].dur_ns if nodes else 0
    depth = max((node.key.count("/") for node in nodes), default=0) + 1
    fills = [palette.line if not node.parent else colors[node.stage] for node in nodes]
    return icicle(
        [node.key for node in nodes],
        [node.parent for node in nodes],
        [
            node.label if node.parent else f"{node.label}, {format_duration(total)}"
            for node in nodes
        ],
        [node.dur_ns / 1e9 for node in nodes],
        [_hover(node, total) for node in nodes],
        fills,
        palette,
        height=min(depth, 12) * _ROW_PX,
    )


def _hover(node: Node, total: int) -> str:
    times = f" · {format_count(node.n)} times" if node.n > 1 else ""
    share = format_share_of(node.dur_ns, total)
    return f"{plotly_text(node.label[:120])}<br>{format_duration(node.dur_ns)} · {share}{times}"
