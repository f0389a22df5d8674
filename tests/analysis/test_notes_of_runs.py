"""A note with the name of its run before it reads as one sentence."""

import pytest

from profiler_core.analysis.wording.sentence import of_run


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Its steps replay a CUDA graph.", "default: its steps replay a CUDA graph."),
        ("A replay allocates nothing.", "default: a replay allocates nothing."),
        ("CUDA graphs replay it.", "default: CUDA graphs replay it."),
        ("Inductor's log is cut.", "default: Inductor's log is cut."),
        ("3 kernels have no step.", "default: 3 kernels have no step."),
        ("", "default: "),
    ],
)
def test_its_first_letter_is_small_unless_it_is_a_names_or_an_abbreviations(sentence, told):
    assert of_run("default", sentence) == told
