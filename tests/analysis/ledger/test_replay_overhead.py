"""What a replay launches beside it is no operator's: copies into its inputs, seed and offset."""

import gzip
import json
from collections import defaultdict

import pytest

from profiler_core.analysis.ledger.graph_calls import execute
from profiler_core.analysis.ledger.ledger import fusion_ledger
from profiler_core.analysis.ledger.replay_overhead import is_seed
from profiler_core.analysis.ledger.replays import Recording
from profiler_core.analysis.ledger.result import COPIES_INPUTS, SEEDS_REPLAY
from profiler_core.analysis.ledger.work_units import GraphRun, HostStep, Unit
from tests.analysis.ledger.test_samples import SAMPLES, side

TRAINING = "simplecnn-training"


def unit(name, *events, shapes=(), dtypes=(), is_replay=False):
    return Unit(
        name, 0, 1, (1, 1), 0, None, False,
        shapes=shapes, dtypes=dtypes, events=list(events), is_replay=is_replay,
    )  # fmt: skip


def seed(event):
    return unit("aten::fill_", event, shapes=((1,), None), dtypes=("long int", "Scalar"))


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        (seed(0), True),
        (unit("aten::fill_", 0), True),  # recorded without shapes
        (unit("aten::fill_", 0, shapes=((64, 10), None), dtypes=("float", "Scalar")), False),
        (unit("aten::fill_", 0, shapes=((1,), None), dtypes=("float", "Scalar")), False),
        (unit("aten::zero_", 0, shapes=((1,),), dtypes=("long int",)), False),
    ],
)
def test_seed_and_offset_are_fills_of_one_integer(each, expected):
    assert is_seed(each) is expected


def test_only_what_comes_directly_before_a_replay_seeds_it():
    units = [
        unit("aten::_foreach_copy_", 0),
        seed(1),  # before a kernel: the program's own
        unit("aten::mm", 2),
        seed(3),
        seed(4),
        unit("cudaGraphLaunch", 5, 6, is_replay=True),
        seed(7),
    ]
    step = HostStep(0, units, [GraphRun("0/0", "forward", "", 0)], (1, 1), None)
    names = dict(enumerate(["copy", *["fill"] * 7]))
    (execution,) = execute(step, None, names, names, Recording())
    assert execution.seeds == [3, 4]
    assert execution.input_copies == [0]


def by_launch() -> dict[str, float]:
    """Device time (ns, all profiled steps) by the range or call that launched it, as plain JSON."""
    with gzip.open(SAMPLES / TRAINING / "reduce-overhead" / "trace.json.gz") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    steps = [e for e in events if e["name"].startswith("ProfilerStep#")]
    steps = [e for e in steps if e["cat"] == "user_annotation"]
    calls = {e["args"]["correlation"]: e for e in events if e["cat"] == "cuda_runtime"}
    fills = [e for e in events if e["name"] == "aten::fill_" and e["cat"] == "cpu_op"]
    fills = [e for e in fills if e["args"].get("Input Dims", [[]])[0] == [1]]
    times: dict[str, float] = defaultdict(float)
    for each in events:
        call = calls.get(each.get("args", {}).get("correlation"))
        if each["cat"] != "kernel" or call is None or not any(_holds(step, call) for step in steps):
            continue
        if any(_holds(fill, call) for fill in fills):
            times["seeds"] += each["dur"] * 1000
        elif call["name"] == "cudaGraphLaunch":
            times[each["name"]] += each["dur"] * 1000
    return times


def _holds(range_, call):
    return range_["ts"] <= call["ts"] < range_["ts"] + range_["dur"]


def test_no_operator_has_the_seed_of_a_replay():
    """The first convolution of a training step with dropout had both: 19.7 µs instead of 18.1."""
    result = fusion_ledger(
        side(f"{TRAINING}/eager", True), side(f"{TRAINING}/reduce-overhead", True)
    )
    times = by_launch()
    seeds = [group for group in result.groups if SEEDS_REPLAY in group.notes]
    assert {(group.kind, group.module, group.phase) for group in seeds} == {
        ("only in the candidate", None, "forward")
    }
    assert [(group.title, group.candidate.n_calls) for group in seeds] == [
        ("seed and offset of random numbers", 2 * 5)  # it stood there twice, as "fill"
    ]
    assert sum(group.candidate.time_ns for group in seeds) == pytest.approx(times["seeds"], abs=1)
    first = next(g for g in result.groups if g.module == "conv1" and g.phase == "forward")
    assert not any("fill" in each.op for each in first.candidate.operators)
    bias = next(k for k in first.candidate.kernels if k.name == "triton_poi_fused_convolution_0")
    assert bias.time_ns == pytest.approx(times[bias.name], abs=1)
    # 64 images of 3 × 32 × 32, 32 filters of 3 × 3 × 3; the result is written, read and written.
    image, weight, outcome = 64 * 3 * 32 * 32, 32 * 3 * 3 * 3, 64 * 32 * 32 * 32
    read, written = first.candidate.bytes_read, first.candidate.bytes_written
    assert (read, written) == (5 * 4 * (image + weight + outcome + 32), 5 * 4 * 2 * outcome)


def test_a_replay_against_itself_or_against_launches_leaves_nothing_unmatched():
    replayed, launched = (
        side(f"{TRAINING}/reduce-overhead", True),
        side(f"{TRAINING}/default", True),
    )
    alike = fusion_ledger(replayed, replayed)
    assert {group.kind for group in alike.groups} == {"matched"}
    notes = [
        group.notes for group in alike.groups if {COPIES_INPUTS, SEEDS_REPLAY} & {*group.notes}
    ]
    assert sorted(notes) == [(COPIES_INPUTS,), (COPIES_INPUTS,), (SEEDS_REPLAY,)]
    less = fusion_ledger(replayed, launched)
    assert less.coverage_baseline == less.coverage_candidate == 1
    removed = [group.baseline.operators[0].op for group in less.of_kind("removed")]
    assert sorted(removed) == ["aten::_foreach_copy_"] * 2 + ["aten::fill_"]
