"""Pairs whose products are of different precisions, which no record says.

The judge reads the raw traces: the types of the tensors that convolutions were handed, and the
time of the kernels that they launched.
"""

import gzip
import json
from types import SimpleNamespace

import pytest

from profiler_core.analysis.product_precision import product_bits
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import are_in_one_precision
from profiler_core.ui.fusion.coverage import coverage_sentence
from profiler_core.units import format_duration
from tests.analysis.ledger.pairs import CAPTURES

WIDE, HALF = "resnet50_b32.eager", "resnet50_b32.default+amp+cl"


def _judged(name: str) -> tuple[set[str], float]:
    """Types that the innermost convolutions take, and ns per step of their own kernels."""
    file = gzip.decompress((CAPTURES / name / "trace.json.gz").read_bytes())
    events = json.loads(file)["traceEvents"]
    products = [
        event
        for event in events
        if event.get("name") in ("aten::cudnn_convolution", "aten::addmm", "aten::mm")
    ]
    types = {event["args"]["Input type"][0] for event in products}
    n_steps = sum(
        str(event["name"]).startswith("ProfilerStep#") and event.get("cat") == "user_annotation"
        for event in events
    )
    launched = {
        event["args"]["correlation"]
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and any(p["ts"] <= event["ts"] <= p["ts"] + p["dur"] for p in products)
    }
    layouts = ("nchwToNhwc", "nhwcToNchw", "elementwise", "convertTensor", "AddPadding", "triton")
    times = [
        event["dur"]
        for event in events
        if event.get("cat") == "kernel"
        and event["args"]["correlation"] in launched
        and not any(word in event["name"] for word in layouts)
    ]
    return types, 1000 * sum(times) / n_steps


def _bare(*names: str) -> Comparison:
    return Comparison.open([CAPTURES / name / "trace.json.gz" for name in names])


def test_products_in_another_type_are_told_of_bare_traces():
    """ "What fusion did: 3.15 ms less" counted convolutions in another type without a word."""
    (of_wide, before_ns), (of_half, after_ns) = map(_judged, (WIDE, HALF))
    assert (of_wide, of_half) == ({"float"}, {"c10::BFloat16"})
    comparison = _bare(WIDE, HALF)
    (pair,) = comparison.pairs
    (note,) = [note for note in comparison.left_out if "in 32 bits" in note]
    assert note == (
        f"{pair.labels[0]} computes its products and convolutions in 32 bits and {pair.labels[1]} "
        f"in 16, by the names of their kernels: they take {format_duration(before_ns - after_ns)} "
        f"per step less ({format_duration(before_ns)} → {format_duration(after_ns)}), which "
        "fusion alone does not explain."
    )
    assert note in pair.notes
    assert note in coverage_sentence(pair)  # on page Fusion
    assert not are_in_one_precision(pair)


@pytest.mark.parametrize(
    "names",
    [(WIDE, "resnet50_b32.default"), ("bert.eager+amp", "bert.default+amp")],
)
def test_one_precision_says_nothing(names):
    comparison = _bare(*names)
    assert not any("by the names of their kernels" in note for note in comparison.left_out)
    assert are_in_one_precision(comparison.pairs[0])


def test_what_the_records_say_is_not_said_again():
    comparison = Comparison.open([CAPTURES / WIDE, CAPTURES / HALF])
    assert not any("by the names of their kernels" in note for note in comparison.left_out)


_WIDE_KERNEL = "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32"
_HALF_KERNEL = "nvjet_sm90_tst_128x256_64x4_2x1_v_ssched_bz_coopA_TNN"


def _kernel(name: str, time_ns: int, category: str = "gemm") -> SimpleNamespace:
    return SimpleNamespace(name=name, category=category, time_ns=time_ns)


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        (_WIDE_KERNEL, 32),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>", 32),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>", 32),
        ("void gemv2N_kernel<int, int, float, float, float, float, 128, 1>", 32),
        (_HALF_KERNEL, 16),
        ("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", 16),
        ("void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128>", 16),
        ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn", 16),
        ("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128", None),
        ("cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1_f64f64", None),
        ("triton_tem_fused_mm_0", None),
        ("aten::mm", None),
    ],
)
def test_a_name_tells_the_type_of_the_factors_or_nothing(name, bits):
    """Kernels of real traces; a float that only accumulates does not count."""
    assert product_bits([_kernel(name, 1)]) == bits


@pytest.mark.parametrize(
    ("other", "share", "bits"),
    [(_HALF_KERNEL, 4, 32), (_HALF_KERNEL, 20, None), ("gemm", 20, None)],
)
def test_mixed_types_and_names_that_do_not_tell_say_nothing(other, share, bits):
    """Other work does not count: an elementwise kernel on bf16 is no product."""
    beside = _kernel("elementwise_kernel_bf16", 900, "elementwise")
    kernels = [_kernel(_WIDE_KERNEL, 100 - share), _kernel(other, share), beside]
    assert product_bits(kernels) == bits
    assert product_bits([beside]) is None
