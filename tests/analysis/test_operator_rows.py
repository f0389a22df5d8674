"""Operators' times: made-up groups, and the kernels that the traces' own correlation tells."""

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from profiler_core.analysis.ledger.result import (
    FusionGroup,
    FusionLedger,
    GroupSide,
    KernelTime,
    OperatorTime,
)
from profiler_core.analysis.operators import naming_side, operator_rows
from profiler_core.session.comparison import Comparison

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
NOTHING = np.empty(0, dtype=np.int32)
N_STEPS = 5
ORDERS = pytest.mark.parametrize("order", [(0, 1), (1, 0)])


def a_side(**times: int) -> GroupSide:
    """Operators and generated kernels by name, `aten__` for `aten::`; one kernel each."""
    named = {name.replace("aten__", "aten::"): ns for name, ns in times.items()}
    return GroupSide(
        operators=tuple(OperatorTime(op, 1, 1, ns) for op, ns in named.items()),
        kernels=tuple(
            KernelTime(op if op.startswith("triton") else f"of {op}", "other", 1, ns)
            for op, ns in named.items()
        ),
        n_events=len(named),
        time_ns=sum(named.values()),
    )


def a_ledger(*groups: tuple[GroupSide, GroupSide], order: tuple[int, int] = (0, 1)) -> FusionLedger:
    """Of groups, either of whose sides may be the baseline's."""
    before, after = order
    return FusionLedger(
        groups=tuple(FusionGroup("matched", "forward", g[before], g[after]) for g in groups),
        baseline_ns=sum(group[before].time_ns for group in groups),
        candidate_ns=sum(group[after].time_ns for group in groups),
        n_baseline_steps=1,
        n_candidate_steps=1,
        step_classes=(),
        baseline_group=NOTHING,
        candidate_group=NOTHING,
        baseline_undecided=NOTHING,
        candidate_undecided=NOTHING,
    )


def times_of(ledger: FusionLedger, order: tuple[int, int] = (0, 1)) -> dict[str, tuple[int, ...]]:
    """Operator -> time of the first and the second side of the groups."""
    rows = operator_rows(ledger)
    assert sum(row.time_ns[0] for row in rows) == ledger.baseline_ns
    assert sum(row.time_ns[1] for row in rows) == ledger.candidate_ns
    return {row.name: tuple(row.time_ns[order.index(side)] for side in (0, 1)) for row in rows}


@ORDERS
def test_an_operators_own_kernels_are_its_own_beside_a_fused_one(order):
    """All of a group's time was divided, so that a backward's own kernels counted for a sum."""
    group = (
        a_side(aten__convolution_backward=60, aten__threshold_backward=40),
        a_side(aten__convolution_backward=50, triton_poi_fused_threshold_backward_0=10),
    )
    assert times_of(a_ledger(group, order=order), order) == {
        "convolution_backward": (60, 50),
        "threshold_backward": (40, 10),
    }


def test_in_a_run_alone_each_kernel_has_its_own_time():
    """Of a replay of known names 152 of 228 launches were another kernel's, beside 0 ns."""
    first, second = "triton_red_fused_add_mean_mul_31", "triton_red_fused_add_mean_14"
    ledger = a_ledger(
        (a_side(**{first: 90}), a_side(**{first: 90, second: 10})),  # tied to what went before
        (a_side(**{second: 10}), a_side()),
    )
    assert times_of(ledger)[second] == (10, 0)
    alone = replace(ledger, is_alone=True)
    assert times_of(alone) == {first: (90, 90), second: (10, 10)}


@ORDERS
def test_what_a_gradients_kernel_computes_again_is_the_gradients_work(order):
    """Half of a layer norm's gradients counted for add_: their kernels list the norm as well."""
    group = (
        a_side(aten__native_layer_norm_backward=50, aten__add_=50),
        a_side(
            triton_red_fused_native_layer_norm_native_layer_norm_backward_view_4=40,
            triton_per_fused_add_native_layer_norm_native_layer_norm_backward_5=20,
        ),
    )
    assert times_of(a_ledger(group, order=order), order) == {
        "native_layer_norm_backward": (50, 50),
        "add_": (50, 10),
    }


@ORDERS
def test_an_eager_run_names_the_rows_on_either_side(order):
    """With a compiled baseline its kernels were the rows, among which eager's were divided."""
    groups = (
        (a_side(aten__linear=70), a_side(aten__mm=50)),
        (a_side(aten__mm=30), a_side(aten__mm=20)),
        (a_side(aten__add=10, aten__gelu=30), a_side(triton_poi_fused_add_gelu_0=20)),
        (GroupSide(), a_side(triton_poi_fused_copy_1=3)),
        (a_side(aten__fill_=2), GroupSide()),
    )
    ledger = a_ledger(*groups, order=order)
    assert naming_side(ledger) == order.index(0)
    assert times_of(ledger, order) == {
        "linear": (70, 50), "mm": (30, 20), "add": (10, 5), "gelu": (30, 15),
        "triton_poi_fused_copy_1": (0, 3), "fill_": (2, 0),
    }  # fmt: skip
    compiled = order.index(1)
    rows = {row.name: row for row in operator_rows(ledger)}
    assert rows["gelu"].shared_ns[compiled] == 15
    assert rows["gelu"].shared_ns[1 - compiled] == 0
    assert rows["gelu"].calls_per_step == 1
    # What only the candidate runs is marked, whichever of them that is.
    new = {name for name, row in rows.items() if row.is_only_in_candidate}
    assert new == ({"triton_poi_fused_copy_1"} if compiled else {"fill_"})


