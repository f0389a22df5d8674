"""Work by the innermost function of the user's code around its launch, from Python calls."""

from pathlib import Path

import pytest

from profiler_core.analysis.user_functions import work_in_functions, work_of_operator
from profiler_core.ingest.open import open_trace
from profiler_core.model.trace import Trace
from tests.analysis.called_functions import write_trace


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return open_trace(write_trace(tmp_path / "trace.json"))


def test_each_kernel_is_of_the_innermost_function_around_its_launch(trace: Trace) -> None:
    work = work_in_functions(trace).select("name", "dur_ns", "place", "function", "operator")
    of_a_step = [
        ("neg_kernel", 7000, "net.py:60", "half", "aten::neg"),
        # A call without length, at the moment of the launch, is over.
        ("mul_kernel", 11_000, "net.py:40", "rotate", "aten::mul"),
        ("add_kernel", 13_000, "net.py:10", "forward", "aten::add"),
        # The operator around this one is called in `forward`, and not in this function.
        ("mul_kernel", 17_000, "impl.py:5", "own", None),
    ]  # torch's own thread of gradients has no Python calls
    assert work.rows() == of_a_step * 2


@pytest.mark.parametrize(
    ("operator", "functions"),
    [
        ("aten::neg", [("half", 7000)]),
        ("aten::mul", [("rotate", 11_000), ("own", 17_000)]),
        ("net::own", [("forward", 17_000)]),  # by its own call, whatever Python it runs
        ("MulBackward0", []),
        ("aten::nothing", []),
    ],
)
def test_what_an_operator_starts_is_of_the_functions_that_call_it(
    trace: Trace, operator: str, functions: list[tuple[str, int]]
) -> None:
    assert work_of_operator(trace, operator).select("function", "dur_ns").rows() == functions * 2


def test_without_python_calls_there_is_no_function(tmp_path: Path) -> None:
    bare = open_trace(write_trace(tmp_path / "trace.json", with_calls=False))
    assert work_in_functions(bare).is_empty()
    assert work_of_operator(bare, "aten::mul").is_empty()


def test_the_work_of_a_cpu_is_its_operators(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "trace.json")
    path.write_text(path.read_text().replace('"kernel"', '"left out"'))
    work = work_in_functions(open_trace(path)).filter(function="rotate")
    assert (
        work.select("name", "dur_ns", "operator").rows() == [("aten::mul", 20_000, "aten::mul")] * 2
    )
