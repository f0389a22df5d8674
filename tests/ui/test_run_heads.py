"""Long names at the head of a table."""

from profiler_core.markup import breakable


def test_a_file_s_name_breaks_between_its_words():
    assert breakable("small_cpu.eager") == "small_<wbr>cpu.<wbr>eager"
    assert breakable("reduce-overhead") == "reduce-overhead"
    assert breakable("_x_") == "_x_"


def test_markup_in_a_name_stays_text():
    assert breakable("a_<b>x") == "a_&lt;b&gt;x"
