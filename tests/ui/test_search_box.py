"""The search box: runs and pages beside what the comparison has, and the times of it."""

import pytest

from profiler_core.analysis.item import kernel_item
from profiler_core.analysis.search import SearchEntry
from profiler_core.page_specs import page_spec
from profiler_core.ui.search import box
from profiler_core.ui.search.box import is_named, matching_pages


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


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("memory", "memory"),
        ("did memory get better and through what", "memory"),
        ("peak memory", "memory"),
        ("dearest operator", "modules"),
        ("what should I try next", "experiments"),
        ("who waits for whom", "ranks"),
        ("graph breaks", "compilation"),
        ("slower", "fusion"),
        ("idle", "timeline"),
        ("slowest kernel", "kernels"),
    ],
)
def test_what_is_asked_finds_the_page_that_answers_it(words, page):
    """ "Nothing in these runs matches" stood there, and that files name no modules."""
    assert page in [spec.name for spec in matching_pages(words, has_runs=True)]


def test_a_page_whose_question_it_is_comes_first():
    """ "Who waits for whom" led to the timeline, which names nobody."""
    assert matching_pages("who waits for whom", has_runs=True)[0].name == "ranks"


def test_a_page_that_needs_runs_or_a_role_is_not_offered_without_them():
    assert not [spec for spec in matching_pages("memory", has_runs=False) if spec.has_dossier]
    assert matching_pages("upload", has_runs=False)[0].name == "runs"
    assert not matching_pages("who captured", has_runs=True)
    assert not matching_pages("", has_runs=True)
    assert not matching_pages("emory", has_runs=True)


def test_a_time_is_told_of_both_runs():
    """The number was the baseline's for what became faster and the candidate's for the rest."""
    entry = SearchEntry("operator", "gelu", "", kernel_item("g"), 160e3, sides_ns=(160e3, 138e3))
    spec = page_spec("overview")
    assert spec is not None
    told = box._result(entry, "gelu", spec, ("a", "b"))["time"].replace("\u00a0", " ")
    assert told == "160 µs → 138 µs"
    of_three = SearchEntry("operator", "gelu", "aten::gelu", kernel_item("g"), runs="a → b")
    assert box._result(of_three, "gelu", spec, ("a", "b"))["detail"] == "a → b · aten::gelu"
    gone = SearchEntry("operator", "gelu", "", kernel_item("g"), 160e3, sides_ns=(160e3, 0.0))
    assert box._time(gone).endswith(" → –")
    assert "→" not in box._time(SearchEntry("operator", "gelu", "", kernel_item("g"), 160e3))
