"""The operations of single kernels: of each call neither lost nor counted twice."""

from collections import defaultdict
from math import prod
from typing import Any

import pytest

from profiler_core.analysis.dossier.kernel_products import is_product_helper, kernel_products
from profiler_core.analysis.finding_rules.op_work import product_work
from profiler_core.ingest.open import open_trace
from profiler_core.resources import sample_traces_directory
from tests.builders import a_trace, kernel, launch, op, step
from tests.reference import read_events

BACKWARD = "aten::convolution_backward"
HALF = 2 * (8 * 32 * 6 * 6) * (16 * 3 * 3)  # of one gradient of the made-up convolution
MASK = '["","","","[0]","[1,1]","[1,1]","[1,1]","False","[0,0]","1","[True,True,False]"]'
MAIN = "nvjet_sm90_tst_64x64_64x13_1x2_h_bz_splitK_NTT"
OTHER = "nvjet_sm90_tst_256x128_64x4_1x2_h_ssched_bz_coopA_NNT"
REDUCE = "void cublasLt::splitKreduce_kernel<32, 16, int, float>"
DGRAD, WGRAD = "sm90_xmma_dgrad_implicit_gemm_bf16", "sm90_xmma_wgrad_indexed_implicit_gemm_bf16"
WGRAD_2 = f"{WGRAD}_tilesize64x64"


def backward(*calls: tuple[tuple[str, int], ...], mask: str = MASK):
    """A convolution's backward: of each call its kernels with their times."""
    ops, launches, kernels = [], [], []
    for number, launched in enumerate(calls):
        at = 1000 * (number + 1)
        ops.append({
            **op(at, 900, BACKWARD), "concrete_inputs": mask,
            "input_dims": "[[8,32,6,6],[8,16,6,6],[32,16,3,3]]",
            "input_types": '["c10::BFloat16","c10::BFloat16","c10::BFloat16"]',
        })  # fmt: skip
        for name, dur in launched:
            correlation = len(launches) + 1
            launches.append(launch(at + correlation, 1, correlation))
            kernels.append(kernel(at + 10 * correlation, dur, correlation, name=name))
    return a_trace(annotations=[step(0, 0, 10_000)], ops=ops, runtime=launches, device=kernels)


def told(trace, name: str) -> tuple[int, int | None]:
    """(operations of all calls, the kernel's own time or None)."""
    products = kernel_products(trace, name)
    own = [item.kernel_ns for item in products]
    flops = sum((item.flops or 0) * len(item.times_ns) for item in products)
    return flops, None if None in own else sum(own)


def test_each_gradient_of_a_convolution_is_its_kernel_s_own() -> None:
    """168 of 171 GFLOP: in one of 65 calls the other gradient took longer, and had all of it."""
    trace = backward(
        ((OTHER, 20), (MAIN, 30), (REDUCE, 3)),
        ((OTHER, 31), (MAIN, 30), (REDUCE, 3)),
    )
    assert told(trace, MAIN) == (2 * HALF, 60)
    assert told(trace, OTHER) == (2 * HALF, 51)
    assert kernel_products(trace, REDUCE) == ()


def test_a_kernel_that_computes_both_gradients_has_both() -> None:
    assert told(backward(((MAIN, 20), (MAIN, 30))), MAIN) == (2 * HALF, 50)


def test_one_gradient_is_all_of_a_product_where_the_other_is_not_asked_for() -> None:
    trace = backward(((MAIN, 30), (REDUCE, 3)), mask=MASK.replace("[True,", "[False,"))
    assert told(trace, MAIN) == (HALF, 30)


def test_a_gradient_in_two_parts_leaves_the_other_one_told_apart() -> None:
    trace = backward(((DGRAD, 40), (WGRAD, 30), (WGRAD_2, 5)))
    assert told(trace, DGRAD) == (HALF, 40)
    # Of the weight's gradient no name tells which part is whose: all of the call counts.
    assert told(trace, WGRAD) == told(trace, WGRAD_2) == (2 * HALF, None)


def test_where_one_call_does_not_tell_them_apart_all_calls_count_whole() -> None:
    trace = backward(((OTHER, 20), (MAIN, 30)), ((OTHER, 20), (MAIN, 30), ("a_gemm_1", 9)))
    for name in (OTHER, MAIN):
        assert told(trace, name) == (4 * HALF, None)


def test_what_no_name_tells_of_is_the_longest_kernel_s() -> None:
    names = "void at::native::elementwise_kernel<128>", "void at::native::reduce_kernel<512>"
    trace = backward(((names[0], 20), (names[1], 30)))
    assert told(trace, names[1]) == (2 * HALF, None)
    assert kernel_products(trace, names[0]) == ()


def test_a_product_called_split_k_is_no_reduction_of_one() -> None:
    """cuBLAS names the product itself so, beside the kernel that adds up its parts."""
    assert not is_product_helper(MAIN)
    for name in (
        REDUCE,
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_execute_split_k_kernel__5x_cublas",
        "void cutlass__5x_cudnn::Kernel<cutlass__5x_cudnn::reduction::kernel::ReduceSplitK<float>>",
    ):
        assert is_product_helper(name)


def _shape_flops(call: dict[str, Any]) -> int:
    shapes = call["args"]["Input Dims"]
    if call["name"] == BACKWARD:
        gradient, _, weight = shapes[:3]
        asked = call["args"]["Concrete Inputs"][-1].split(",")[:2]
        return 2 * prod(gradient) * prod(weight[1:]) * sum("True" in each for each in asked)
    if call["name"] == "aten::convolution":  # of 3×3 or 5×5 windows that keep the size
        values, weight = shapes[:2]
        return 2 * values[0] * prod(values[2:]) * prod(weight)
    left, right = shapes[call["name"] == "aten::addmm" :][:2]
    return 2 * prod(left) * right[1]


@pytest.mark.parametrize("variant", ["eager", "default"])
def test_the_operations_of_a_training_step_are_those_of_its_shapes(variant: str) -> None:
    (path,) = (sample_traces_directory() / "simplecnn-training" / variant).glob("trace.json*")
    events = read_events(path)
    steps = [
        (event["ts"], event["ts"] + event["dur"])
        for event in events
        if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#")
    ]
    names = ("aten::mm", "aten::addmm", "aten::convolution", BACKWARD)
    expected: dict[str, int] = defaultdict(int)
    for event in events:
        is_product = event.get("cat") == "cpu_op" and event["name"] in names
        if is_product and any(begin <= event["ts"] < end for begin, end in steps):
            expected[event["name"]] += _shape_flops(event)
    trace = open_trace(path)
    products = product_work(trace)
    counted: dict[str, int] = defaultdict(int)
    for item in products:
        counted[item.name] += (item.flops or 0) * len(item.times_ns)
    assert counted == expected
    # A weight's gradient by Fourier transforms is in parts; all else is of one kernel each.
    every = {part for item in products for parts in item.parts for part, _ in parts}
    of_kernels = [told(trace, name) for name in every if kernel_products(trace, name)]
    own = sum(flops for flops, ns in of_kernels if ns is not None)
    whole = {flops for flops, ns in of_kernels if ns is None}
    assert whole == {sum(expected.values()) - own}
