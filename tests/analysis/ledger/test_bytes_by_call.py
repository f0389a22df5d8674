"""What an operator launches inside of itself counts with its own tensors, alike on both sides.

The judge reads the JSON of the sample under autocast: of each launch the innermost operator around
it, by its recorded shapes and types. torch.compile casts in kernels of its own, eager inside of
`aten::conv2d`: 19.3 MB of conv1's 89.9 were told as what the candidate moves more.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from math import prod
from pathlib import Path

import msgspec
import pytest

from profiler_core.analysis.ledger.bytes_moved import bytes_by_call
from profiler_core.analysis.ledger.host_rows import Row
from profiler_core.analysis.ledger.work_units import Unit
from profiler_core.session.comparison import Comparison
from tests.reference import read_events

SAMPLE = Path(__file__).resolve().parents[3] / "sample_traces" / "resnet50-bf16"
EAGER = SAMPLE / "eager+bf16-autocast+channels_last"
CANDIDATES = ("default", "reduce-overhead")
ITEMS = {"float": 4, "c10::BFloat16": 2}
STEPS = 5
HALF, SINGLE = "c10::BFloat16", "float"


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison.open(
        [EAGER, *(SAMPLE / f"{mode}+bf16-autocast+channels_last" for mode in CANDIDATES)]
    )


def _of_launching(event: dict) -> int:
    """Bytes of a call that launches: of a cast, a convolution, or a product with its bias."""
    dims, concrete = event["args"]["Input Dims"], event["args"]["Concrete Inputs"]
    sizes = [
        prod(shape) * ITEMS[kind]
        for shape, kind in zip(dims, event["args"]["Input type"], strict=True)
        if shape
    ]
    if event["name"] == "aten::copy_":
        return sum(sizes[:2])
    if event["name"] == "aten::addmm":
        return sum(sizes[:3]) + 2 * dims[1][0] * dims[2][1]
    assert event["name"] == "aten::cudnn_convolution"
    (n, channels, *image), (n_made, _, *window) = dims[:2]
    padding, stride, dilation = (msgspec.json.decode(concrete[k]) for k in (2, 3, 4))
    met, made = [], []
    for k, length in enumerate(image):
        n_places = (length + 2 * padding[k] - dilation[k] * (window[k] - 1) - 1) // stride[k] + 1
        read = {
            place * stride[k] - padding[k] + dilation[k] * tap
            for place in range(n_places)
            for tap in range(window[k])
        }
        met.append(len(read & set(range(length))))
        made.append(n_places)
    return 2 * n * channels * prod(met) + sizes[1] + 2 * n * n_made * prod(made)


@pytest.fixture(scope="module")
def judged() -> Counter[str]:
    """Bytes of all convolutions and linear layers of the profiled steps, by the outer operator."""
    events = [event for event in read_events(EAGER / "trace.json.gz") if event.get("ph") == "X"]
    operators = sorted(
        (event for event in events if event["cat"] == "cpu_op"),
        key=lambda event: (event["ts"], -event["dur"]),
    )
    on_device = ("kernel", "gpu_memcpy", "gpu_memset")
    launched = {e["args"].get("correlation") for e in events if e["cat"] in on_device}
    calls = [
        event
        for event in events
        if event["cat"].startswith("cuda_") and event["args"].get("correlation") in launched
    ]
    steps = [e for e in events if e["cat"] == "user_annotation" and e["name"][:8] == "Profiler"]
    assert len(steps) == STEPS
    first, last = min(e["ts"] for e in steps), max(e["ts"] + e["dur"] for e in steps)
    starts = [event["ts"] for event in operators]
    launching: defaultdict[str, dict[int, dict]] = defaultdict(dict)
    for call in calls:
        if not first <= call["ts"] < last:
            continue
        around = [
            event
            for event in operators[: bisect_right(starts, call["ts"])][-80:]
            if call["ts"] < event["ts"] + event["dur"] and event["tid"] == call["tid"]
        ]
        if around and around[0]["name"] in ("aten::conv2d", "aten::linear"):
            launching[around[0]["name"]][id(around[-1])] = around[-1]
    return Counter(
        {name: sum(map(_of_launching, of_name.values())) for name, of_name in launching.items()}
    )


@pytest.mark.parametrize("candidate", [0, 1])
def test_casts_inside_of_operators_count_as_the_trace_has_them(comparison, judged, candidate):
    sides = [group.baseline for group in comparison.pairs[candidate].ledger.groups]
    for name, n_bytes in judged.items():
        of_name = [side for side in sides if [each.op for each in side.operators] == [name]]
        assert sum(side.bytes_moved for side in of_name) == n_bytes
    assert judged["aten::conv2d"] / STEPS > 1.5e9


@pytest.mark.parametrize("candidate", [0, 1])
def test_a_convolution_moves_what_it_moves_on_the_other_side(comparison, candidate):
    """Both cast input and weight and convolve: none of the 53 differs by a byte."""
    rows = comparison.pairs[candidate].divided.modules.rows
    moved = {row.path: [side.bytes_moved for side in row.sides] for row in rows}
    convolutions = {
        path: both
        for path, both in moved.items()
        if path.rpartition(".")[2].startswith("conv") or path.endswith("downsample.0")
    }
    assert len(convolutions) == 53
    assert all(before == after for before, after in convolutions.values())
    image, weight, made = 32 * 3 * 224 * 224, 64 * 3 * 7 * 7, 32 * 64 * 112 * 112
    assert convolutions["conv1"][0] == STEPS * ((4 + 2 + 2) * (image + weight) + 2 * made)


def test_the_largest_call_of_an_operator_with_casts_is_one_of_those_inside(comparison):
    """89.9 MB did not fit into 62.9 MB of cache; the 61.0 of the convolution's own call do."""
    side = next(g.baseline for g in comparison.pairs[0].ledger.groups if g.module == "conv1")
    own = 2 * (32 * 3 * 224 * 224 + 64 * 3 * 7 * 7 + 32 * 64 * 112 * 112)
    assert side.largest_bytes == own < 62_914_560 < side.bytes_moved / STEPS
    assert side.n_launching == 3 * STEPS


