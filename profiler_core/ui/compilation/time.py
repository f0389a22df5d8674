"""Where compile time went, as an icicle with its legend."""

from collections.abc import Sequence

from profiler_core.analysis.compilation.phases import Node
from profiler_core.figures.compilation_icicle import (
    STAGE_LABELS,
    compilation_icicle,
    stage_colors,
)
from profiler_core.ui.charts import show_figure, show_legend
from profiler_core.ui.page import section
from profiler_core.ui.style import colors


def show_phases(nodes: Sequence[Node]) -> None:
    """Draw it; nothing where no log has times."""
    if not nodes:
        return
    section(
        "Where compile time went",
        "Compilations beside each other, the phases inside each below it, each instant once; "
        "of several ranks, the one that compiled longest. Click a box to zoom in, the bar above "
        "them to go back out.",
    )
    present = {node.stage for node in nodes if node.parent}
    shades = stage_colors(colors())
    show_legend([(label, shades[key]) for key, label in STAGE_LABELS.items() if key in present])
    show_figure(
        compilation_icicle(nodes, colors()),
        key="compile_phases",
        alt="Share of compile time by compilation and phase, as nested boxes.",
    )
