"""Python reads no number of 4 301 digits, and takes ² for a digit: neither is an error."""

import pytest

from profiler_core.agents.kernels import _number
from profiler_core.errors import BadInput
from profiler_core.ui.fusion.filters import _natural

LONG = ["9" * 5000, "²", "٣" * 5000]


@pytest.mark.parametrize("text", LONG)
def test_a_modules_name_is_sorted_whatever_it_holds(text):
    assert sorted([f"layers.{text}", "layers.2", "layers.10"], key=_natural)[:2] == [
        "layers.2",
        "layers.10",
    ]


@pytest.mark.parametrize("text", LONG)
def test_a_kernel_of_an_agent_is_asked_for_by_a_name_then(text):
    with pytest.raises(BadInput):
        _number([], text, "run")
