"""Names of what stands alone keep off the names on the ribbons."""

from dataclasses import replace
from pathlib import Path

import pytest

from profiler_core.analysis.ledger.folding import fold, in_program_order
from profiler_core.analysis.ledger.group_marks import group_marks
from profiler_core.figures.fusion_layout import fusion_layout
from profiler_core.figures.fusion_panel import Panel
from profiler_core.figures.fusion_parts import drawn_parts
from profiler_core.figures.theme import LIGHT
from profiler_core.session.comparison import Comparison
from tests.figures.many_groups import many_groups

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
DYNSHAPE, BERT = SAMPLES / "dynshape", SAMPLES / "bert"
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


def written(drawing, x):
    """The words of the labels whose middle is there: as wide as it gets, and as narrow."""
    labels = [label.lines[0] for label in drawing.labels if abs(label.x - x) < 0.01]
    wide = ["".join(w.text for w in line if not w.is_instead and not w.is_bold) for line in labels]
    narrow = ["".join(w.text for w in line if not w.is_spare and not w.is_bold) for line in labels]
    return [[text.strip() for text in texts if text.strip()] for texts in (wide, narrow)]


def test_groups_of_one_title_are_told_apart_by_their_module():
    """Five "12 × linear" stood below each other where the lines of code had no room."""
    pairs = Comparison.open([BERT / n for n in ("eager", "default", "reduce-overhead")]).pairs
    panels = [Panel("run", fold(pair.ledger.groups)) for pair in pairs]
    two = fusion_layout(panels, "eager", LIGHT)
    beside, _ = written(two, 0.24)
    assert beside[:6] == [
        "layer.output.dense", "attention.output.dense", "12 × linear, key", "12 × linear, query",
        "12 × linear, value", "intermediate.dense",
    ]  # fmt: skip
    assert len(set(beside)) == len(beside)
    wide, narrow = written(fusion_layout(panels[:1], "eager", LIGHT), 0.5)
    assert wide[0] == "12 × linear, layer.output.dense      modeling_bert.py:348"
    assert narrow[:2] == ["layer.output.dense", "attention.output.dense"]
    assert len(set(narrow)) == len(narrow)


def test_marks_are_as_short_as_they_may_be():
    groups = [
        replace(many_groups(1).groups[0], module=module, sources=((line, ""),))
        for module, line in (
            ("h.0.mlp.fc", "m.py:1"), ("h.1.mlp.fc", "m.py:2"), ("h.1.attn.out", "m.py:3"),
            ("h.1.same", "m.py:4"), ("h.1.same", "m.py:5"), (None, "m.py:6"),
            (None, ""), (None, ""),
        )
    ]  # fmt: skip
    assert group_marks(in_program_order(groups)) == (
        "h.0.mlp.fc", "h.1.mlp.fc", "out", "m.py:4", "m.py:5", "m.py:6", "", "",
    )  # fmt: skip
    assert group_marks(in_program_order(groups[:1])) == ("",)


def test_a_label_with_little_room_says_the_operators_and_its_line_once():
    """ "resnet.py:147   733 → 538 µs   resnet.py:147" named no operator."""
    groups = [
        replace(many_groups(1).groups[0], module=None, sources=((line, ""),))
        for line in ("resnet.py:147", "resnet.py:151")
    ]
    (part, _) = drawn_parts(in_program_order(groups), 0.0)
    assert (part.mark, part.source) == ("resnet.py:147", "")
    title = "11 batch_norm + add + relu"
    whole = f"{title}, {part.mark}"
    part = replace(part, bare_title=title, names=(whole, whole, part.mark))
    assert part.name_within(len(whole)) == whole
    short = part.name_within(len(whole) - 1)
    assert short.startswith("11 batch") and "…" in short
    assert short.endswith(", resnet.py:147")
    assert part.name_within(len(part.mark) + 5) == part.mark
