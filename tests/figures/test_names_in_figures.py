"""Foreign names are text in every figure, and quotes are quotes: Plotly knows no &quot;."""

from dataclasses import replace

import pytest

from profiler_core.analysis.compilation.phases import Node
from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.waterfall import Waterfall, WaterfallRow
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.figures.compilation_icicle import compilation_icicle
from profiler_core.figures.compilation_steps import recompile_steps
from profiler_core.figures.fusion_map import fusion_map
from profiler_core.figures.names import plotly_text
from profiler_core.figures.theme import LIGHT
from profiler_core.figures.waterfall import waterfall_figure
from tests.figures.many_groups import many_groups

NAME = '<b>"x"</b>'
FORMULA = r"$\href{javascript:alert(1)}{x}$"


def _map():
    group = many_groups(1).groups[0]
    operator = replace(group.baseline.operators[0], op=NAME)
    named = replace(
        group, baseline=replace(group.baseline, operators=(operator,)), sources=((NAME, ""),)
    )
    return fusion_map(fold((named,)), (NAME, NAME), LIGHT)


def _waterfall():
    row = WaterfallRow("gemm_conv", NAME, 900, 300)
    return waterfall_figure(Waterfall((row,), 900, 300, "profiled"), (NAME, NAME), LIGHT)


def _icicle():
    return compilation_icicle([Node("a", "", NAME, "dynamo", 10, 1, "0/0")], LIGHT)


@pytest.mark.parametrize("make", [_map, _waterfall, _icicle])
def test_a_name_is_neither_markup_nor_entities(make):
    text = make().to_json().replace('\\"', '"')
    for code, sign in (("\\u003c", "<"), ("\\u003e", ">"), ("\\u002f", "/")):
        text = text.replace(code, sign)
    assert "&quot;" not in text
    assert NAME not in text
    assert '&lt;b&gt;"x"&lt;/b&gt;' in text


def test_a_name_is_no_formula():
    """MathJax of a notebook made a link of it that ran a script."""
    assert plotly_text(FORMULA) == r"&#36;\href{javascript:alert(1)}{x}&#36;"
    row = WaterfallRow("gemm_conv", FORMULA, 900, 300)
    drawn = waterfall_figure(
        Waterfall((row,), 900, 300, "profiled"), (FORMULA, FORMULA), LIGHT
    ).to_json()
    assert "href" in drawn and "$" not in drawn


def test_no_recompile_is_drawn():
    assert recompile_steps([], [5, 6], LIGHT).data


def test_long_names_keep_both_ends():
    assert clipped("my_model_eager_trace.json.gz", 14) == "my_mode…son.gz"
    assert len(clipped("a" * 90, 20)) == 20
    assert clipped("short", 20) == "short"
