"""Python reads no number of 4 301 digits, and takes ² for a digit: neither is an error.

Nor is a number that Python reads and a database does not.
"""

import json
import math
from pathlib import Path

import pytest

from profiler_core.agents.kernels import _number
from profiler_core.agents.tools import list_runs
from profiler_core.analysis.finding_rules.op_work import _numbers
from profiler_core.capture.against import against_of
from profiler_core.capture.option import declared
from profiler_core.capture.spec import CaptureSpec, parse_sweep
from profiler_core.capture.sweep.points import points_of
from profiler_core.errors import BadInput
from profiler_core.ingest.inductor.code import _sizes
from profiler_core.ingest.inductor.graphs import parse_type
from profiler_core.ingest.kept_sources import read_kept_sources
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


@pytest.mark.parametrize("text", LONG)
def test_what_a_log_or_a_trace_calls_a_size_is_one_that_can_be_read(text: str, tmp_path) -> None:
    lines = {text: "x = 1", "7": "y = 2"}
    kept = tmp_path / "sources.json"
    kept.write_text(json.dumps({"files": {"net.py": {"lines": lines}}}))
    assert read_kept_sources(kept) == {"net.py": {7: "y = 2"}}
    assert parse_type(f"f32[8, {text}]") == (None, "f32")
    assert _sizes(f"8, {text}") is None
    assert _numbers(f"[{text}, -2]") == [-2]


@pytest.mark.parametrize("text", [*LONG, "--5"])
def test_a_value_of_a_sweep_is_a_text_where_it_is_no_number(text: str) -> None:
    points = points_of(CaptureSpec(workload="customcnn", sweep=parse_sweep(f"option.k={text},-3")))
    assert [point.value for point in points] == [text, -3]


def test_a_version_that_is_longer_than_names_are_is_no_path() -> None:
    spec = CaptureSpec(workload="net.py:model", against="9" * 5000)
    against = against_of(spec)
    assert against is not None
    assert against.kind == "git"
