"""A decode server's replays on an H200, judged by the same steps that ran eager.

tests/fixtures/server_loop: `benchmarks/server_loop.py` (static cache, batches of 1, 4 and 16,
graphs captured by hand), torch 2.11, without flows and Python calls but modules; truth.json.gz is
what `replay_judge --pair --truth` read of the eager trace as plain JSON.
"""

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.replay_judge import judge_pair, launched, replayed
from profiler_core.session.run import Run

LOOP = Path(__file__).parents[2] / "fixtures" / "server_loop"


@pytest.fixture(scope="module")
def run() -> Run:
    return Run.open(LOOP)


def test_each_replayed_kernel_has_the_operator_and_module_that_launch_it_eager(run: Run) -> None:
    truth = [
        tuple(kernel)
        for kernel in json.loads(gzip.decompress((LOOP / "truth.json.gz").read_bytes()))
    ]
    shares = judge_pair(truth, replayed(run.trace))
    assert shares["has module"] > 0.985  # the token's copy and the position are in no module
    assert [shares[f"wrong {what}"] for what in ("kernel", "operator", "module")] == [0, 0, 0]


def test_all_of_the_replayed_time_is_joined_and_none_of_it_ambiguous(run: Run) -> None:
    replays = run.summary.replays
    assert (replays.joined_ns, replays.ambiguous_ns) == (replays.replayed_ns, 0)
    assert (replays.n_graphs, replays.n_replays) == (3, 12)


def test_the_three_batches_are_told_apart(run: Run) -> None:
    phases = run.server_phases
    assert [(phase.phase, phase.batch, phase.n_steps) for phase in phases] == [
        ("decode", 1, 3), ("decode", 4, 4), ("decode", 16, 5),
    ]  # fmt: skip
    assert [phase.padding for phase in phases] == [0.0, pytest.approx(0.1875), pytest.approx(0.25)]
    assert all(phase.replayed_ns > 0.95 * phase.kernel_ns for phase in phases)


def test_the_judge_sees_a_wrong_module() -> None:
    kernel = ("gemm", "aten::mm", "Linear_1")
    shares = judge_pair([kernel, kernel], [(kernel, 3), (("gemm", "aten::mm", "Linear_2"), 1)])
    assert (shares["wrong operator"], shares["wrong module"]) == (0, 0.25)
    begun = launched(LOOP / "capture_traces" / "bs_1_rank0.json.gz")
    assert {(operator, module) for _, operator, module in begun} == {("aten::fill_", "")}
