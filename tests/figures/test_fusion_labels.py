"""Names of what stands alone keep off the names on the ribbons."""

from pathlib import Path

import pytest

from profiler_core.analysis.ledger.folding import fold, in_program_order
from profiler_core.figures.fusion_layout import fusion_layout
from profiler_core.figures.fusion_panel import Panel
from profiler_core.figures.theme import LIGHT
from profiler_core.session.comparison import Comparison

DYNSHAPE = Path(__file__).resolve().parents[2] / "sample_traces" / "dynshape"
LINE_PX = 16


@pytest.fixture(scope="module")
def ledgers():
    runs = [DYNSHAPE / name for name in ("eager", "default", "reduce-overhead")]
    return [pair.ledger for pair in Comparison.open(runs).pairs]


@pytest.mark.parametrize("order", [fold, in_program_order])
def test_only_here_stands_below_the_name_of_a_ribbon(ledgers, order):
    """Seen in dynshape: it ran into "models.py:174", 12 px above it."""
    panels = [Panel("run", order(ledger.groups)) for ledger in ledgers]
    drawing = fusion_layout(panels, "eager", LIGHT)
    per_px = drawing.lowest_ns / drawing.plot_px
    (alone,) = (label for label in drawing.labels if "only here" in label.lines[0][0].text)
    last_panel = [label for label in drawing.labels if 0.75 < label.x < 0.77]
    assert any("relu" in label.lines[0][0].text for label in last_panel)
    assert min(abs(alone.y_ns - label.y_ns) for label in last_panel) >= LINE_PX * per_px
