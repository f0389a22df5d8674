"""Mangled names of C++ kernels as labels show them."""

from time import process_time

import pytest

from profiler_core.analysis.kernel_names import (
    kernel_labels,
    plain_kernel_name,
    short_kernel_name,
    unmangled_name,
)

KENTRY = "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassI"
AITER = "_ZN5aiter50fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_ps_32x384E"


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        (KENTRY, "ck_tile::kentry…Rmsnorm2dFwd"),
        (AITER, "aiter::fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_ps_32x384E"),  # cut: 50 characters
        (
            "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi256EEEvPT_",
            "aiter::add_rmsnorm_quant_kernel",
        ),
        (
            "_ZN17cutlass__5x_cudnn6KernelINS_4conv11threadblock22ImplicitGemmMultistageE",
            "cutlass__5x_cudnn::Kernel…conv::threadblock::ImplicitGemmMultistage",
        ),
        (
            "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE",
            "vectorized_elementwise_kernel…CUDAFunctor_add",
        ),
        ("_ZN12_GLOBAL__N_14copyEPfi", "copy"),
        ("_Z9addKernelPfS_i", "addKernel"),
        ("_Z9addKernelP6float4", "addKernel"),  # its parameters are no arguments of a template
        ("_ZN5aiter3fooILi1EEEvPN3c108BFloat16E", "aiter::foo"),
        ("_ZN4GemmIfE3runEv", "Gemm…run"),
        ("_Z", "_Z"),
        ("_ZN", "_ZN"),
        ("_ZN0", "_ZN0"),
        ("_ZL5quiet", "_ZL5quiet"),
        ("_Zoom_kernel_3", "_Zoom_kernel_3"),
        ("_ZN" + "9" * 10_000, "_ZN" + "9" * 10_000),
    ],
)
def test_a_mangled_name_is_read_as_its_identifiers(name, readable):
    assert unmangled_name(name) == readable
    assert short_kernel_name(name, 1 << 20) == readable


def test_the_whole_name_stays_as_it_is():
    assert plain_kernel_name(KENTRY) == KENTRY


def test_instances_of_one_mangled_template_are_told_apart_and_begin_with_its_name():
    names = [KENTRY, KENTRY.replace("Li1E", "Li2E"), KENTRY + "fLi8E", KENTRY + "fLi4E"]
    labels = kernel_labels(names, 34)
    assert len(set(labels)) == len(names)
    assert all(label.startswith("ck_tile:") and len(label) <= 34 for label in labels)


def test_a_hostile_name_is_read_once():
    started = process_time()
    for name in (
        "_ZN1a" + "I" * 200_000,
        "_ZN" + "1a" * 100_000,
        "_ZN1a" + "L1" * 100_000,
        "f<" + "a" * 200_000,
    ):
        short_kernel_name(name)
    assert process_time() - started < 2


def test_names_that_differ_in_two_places_show_both_and_no_number():
    """Cut alike, they ended in "(1)", "(2)", which tells nothing of what differs."""
    parts = ("tn_n_tilesize128x128x8_stage3", "tn_n_tilesize32x32x8_stage3")
    names = [
        f"sm80_xmma_gemm_f32f32_f32f32_f32_{part}_warpsize_ffma_aligna4_alignc4_execute_{end}"
        for part in parts
        for end in ("kernel__5x_cublas", "split_k_kernel__5x_cublas")
    ]
    labels = kernel_labels(names, 36)
    assert len(set(labels)) == 4
    assert not any(label.endswith(")") for label in labels)
    for label, tile in zip(labels, (128, 128, 32, 32), strict=True):
        assert f"tilesize{tile}x{tile}x8" in label
    assert ["split" in label for label in labels] == [False, True, False, True]
