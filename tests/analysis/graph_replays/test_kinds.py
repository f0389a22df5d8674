"""Which part of a server each kernel is, against plain JSON and on made-up launches."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.graph_replays.kinds import server_kinds
from profiler_core.analysis.graph_replays.phases import server_phases
from profiler_core.ingest.open import open_trace
from profiler_core.model.trace import Trace
from tests.analysis.graph_replays.made import replayed
from tests.builders import AUTOGRAD, a_trace, kernel, launch, op

LAYER = Path(__file__).parents[2] / "fixtures" / "kineto" / "real" / "vllm_layer.json"


def launched_in(operator: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Device events launched inside of an operator, and the others, by correlation."""
    events = json.loads(LAYER.read_bytes())["traceEvents"]
    ranges = [event for event in events if event["name"] == operator]
    calls = {
        event["args"]["correlation"]: event
        for event in events
        if event["cat"] in ("cuda_runtime", "cuda_driver")
    }
    inside, outside = [], []
    for event in events:
        if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
            call = calls[event["args"]["correlation"]]
            is_inside = any(
                around["tid"] == call["tid"]
                and around["ts"] <= call["ts"] < around["ts"] + around["dur"]
                for around in ranges
            )
            (inside if is_inside else outside).append(event)
    return inside, outside


def times(trace: Trace) -> Counter[str]:
    """Device time of each kind, ns."""
    sums: Counter[str] = Counter()
    for kind, ns in zip(server_kinds(trace), categorise(trace)["dur_ns"], strict=True):
        sums[kind] += ns
    return sums


def test_experts_are_all_that_their_operator_launches() -> None:
    """The products of vLLM's experts on a B200 are `bmm_…`, which were *Products*."""
    inside, outside = launched_in("vllm::moe_forward")
    products = [event for event in inside if event["name"].startswith("bmm_")]
    assert len(products) == 2
    (phase,) = server_phases(open_trace(LAYER))
    assert phase.by_kind_ns["moe"] == sum(round(1000 * event["dur"]) for event in inside)
    gemms = [event for event in outside if event["name"].startswith("nvjet_")]
    assert phase.by_kind_ns["products"] == sum(round(1000 * event["dur"]) for event in gemms)
    assert sum(phase.by_kind_ns.values()) == phase.kernel_ns


def test_a_replayed_kernel_goes_by_the_operator_around_its_captured_call() -> None:
    program = open_trace(LAYER)
    made = replayed(program).trace
    assert times(made) == {kind: 2 * ns for kind, ns in times(program).items()}
    bare = times(replace(made, graph_captures=()))  # then names are all there is
    assert bare["moe"] < times(made)["moe"] / 4
    assert bare.total() == times(made).total()


@pytest.mark.parametrize(
    ("operator", "name", "kind"),
    [
        ("sglang::inplace_fused_experts", "nvjet_tst_64x64", "moe"),
        ("_moe_C::topk_softmax", "void at::native::elementwise_kernel", "moe"),
        ("sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel_427", "gemm", "moe"),
        ("aten::_grouped_mm", "cutlass_gemm", "moe"),
        ("sgl_kernel::top_k_top_p_sampling_from_probs", "radix_kernel", "sampling"),
        ("aten::multinomial", "void at::native::reduce_kernel", "sampling"),
        # Exchanged among devices, wherever it is launched.
        ("vllm::moe_forward", "ncclDevKernel_SendRecv", "communication"),
        # What is no operator of a part, or is named after a whole model.
        ("aten::linear", "nvjet_tst_64x64", "products"),
        ("Qwen3MoeForCausalLM", "nvjet_tst_64x64", "products"),
        ("aten::upsample_bicubic2d", "upsample_bicubic2d_out_frame", "rest"),
        ("aten::grid_sampler_2d", "grid_sampler_2d_kernel", "rest"),
        # The name says it where the operator does not.
        ("aten::linear", "fused_moe_kernel", "moe"),
        ("aten::max", "void at::native::ArgMaxOps", "sampling"),
    ],
)
def test_the_operator_decides_and_then_the_name(operator: str, name: str, kind: str) -> None:
    trace = a_trace(
        ops=[op(0, 100, operator)],
        runtime=[launch(10, 5, 1)],
        device=[kernel(200, 9, 1, name=name)],
    )
    assert server_kinds(trace).to_list() == [kind]


def test_an_operator_of_another_thread_or_time_tells_nothing() -> None:
    trace = a_trace(
        ops=[op(0, 100, "vllm::moe_forward"), op(0, 100, "vllm::moe_forward", tid=AUTOGRAD)],
        runtime=[launch(50, 5, 1), launch(150, 5, 2), launch(250, 5, 3, tid=AUTOGRAD)],
        device=[kernel(300 + n, 1, n, name="nvjet") for n in (1, 2, 3)],
    )
    assert server_kinds(trace).to_list() == ["moe", "products", "products"]
    assert (
        server_kinds(replace(trace, ops=trace.ops.filter(pl.lit(value=False)))).to_list()
        == ["products"] * 3
    )
