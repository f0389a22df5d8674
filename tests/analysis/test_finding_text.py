"""What is at stake in words."""

import pytest

from profiler_core.analysis.findings import Finding
from profiler_core.analysis.wording.findings import stake_text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"at_stake_ns": 800_000.0}, ("800 µs", "per step")),
        ({"at_stake_ns": 800_000.0, "at_most": True}, ("≤ 800 µs", "per step")),
        ({"one_off_ns": 2e9}, ("2.00 s", "once")),
        ({"at_most": True}, ("–", "")),
        ({"weight": "note"}, ("–", "to know")),
    ],
)
def test_stake(fields, said):
    assert stake_text(Finding("key", "", "", "", "kernels", **fields)) == said
