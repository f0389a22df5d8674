"""The fusion map of the pages lies where that of the reports lies, and names in it are text."""

import re
from dataclasses import replace

import pytest

from profiler_core.analysis.ledger.folding import fold
from profiler_core.figures.fusion_drawing import HEAD_PX
from profiler_core.figures.fusion_layout import fusion_layout
from profiler_core.figures.fusion_map import fusion_maps
from profiler_core.figures.fusion_panel import Panel
from profiler_core.figures.fusion_svg import WIDTH, fusion_svg
from profiler_core.figures.theme import LIGHT
from profiler_core.markup import render
from tests.figures.many_groups import many_groups

NAME = '<b onclick="x">"</b>'
MOST_BYTES = 400_000


@pytest.fixture(scope="module")
def ledger():
    return many_groups(5000)


@pytest.fixture(scope="module")
def panels(ledger):
    groups = fold(ledger.groups)
    return [Panel("default", groups, selected=0), Panel("max", groups)]


@pytest.fixture(scope="module")
def drawing(panels):
    return fusion_layout(panels, "eager", LIGHT, height_px=500)


def _markup(drawing):
    return str(render("page/fusion_map.html", map=fusion_svg(drawing), alt="what it shows"))


def test_the_strips_lie_where_a_report_has_its_bars(panels, drawing):
    figure = fusion_maps(panels, "eager", LIGHT, height_px=500)
    bars = [trace for trace in figure.data if trace.name == "groups"]
    svg = fusion_svg(drawing)
    per_ns = svg.plot_px / figure.layout.yaxis.range[0]
    strips = iter(svg.strips)
    for trace in bars:
        for y, high, data, text in zip(
            trace.y, trace.width, trace.customdata, trace.hovertext, strict=True
        ):
            strip = next(strips)
            assert strip.box.y == pytest.approx((y - high / 2) * per_ns, abs=0.01)
            assert strip.box.height == pytest.approx(high * per_ns, abs=0.01)
            assert strip.box.x == pytest.approx(trace.base * WIDTH, abs=0.01)
            assert (-1 if strip.position is None else strip.position, strip.panel) == tuple(data)
            assert strip.hover.split("\n")[1] == text.split("<br>")[1]
    assert next(strips, None) is None


@pytest.mark.parametrize(("n", "kernels"), [(1, "1 kernel"), (2, "2 kernels")])
def test_what_a_strip_names_counts_its_kernels(ledger, n, kernels):
    (group, *_) = ledger.groups
    of_side = replace(group.baseline.kernels[0], n=n * group.n_steps[0])
    alone = replace(group, baseline=replace(group.baseline, kernels=(of_side,)))
    svg = fusion_svg(
        fusion_layout([Panel("default", fold([alone]))], "eager", LIGHT, height_px=500)
    )
    assert svg.strips[0].hover.split("\n")[1].startswith(f"{kernels}, ")


def test_a_ribbon_leads_from_the_left_stack_to_the_right_one(drawing):
    svg = fusion_svg(drawing)
    per_ns = svg.plot_px / drawing.lowest_ns
    [first, *_], path = next(iter(drawing.ribbons.values())), svg.ribbons[0].path
    start, _, end = re.findall(r"[\d.]+ [\d.]+(?=[CVZ])", path.split("Z")[0] + "Z")
    assert start == f"{first.x[0] * WIDTH:.1f} {first.tops_ns[0] * per_ns:.2f}"
    assert end == f"{first.x[0] * WIDTH:.1f} {first.ends_ns[0] * per_ns:.2f}"
    assert path.count("Z") == len(next(iter(drawing.ribbons.values())))


def test_the_names_of_the_runs_stand_in_two_lines_above_the_stacks(drawing):
    head = [text for text in fusion_svg(drawing).texts if text.y < HEAD_PX]
    assert [text.words[0].text for text in head if text.words[0].is_bold] == [
        "eager", "default", "eager", "max",
    ]  # fmt: skip
    places = sorted({(text.x, text.anchor) for text in head})
    assert [anchor for _, anchor in places] == ["start", "end", "start", "end"]
    assert [x for x, _ in places] == pytest.approx([0, 48.25, 51.75, 100])
    assert sorted({text.y for text in head}) == pytest.approx([16.5, 33.5], abs=0.2)


def test_the_open_group_is_the_only_strong_one(drawing):
    strong = [ribbons for (_, opacity), ribbons in drawing.ribbons.items() if opacity == 0.5]
    assert sum(map(len, strong)) == 1


def test_thousands_of_groups_are_small_markup(drawing):
    markup = _markup(drawing)
    assert len(markup) < MOST_BYTES
    assert markup.count("class=ribbon") == len(drawing.ribbons)


def test_beside_a_dossier_a_long_name_is_short(ledger):
    """At 500 px it would lie over the stacks and over what was saved."""
    group = ledger.groups[0]
    long = replace(group.baseline.operators[0], op="aten::_scaled_dot_product_attention_backward")
    named = replace(group, baseline=replace(group.baseline, operators=(long,)))
    panels = [Panel("default", fold((named,)))]
    markup = _markup(fusion_layout(panels, "eager", LIGHT))
    (narrow,) = re.findall("<tspan class=instead display=none[^>]*>([^<]*)<", markup)
    assert len(narrow.strip()) <= 28
    wide = re.findall("<tspan class=spare[^>]*>([^<]*)<", markup)
    assert wide[0].strip() == "_scaled_dot_product_attention_backward"
    report = fusion_maps(panels, "eager", LIGHT, height_px=500)
    assert not any(narrow.strip() in str(note.text) for note in report.layout.annotations)


@pytest.mark.parametrize("n_panels", [1, 2])
def test_no_words_of_a_ribbon_lie_over_the_stacks_beside_a_dossier(ledger, n_panels):
    """Beside a dossier at 1280 px the plot is 450 px wide, and a letter of it 5.5."""
    group = ledger.groups[0]
    long = replace(group.baseline.operators[0], op="aten::_scaled_dot_product_attention_backward")
    named = replace(group, baseline=replace(group.baseline, operators=(long,)))
    panel = Panel("default", fold((*ledger.groups, named)))
    drawing = fusion_layout([panel] * n_panels, "eager", LIGHT)
    ribbon_px = 450 / n_panels * (1 - 2 * 0.17)
    for label in drawing.labels:
        if label.anchor == "middle" and label.size_px == 12 and label.y_ns > 0:
            narrow = "".join(w.text for line in label.lines for w in line if not w.is_spare)
            assert 5.5 * len(narrow.strip()) <= ribbon_px, narrow


def test_foreign_names_are_text(ledger):
    group = ledger.groups[0]
    operator = replace(group.baseline.operators[0], op=NAME)
    named = replace(
        group, baseline=replace(group.baseline, operators=(operator,)), sources=((NAME, ""),)
    )
    panel = Panel(NAME, fold((named,)))
    markup = _markup(fusion_layout([panel], NAME, LIGHT))
    assert NAME not in markup
    assert "<b" not in markup
    assert markup.count("&lt;b onclick=&#34;x&#34;&gt;&#34;&lt;/b&gt;") >= 4
    assert 'data-position="0"' in markup


def test_what_is_joined_opens_nothing(drawing):
    joined = [strip for strip in fusion_svg(drawing).strips if strip.position is None]
    assert joined
    assert all("smaller groups" in strip.hover for strip in joined)
    assert _markup(drawing).count("data-position") == len(drawing.targets) - len(joined)


def test_nothing_to_draw():
    assert "<rect" not in _markup(fusion_layout([Panel("x", ())], "y", LIGHT))
