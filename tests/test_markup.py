"""Templates escape what is put into them, whatever it is."""

import time
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from profiler_core.analysis.rows.table import Cell, Change, Table
from profiler_core.analysis.wording.sentence import Statement, Strong, clause, ended, listed
from profiler_core.markup import (
    Markup,
    breakable,
    coded,
    coded_prose,
    phrase,
    prose,
    render,
    with_units,
)

EVIL = '<script>alert("1")</script>'
TEMPLATES = Path(__file__).parents[1] / "profiler_core" / "templates"


def test_a_file_s_name_breaks_between_its_words():
    assert breakable("small_cpu.eager") == "small_<wbr>cpu.<wbr>eager"
    assert breakable("reduce-overhead") == "reduce-overhead"
    assert breakable("_x_") == "_x_"
    assert breakable("two\nlines") == "two\nlines"  # a name of anybody's trace


def test_the_settings_of_a_variant_break_between_words_and_values():
    """*Each trial* ended lines in "default+freezing=tr" and "torch.compile(dynamic=T"."""
    assert breakable("default+freezing=true") == "default+<wbr>freezing=<wbr>true"
    assert prose("use torch.compile(dynamic=True), or") == (
        "use torch.<wbr>compile(<wbr>dynamic=<wbr>True), or"
    )


def test_a_name_that_was_cut_does_not_break_at_the_cut():
    whole = "<span class=fs-whole>embedd…layer</span>"
    assert breakable("gather_embedd…layer") == f"gather_<wbr>{whole}"
    assert prose("12 × embedd…layer −2 µs") == f"12 × {whole} −2\u00a0µs"
    assert breakable("more…") == "more…"
    assert "span" not in breakable(f"{'a' * 20}…{'b' * 20}")  # it may need two lines


def test_markup_in_a_name_stays_text():
    assert breakable("a_<b>x") == "a_&lt;b&gt;x"
    assert phrase((Strong("<b>"), " is fast")) == "<em>&lt;b&gt;</em> is fast"


def test_code_between_backticks_is_code_and_stays_text():
    assert coded("an `if <b>` on a tensor") == "an <code>if &lt;b&gt;</code> on a tensor"
    assert coded("one ` alone & more") == "one ` alone &amp; more"


def test_a_sentence_with_code_breaks_no_line_at_the_cut_of_a_name_or_in_a_quantity():
    """A finding of a review ended a line in "void at…" and another in "3"."""
    whole = "<span class=fs-whole>addmm…addmm</span>"
    assert coded_prose("`x` makes addmm…addmm 3 µs slower") == (
        f"<code>x</code> makes {whole} 3\u00a0µs slower"
    )


def test_no_line_ends_between_a_number_and_its_unit():
    """A headline ended in "304 µs → 608", and went on with "µs"."""
    assert with_units("304 µs → 608 µs, 12 % of 3 MB") == (
        "304\u00a0µs → 608\u00a0µs, 12\u00a0% of 3\u00a0MB"
    )
    assert with_units("≤ 93.0 µs") == "≤\u00a093.0\u00a0µs"
    assert with_units("4.1 GB/s, 5 steps of 2 models") == "4.1\u00a0GB/s, 5 steps of 2 models"
    marked = with_units(phrase((Strong("1.25 ms"), " < 2 ms")))
    assert marked == Markup("<em>1.25\u00a0ms</em> &lt; 2\u00a0ms")
    assert isinstance(marked, Markup)


def test_a_long_name_in_a_sentence_breaks_between_its_words():
    """A narrow column ended a line in "torch._inductor.config.prologue_fusi"."""
    assert prose("With torch._inductor.config.prologue_fusion = 0.5 of 3 µs <b>") == (
        "With torch._<wbr>inductor.<wbr>config.<wbr>prologue_<wbr>fusion = 0.5 of 3\u00a0µs "
        "&lt;b&gt;"
    )


def test_every_field_of_a_table_is_escaped():
    cell = Cell(
        EVIL, "worse", Change(EVIL, "better", EVIL), below=(EVIL,), note=EVIL, hint=EVIL, url=EVIL,
    )  # fmt: skip
    table = Table((EVIL,), ((cell, Cell(EVIL, href=EVIL)),), meanings=(EVIL,))
    html = render(
        "page/table.html", table=table, kind="", named=True, width_px=0, badges=[]
    )  # fmt: skip
    assert "<script" not in html
    assert html.count("&lt;script") == 11


def test_a_headline_is_escaped():
    html = render(
        "page/headline.html",
        facts=[EVIL], title=(Strong(EVIL), EVIL), lines=[EVIL], warnings=[EVIL], is_bad=True,
    )  # fmt: skip
    assert "<script" not in html
    assert html.count("&lt;script") == 5


def test_a_value_that_a_template_lacks_is_an_error():
    with pytest.raises(UndefinedError):
        render("page/hta.html", word="agrees")


def test_no_template_takes_text_for_markup():
    """`safe` is for attributes that stand in the template itself."""
    for path in TEMPLATES.rglob("*.html"):
        for line in path.read_text(encoding="utf-8").splitlines():
            for before in line.split("| safe")[:-1]:
                assert before.rstrip().endswith(("'", '"')), f"{path.name}: {line}"


def test_a_statement_is_one_sentence_or_a_heading_with_its_grounds():
    said = Statement((Strong("a"), " is fast"), "it takes 1 ms.")
    assert said.sentence == "a is fast: it takes 1 ms."
    assert (phrase(said.heading), said.grounds) == ("<em>a</em> is fast.", "It takes 1 ms.")
    assert Statement(("a",)).sentence == "a."


def test_words_are_listed_as_they_are_read_aloud():
    assert [listed(words) for words in ([], ["1"], ["1", "2"], ["1", "2", "3"])] == [
        "", "1", "1 and 2", "1, 2 and 3"
    ]  # fmt: skip
    assert (ended("no GPU"), ended("No GPU."), clause("No GPU.")) == (
        "no GPU.", "No GPU.", "No GPU"
    )  # fmt: skip


def test_dots_without_end_hold_no_page_up():
    began_s = time.process_time()
    assert breakable("a" + "." * 100_000 + "<b>").endswith(".&lt;b&gt;")
    assert time.process_time() - began_s < 2.0


def test_code_below_a_cell_breaks_between_its_words_too():
    """ "modeling_bert.p / y:335" stood so beside a dossier at 1 280 px."""
    row = (Cell("breaks", below=("models/modeling_bert.py:335",), is_code_below=True),)
    table = Table(("",), (row,))
    text = render("page/table.html", table=table, kind="", named=False, width_px=0, badges=[])
    assert "models/<wbr>modeling_<wbr>bert.<wbr>py:335" in text