def _row(name: str, ts: int, shapes: list, types: list[str], concrete: tuple[str, ...] = ()) -> Row:
    dims, kinds, given = (msgspec.json.encode(each).decode() for each in (shapes, types, concrete))
    return Row(ts, 1, name, None, None, dims, kinds, is_annotation=False, concrete=given)


def _unit(name: str, shapes: tuple, dtypes: tuple[str, ...], *launchers: Row) -> Unit:
    return Unit(
        name, 0, 100, (1, 1), None, None, False, shapes=shapes, dtypes=dtypes,
        events=list(range(len(launchers))), launched_in=list(launchers),
    )  # fmt: skip


def test_a_call_inside_of_unknown_size_leaves_the_operator_with_its_own_tensors():
    shapes, dtypes = ((8, 4), (4, 2)), (SINGLE, SINGLE)
    cast = _row("aten::copy_", 1, [[8, 4], [8, 4], []], [HALF, SINGLE, "Scalar"])
    product = _row("aten::mm", 2, [[8, 4], [4, 2]], [HALF, HALF])
    known = _unit("aten::matmul", shapes, dtypes, cast, product)
    assert [moved for _, moved in bytes_by_call(known, {}, None)] == [
        (4 * 32, 2 * 32),
        (2 * 32 + 2 * 8, 2 * 16),
    ]
    unknown = _unit("aten::matmul", shapes, dtypes, cast, _row("mine::product", 2, [], []))
    ((call, moved),) = bytes_by_call(unknown, {}, None)
    assert (call.name, moved) == ("aten::matmul", (4 * 32 + 4 * 8, 4 * 16))


def test_a_weight_that_autocast_keeps_cast_is_read_as_it_is_kept():
    """The second call of a layer casts nothing: it is handed 32 bits and its kernel reads 16."""
    product = _row("aten::mm", 1, [[8, 4], [4, 2]], [HALF, HALF])
    again = _unit("aten::matmul", ((8, 4), (4, 2)), (HALF, SINGLE), product)
    again.inner_dtypes = (HALF, HALF)
    assert [moved for _, moved in bytes_by_call(again, {}, None)] == [(2 * 32 + 2 * 8, 2 * 16)]


def test_zeros_that_are_filled_in_inside_are_not_written_twice():
    """nll_loss_backward fills 64 × 10 zeros, and its own kernel puts 64 values there."""
    targets = ("float", "float", "long int")
    fill = _row("aten::fill_", 1, [[64, 10], []], [SINGLE, "Scalar"])
    own = _row("aten::nll_loss_backward", 2, [[], [64, 10], [64]], list(targets))
    loss = _unit("aten::nll_loss_backward", (None, (64, 10), (64,)), targets, fill, own)
    written = [moved[1] for _, moved in bytes_by_call(loss, {0: "fill", 1: "nll"}, None)]
    assert written == [4 * 640, 4 * 64]


def test_zeros_before_a_gradient_count_alike_in_a_replay():
    """A pooling's gradient was 5.24 MB of the replay and 9.43 of eager, by the same two kernels."""
    sample = SAMPLE.parent / "simplecnn-training"
    launching = [
        event
        for event in read_events(sample / "eager/trace.json.gz")
        if event.get("cat") == "cpu_op" and "avg_pool2d_backward" in event["name"]
    ]
    (given, like), *_ = {
        tuple(4 * prod(shape) for shape in event["args"]["Input Dims"]) for event in launching
    }
    judged = given + 2 * like  # which is as large as the result: its zeros, and what is added
    runs = [sample / variant for variant in ("eager", "default", "reduce-overhead")]
    for pair in Comparison.open(runs).pairs:
        (group,) = (
            group for group in pair.ledger.groups if group.title == "_adaptive_avg_pool2d_backward"
        )
        for side in (group.baseline, group.candidate):
            assert side.bytes_moved == judged * STEPS
            assert (side.n_launching, side.largest_bytes) == (2 * STEPS, given + like)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("FillFunctor<float>", "grad"), [("aten::fill_", [0], 400), (None, [1], 500)]),
        (("Memset (Device)", "grad"), [("aten::fill_", [0], 400), (None, [1], 500)]),
        (("grad",), [(None, [0], 500)]),
        (("FillFunctor<float>",), [(None, [0], 500)]),
    ],
)
def test_only_a_kernel_that_fills_tells_of_zeros(names, expected):
    unit = _unit("aten::avg_pool2d_backward", ((5, 5), (10, 10)), (SINGLE, SINGLE))
    unit.events = list(range(len(names)))
    assert [
        (call.name, call.events, sum(moved))
        for call, moved in bytes_by_call(unit, dict(enumerate(names)), None)
    ] == [(name or unit.name, events, n_bytes) for name, events, n_bytes in expected]


def test_a_fill_beside_another_operator_may_be_of_anything():
    unit = _unit("aten::mm", ((5, 5), (5, 5)), (SINGLE, SINGLE))
    unit.events = [0, 1]
    ((call, moved),) = bytes_by_call(unit, {0: "FillFunctor<float>", 1: "gemm"}, None)
    assert (call, sum(moved)) == (unit, 300)
