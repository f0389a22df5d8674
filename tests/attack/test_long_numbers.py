"""Python reads no number of 4 301 digits, and takes ² for a digit: neither is an error.

Nor is a number that Python reads and a database does not.
"""

import json
import math
from pathlib import Path

import pytest

from profiler_core.agents.kernels import _number
from profiler_core.agents.tools import compare, list_runs, summary
from profiler_core.analysis.graph_replays.servers import _atom, _sglang, _vllm
from profiler_core.analysis.ledger.operator_call import OperatorCall
from profiler_core.analysis.sliding_windows import result_shape
from profiler_core.analysis.sweep.scale import positions
from profiler_core.capture.against import against_of
from profiler_core.capture.option import declared
from profiler_core.capture.spec import CaptureSpec, parse_sweep
from profiler_core.capture.sweep.points import points_of
from profiler_core.errors import BadInput
from profiler_core.ingest.compile_log.belonging import log_origin
from profiler_core.ingest.inductor.code import _sizes
from profiler_core.ingest.inductor.graphs import parse_type
from profiler_core.ingest.kept_sources import read_kept_sources
from profiler_core.ingest.rank_of import rank_in_name
from profiler_core.ingest.torch_logs.reader import read_torch_logs
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
    call = OperatorCall("aten::sum", ((8, 4),), ("float",), ("", f"[{text}, -2]", "", ""))
    assert call.numbers(1) is None
    window = ("", f"[{text}, 2]", "[1, 1]", "[0, 0]", "[1, 1]", "False")
    assert result_shape("aten::max_pool2d", [(8, 4, 8, 8)], window) is None


@pytest.mark.parametrize("text", [*LONG, "--5"])
def test_a_value_of_a_sweep_is_a_text_where_it_is_no_number(text: str) -> None:
    points = points_of(CaptureSpec(workload="customcnn", sweep=parse_sweep(f"option.k={text},-3")))
    assert [point.value for point in points] == [text, -3]


@pytest.mark.parametrize("text", ["9" * 5000, "~nobody-of-this-name/a"])
def test_a_version_that_no_path_can_name_is_no_path(text: str) -> None:
    spec = CaptureSpec(workload="~nobody-of-this-name/net.py:model", against=text)
    against = against_of(spec)
    assert against is not None
    assert against.kind == "git"


@pytest.mark.parametrize(
    "line",
    [
        "V1128 10:00:00.123456 {n} torch/_dynamo/x.py:1] [0/0] [__graph_breaks] Graph break",
        "V1128 10:00:00.123456 1 x.py:{n}] [{n}/{n}] [__graph_breaks] Graph break",
        "V1128 10:00:00.123456 1 x.py:1] [0/0] [__graph_breaks] Graph break in user code at n:{n}",
        "V1128 10:00:00.123456 1 x.py:1] [0/0] [__recompiles] Recompiling function f in n.py:{n}",
        "W1128 10:00:00.123456 1 x.py:1] [0/0] torch._dynamo hit config.recompile_limit ({n})",
        "W1128 10:00:00.123456 1 x.py:1] [0/0]    function: 'f' (n.py:{n})",
        "CUDAGraph supports dynamic shapes by recording {n} distinct sizes",
        "WON'T CONVERT f n.py line {n}",
        "[rank{n}]: V1128 10:00:00.123456 1 x.py:1] [0/0] [__graph_breaks] Graph break",
        '  File "n.py", line {n}, in f',
    ],
)  # fmt: skip
def test_a_log_with_endless_numbers_is_read(line: str, tmp_path: Path) -> None:
    path = tmp_path / "torch_logs.txt"
    broken = (
        "V1128 10:00:00.123456 1 x.py:1] [0/0] [__graph_breaks] Graph break in user code at n:7"
    )
    path.write_text("\n".join([broken, line.format(n=LONG[0]), "  Reason: x", broken]))
    read_torch_logs([path])
    log_origin(path)


def test_a_name_says_no_endless_rank() -> None:
    assert rank_in_name(f"rank{'9' * 200}.txt") is None
    assert rank_in_name("rank12.txt") == 12


@pytest.mark.parametrize(
    "name",
    [
        "step[DECODE bs={n} toks=1]", "step[DECODE bs=1 toks={n}]", "decode[bs={n} tok=1]",
        "execute_context_{n}({n})_generation_1(1)", "execute_{n}_context_1(1)_generation_{n}(1)",
    ],
)  # fmt: skip
def test_a_server_takes_no_endless_batch(name: str) -> None:
    for read in (_vllm, _sglang, _atom):
        read(name.format(n=LONG[0]), 0, 1)


@pytest.mark.parametrize("value", [f"{LONG[0]}x1", "9" * 400 + "x1", 10**400])
def test_an_endless_value_of_a_sweep_has_no_place_on_an_axis(value: str | int) -> None:
    assert positions([1, value]) is None


@pytest.mark.parametrize("run", ["9" * 5000, "~nobody-of-this-name/a", "a\0b"])
def test_a_run_that_no_path_can_name_is_none(home: Path, run: str) -> None:
    with pytest.raises(BadInput, match="There is no run"):
        summary(run)
    with pytest.raises(BadInput, match="There is no run"):
        compare(run)
