"""Every page shows the same candidate until another one is picked: the leading one."""

import pytest

from tests.apps import opened, text_of

RUNS = {
    "baseline": "sample/customcnn/eager",
    "candidate": ["sample/customcnn/default", "sample/customcnn/reduce-overhead"],
}


@pytest.mark.parametrize(
    ("page", "label"),
    [
        ("overview", "Candidate"),
        ("fusion", "Candidate"),
        ("modules", "Candidate"),
        ("memory", "Candidate"),
        ("compilation", "Run"),
    ],
)
def test_a_page_shows_the_leading_candidate_first(home_with_columns, page, label):
    app = opened(page, **RUNS)
    (choice,) = [group for group in app.button_group if group.label == label]
    shown = choice.value[0] if isinstance(choice.value, list) else choice.value
    if page == "fusion":  # it draws both; the one whose groups are listed has a choice of its own
        (listed,) = [g for g in app.button_group if g.key == "fusion_listed"]
        shown = listed.value[0] if isinstance(listed.value, list) else listed.value
    assert shown in (1, "2", "reduce-overhead")


def test_the_kernels_line_is_about_the_leading_candidate(home_with_columns):
    text = text_of(opened("kernels", **RUNS))
    assert "most expensive of reduce-overhead take" in text
