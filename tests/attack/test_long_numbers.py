"""Python reads no number of 4 301 digits, and takes ² for a digit: neither is an error.

Nor is a number that Python reads and a database does not.
"""

import math
from pathlib import Path

import pytest

from profiler_core.agents.kernels import _number
from profiler_core.agents.tools import list_runs
from profiler_core.capture.option import declared
from profiler_core.capture.spec import CaptureSpec
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


@pytest.mark.parametrize("offset", [2**63, 10**30])
def test_a_list_ends_before_a_row_that_no_database_can_count_to(home: Path, offset: int) -> None:
    first = list_runs()
    beyond = list_runs(offset=offset)
    assert (beyond.rows, beyond.n) == ((), first.n)


@pytest.mark.parametrize("number", [10**24, math.inf, math.nan, 1e308])
@pytest.mark.parametrize(
    "name",
    [
        "rounds", "round_steps", "round_seconds", "telemetry_seconds", "profile_wait",
        "profile_warmup", "steps", "ranks",
    ],
)  # fmt: skip
def test_a_capture_holds_the_device_for_no_endless_number(name: str, number: float) -> None:
    with pytest.raises(BadInput, match=r"Pass [01] to [0-9]+"):
        CaptureSpec(workload="customcnn", **{name: number})
    entry = declared(CaptureSpec)[name]
    assert entry.about.most is not None
    CaptureSpec(workload="customcnn", **{name: int(entry.about.most)})
