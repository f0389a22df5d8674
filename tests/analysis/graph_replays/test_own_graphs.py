"""CUDA graphs of torch.compile on an H200, captured by the product's own hook, judged by `default`.

tests/fixtures/captured_graphs: the built-in workload gnn (torch 2.11, 2026-11-23), its trace under
reduce-overhead, the `capture_traces/` that `capture` made in its second process, and as truth the
trace of the same kernels under `default`, where each is launched by its operator.
"""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from benchmarks.replay_judge import launched, replayed
from profiler_core.session.run import Run

FIXTURE = Path(__file__).parents[2] / "fixtures" / "captured_graphs"


@pytest.fixture(scope="module")
def run() -> Run:
    return Run.open(FIXTURE / "reduce-overhead")


def test_each_replayed_kernel_has_the_operator_that_launches_it_under_default(run: Run) -> None:
    truth = defaultdict(set)
    for name, operator, _ in launched(FIXTURE / "default" / "trace.json.gz"):
        truth[name].add(operator)
    answers = replayed(run.trace)
    both = [(name, operator, ns) for (name, operator, _), ns in answers if name in truth]
    assert sum(ns for *_, ns in both) > 0.96 * sum(ns for _, ns in answers)
    wrong = Counter()
    for name, operator, ns in both:
        if operator not in truth[name]:
            wrong[name, operator] += ns
    assert wrong == {}


def test_without_the_captures_no_replayed_kernel_has_an_operator(run: Run, tmp_path: Path) -> None:
    replays = run.summary.replays
    assert (replays.joined_ns, replays.ambiguous_ns) == (replays.replayed_ns, 0)
    alone = tmp_path / "trace.json.gz"
    alone.write_bytes((FIXTURE / "reduce-overhead" / "trace.json.gz").read_bytes())
    bare = Counter(operator for (_, operator, _), _ in replayed(Run.open(alone).trace))
    named = Counter(operator for (_, operator, _), _ in replayed(run.trace))
    assert bare[""] > named[""] == 0
