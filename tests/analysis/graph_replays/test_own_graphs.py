"""CUDA graphs of torch.compile on an H200, captured by the product's own hook, judged by `default`.

tests/fixtures/captured_graphs: the built-in workload gnn (torch 2.11, 2026-11-23), its trace under
reduce-overhead, the `capture_traces/` that `capture` made in its second process, and as truth the
trace of the same kernels under `default`, where each is launched by its operator.
"""

from collections import Counter, defaultdict
from pathlib import Path

from benchmarks.replay_judge import launched, replayed
from profiler_core.session.run import Run

FIXTURE = Path(__file__).parents[2] / "fixtures" / "captured_graphs"


def wrong(run: Run) -> Counter[str]:
    """Kernel -> ns whose operator is none of those that launch it under `default`."""
    truth = defaultdict(set)
    for name, operator, _ in launched(FIXTURE / "default" / "trace.json.gz"):
        truth[name].add(operator)
    answers = replayed(run.trace)
    both = [(name, operator, ns) for (name, operator, _), ns in answers if name in truth]
    assert sum(ns for *_, ns in both) > 0.96 * sum(ns for _, ns in answers)
    times: Counter[str] = Counter()
    for name, operator, ns in both:
        if operator not in truth[name]:
            times[name] += ns
    return times


def test_each_replayed_kernel_has_the_operator_that_launches_it_under_default() -> None:
    run = Run.open(FIXTURE / "reduce-overhead")
    replays = run.summary.replays
    assert (replays.joined_ns, replays.ambiguous_ns) == (replays.replayed_ns, 0)
    assert wrong(run) == {}


def test_the_judge_sees_the_operator_around_a_replay_as_wrong(tmp_path: Path) -> None:
    alone = tmp_path / "trace.json.gz"  # without its captures
    alone.write_bytes((FIXTURE / "reduce-overhead" / "trace.json.gz").read_bytes())
    assert sum(wrong(Run.open(alone)).values()) > 100_000
