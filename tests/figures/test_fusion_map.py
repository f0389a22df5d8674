"""The fusion map draws what the ledger says, and stays small for thousands of groups."""

from dataclasses import replace

import pytest

from profiler_core.analysis.ledger.folding import fold, in_program_order
from profiler_core.figures.fusion_layout import fusion_layout, fusion_legend, time_axis
from profiler_core.figures.fusion_map import fusion_map
from profiler_core.figures.fusion_panel import Panel
from profiler_core.figures.theme import DARK, LIGHT
from tests.analysis.ledger.pairs import small

LABELS = ("eager", "default")


@pytest.fixture(scope="module")
def ledger():
    return small("resnet50.eager", "resnet50.default")


def targets(figure):
    (trace,) = [trace for trace in figure.data if trace.name == "groups"]
    return trace


@pytest.mark.parametrize("palette", [LIGHT, DARK])
@pytest.mark.parametrize("order", [fold, in_program_order])
def test_every_large_group_can_be_clicked(ledger, palette, order):
    shown = order(ledger.groups)
    figure = fusion_map(shown, LABELS, palette)
    numbers = [data[0] for data in targets(figure).customdata]
    assert len(numbers) == len(targets(figure).y)
    drawn = {number for number in numbers if number >= 0}
    largest = max(range(len(shown)), key=lambda i: shown[i].baseline_ns)
    assert largest in drawn
    assert sum(sum(g.by_category(0).values()) for g in shown) == pytest.approx(ledger.baseline_ns)
    assert max(targets(figure).y) < max(ledger.baseline_ns, ledger.candidate_ns)


@pytest.mark.parametrize(
    ("tall_ns", "unit", "words"),
    [
        (1_234_000_000.0, "s", ["0", "0.2", "0.4", "0.6", "0.8", "1", "1.2"]),
        (999_999_999.0, "ms", ["0", *(f"{n}00" for n in range(1, 10))]),
        (1_000_000.0, "ms", ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (450.0, "µs", ["0", "0.1", "0.2", "0.3", "0.4"]),
    ],
)
def test_the_axis_has_round_numbers_without_an_exponent(tall_ns, unit, words):
    assert time_axis(tall_ns)[0] == unit
    assert time_axis(tall_ns)[2] == words


def test_the_missing_height_is_the_saving(ledger):
    figure = fusion_map(fold(ledger.groups), LABELS, LIGHT)
    (shape,) = figure.layout.shapes
    saved = ledger.baseline_ns - ledger.candidate_ns
    assert shape.y1 - shape.y0 == pytest.approx(saved)
    texts = " ".join(annotation.text for annotation in figure.layout.annotations)
    assert "less" in texts
    assert "11 batch_norm + add + relu, 49.2 to 194 µs" in texts


def test_names_are_text(ledger):
    """Kernel and operator names come from uploads."""
    group = ledger.groups[0]
    operator = replace(group.baseline.operators[0], op="<script>alert(1)</script>")
    hostile = replace(group, baseline=replace(group.baseline, operators=(operator,)))
    figure = fusion_map(fold((hostile, *ledger.groups[1:])), ("<b>x", "y"), LIGHT)
    assert "<script>" not in figure.to_json()


def test_thousands_of_groups_are_few_shapes(ledger):
    many = tuple(ledger.groups) * 50
    figure = fusion_map(in_program_order(many), LABELS, LIGHT)
    assert len(many) > 5000
    assert len(targets(figure).y) < 800
    assert len(figure.data) < 30
    assert len(figure.to_json()) < 2_000_000


def test_nothing_to_draw():
    assert fusion_map((), LABELS, LIGHT) is not None
    assert fusion_legend((), LIGHT)


def test_legend_names_what_is_there(ledger):
    labels = [label for label, _ in fusion_legend(fold(ledger.groups), LIGHT)]
    assert "convolution" in labels
    assert "Triton pointwise" in labels
    assert "optimizer" not in labels


def test_memsets_above_a_side_are_not_called_copies(ledger):
    """Of this ResNet-50 a step launches memsets and copies nothing."""
    drawing = fusion_layout([Panel("default", fold(ledger.groups))], "eager", LIGHT)
    heads = [" ".join(w.text for line in label.lines for w in line) for label in drawing.labels]
    assert any(" memset" in text for text in heads)
    assert not any("copies" in text or "copy," in text for text in heads)


def test_little_room_keeps_the_name_and_drops_the_range(ledger):
    """Two candidates beside each other: "16 conv2d, 41.0 to 76.…" tells nothing."""
    panels = [Panel("one", fold(ledger.groups)), Panel("two", fold(ledger.groups))]
    drawing = fusion_layout(panels, "eager", LIGHT, height_px=480, time="GPU time")
    texts = [" ".join(w.text for line in label.lines for w in line) for label in drawing.labels]
    (convolution, *_) = [text for text in texts if text.startswith("16 conv2d")]
    assert "…" not in convolution
    assert " to " not in convolution