@pytest.mark.parametrize(
    ("kernel", "parts"),
    [
        ("triton_red_fused_native_batch_norm_backward_1", (12, 0)),
        ("triton_poi_fused_copy_native_batch_norm_backward_1", (12, 0)),
        ("triton_poi_fused_native_batch_norm_backward_threshold_backward_1", (9, 3)),
        # It computes something else besides, which one of these may have called.
        ("triton_poi_fused_exp_native_batch_norm_backward_1", (9, 3)),
    ],
)  # fmt: skip
def test_a_kernel_is_divided_among_the_operators_of_its_name(kernel, parts):
    """A reduction of the batch norm's alone was divided with the activation's gradient."""
    group = (
        a_side(aten__cudnn_batch_norm_backward=30, aten__threshold_backward=10),
        a_side(**{kernel: 12}),
    )
    after = {name: times[1] for name, times in times_of(a_ledger(group)).items()}
    assert (after["cudnn_batch_norm_backward"], after["threshold_backward"]) == parts


def test_an_activation_does_not_share_its_kernel_with_the_product_before_it():
    """The name has `addmm` for the bias; the product's own kernel is told by its call."""
    group = (
        a_side(aten__linear=900, aten__gelu=100),
        a_side(aten__mm=700, triton_poi_fused_addmm_gelu_0=80),
    )
    assert times_of(a_ledger(group)) == {"linear": (900, 700), "gelu": (100, 80)}


def _events(path: Path) -> list[dict]:
    return json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def _by_outermost_operator(path: Path) -> Counter[str]:
    """ns by the outermost aten operator around each kernel's launch, from the JSON alone."""
    whole = [event for event in _events(path) if event.get("ph") == "X"]
    launches = {
        event["args"]["correlation"]: event
        for event in whole
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    calls = [
        event
        for event in whole
        if event.get("cat") == "cpu_op" and event["name"].startswith("aten::")
    ]
    times: Counter[str] = Counter()
    for event in whole:
        launch = launches.get(event.get("args", {}).get("correlation"))
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset") or launch is None:
            continue
        around = [
            call
            for call in calls
            if call["tid"] == launch["tid"]
            and call["ts"] <= launch["ts"] < call["ts"] + call["dur"]
        ]
        times[max(around, key=lambda call: call["dur"])["name"]] += round(1000 * event["dur"])
    return times


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("is_bare", [False, True])
@ORDERS
def test_eagers_operators_take_what_its_trace_says_on_either_side(mode, is_bare, order, tmp_path):
    folders = [SAMPLES / "simplecnn-training" / name for name in ("eager", mode)]
    told = _by_outermost_operator(folders[0] / "trace.json.gz")
    runs = folders
    if is_bare:
        runs = [tmp_path / f"{folder.name}.json.gz" for folder in folders]
        for folder, run in zip(folders, runs, strict=True):
            run.write_bytes((folder / "trace.json.gz").read_bytes())
    rows = Comparison.open([runs[side] for side in order]).pairs[0].divided.operators
    ours = Counter[str]()
    for row in rows:
        ours[row.op] += row.time_ns[order.index(0)]
    assert +ours == told


def test_batch_norms_take_the_kernels_that_are_theirs_alone_and_their_part_of_the_others():
    """26.2 and 11.5 µs were said, where the modules of the two had 42.35 µs in all."""
    folder = SAMPLES / "simplecnn-training"
    before = _by_outermost_operator_calls(folder / "eager" / "trace.json.gz")
    fused: Counter[str] = Counter()
    for event in _events(folder / "default" / "trace.json.gz"):
        if event.get("cat") == "kernel" and "_legit_functional_" in event["name"]:
            fused[event["name"].removeprefix("triton_")] += round(1000 * event["dur"])
    norm = "fused__native_batch_norm_legit_functional_"
    expected = 0.0
    for layer, (reduction, second, last) in enumerate(
        [(f"red_{norm}1", f"per_{norm}copy__2", f"poi_{norm}relu_3"),
         (f"red_{norm}6", f"per_{norm}copy__7", f"poi_{norm}relu_8")]
    ):  # fmt: skip
        own, relu = before["aten::batch_norm"][layer::2], before["aten::relu"][layer::3]
        share = sum(own) / (sum(own) + sum(relu))
        expected += fused[reduction] + fused[second] + share * fused[last]
    divided = Comparison.open([folder / "eager", folder / "default"]).pairs[0].divided
    rows = {row.name: row for row in divided.operators}
    assert rows["batch_norm"].time_ns[1] == pytest.approx(expected, abs=2)
    norms = [row for row in divided.modules.rows if row.path in ("norm1", "norm2")]
    theirs = ("batch_norm", "cudnn_batch_norm_backward", "add_")
    for side in (0, 1):  # `add_` counts their batches
        assert sum(rows[name].time_ns[side] for name in theirs) == pytest.approx(
            sum(row.sides[side].time_ns for row in norms), abs=8
        )


def _by_outermost_operator_calls(path: Path) -> dict[str, list[int]]:
    """ns of the kernels of each call of eager's, in its order."""
    whole = [event for event in _events(path) if event.get("ph") == "X"]
    launches = {
        event["args"]["correlation"]: event["ts"]
        for event in whole
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    kernels = [
        (launches[event["args"]["correlation"]], round(1000 * event["dur"]))
        for event in whole
        if event.get("cat") == "kernel" and event["args"]["correlation"] in launches
    ]
    calls: dict[str, list[int]] = {}
    for call in sorted(whole, key=lambda event: event["ts"]):
        if call.get("cat") == "cpu_op" and call["name"] in ("aten::batch_norm", "aten::relu"):
            ends = call["ts"] + call["dur"]
            of_call = [ns for ts, ns in kernels if call["ts"] <= ts < ends]
            calls.setdefault(call["name"], []).append(sum(of_call))
    return calls
