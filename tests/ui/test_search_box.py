"""The search box: which runs stand before what the comparison has."""

import pytest

from profiler_core.ui.search.box import is_named


@pytest.mark.parametrize(
    ("title", "words", "named"),
    [
        ("breaky", "break", False),  # the comparison's own breaks come first
        ("breaky", "Breaky", True),
        ("bert · 28 Nov, 18:42", "bert", True),
        ("resnet50 (bf16)", "resnet50", True),
        ("resnet50", "res", False),
        ("bert", "gelu", False),
    ],
)
def test_a_run_stands_first_whose_title_begins_with_the_whole_words(title, words, named):
    assert is_named(title, words) == named
