"""Does a kernel use tensor cores? By its name, from Volta to Blackwell and AMD's matrix cores.

Only what a name says for certain: None is "unknown", for example a Triton template, which may or
may not have been given a tl.dot with TF32.
"""

import re

# Kinds of work without matrix products; their kernels never use tensor cores.
_NEVER = frozenset(
    {
        "norm",
        "softmax",
        "pooling",
        "embedding",
        "elementwise",
        "reduction",
        "copy",
        "triton_pointwise",
        "triton_reduction",
        "triton_persistent_reduction",
        "optimizer",
        "communication",
        "memcpy",
        "memset",
        "cpp_fused",
    }
)

# The first pattern that fits decides: pattern, answer, a name that fits.
_PATTERNS: tuple[tuple[str, bool, str], ...] = (
    # cuBLAS and cuDNN: ffma is the plain FP32 pipe, also in kernels called sm80.
    (r"ffma|_simt_", False, "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64x8_stage3_ffma"),
    # cuBLAS 12.5 on, Hopper's warp-group MMA, Blackwell's fifth generation.
    (r"nvjet", True, "nvjet_sm90_tst_96x64_64x10_1x2_h_bz_bias_TNN"),
    (r"gmma|warpgroupsize", True, "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_warpgroupsize1x1x1"),
    (r"tcgen05|umma", True, "cutlass3x_sm100_umma_gemm_f16_f16_f32_128x128x64"),
    # CUTLASS 2 and 3, cuDNN: operator class or instruction shape in the name.
    (r"tensorop|_tensor\d+x\d+x\d+", True, "cutlass_80_tensorop_s1688gemm_128x256_32x3_nn_align4"),
    (r"OpClassTensorOp|15OpMultiplyAdd\w*Fast|ImplicitGemmMultistage", True,
     "_ZN17cutlass__5x_cudnn6KernelINS_4conv11threadblock22ImplicitGemmMultistageE"),
    # MMA shapes from Volta to Ada.
    (r"[ihs](16832|16816|16864|1688|884|8816)", True, "ampere_fp16_s16816gemm_fp16_128x64_stages"),
    (r"[hidq]mma_", True, "volta_fp16_hmma_gemm"),
    # ATen's memory-efficient attention: tensor cores from sm75 on, halves on sm70 as well.
    (r"fmha_cutlass[FB]_\w+_sm(75|80|90|1\d\d)", True, "fmha_cutlassF_f32_aligned_64x64_rf_sm80"),
    (r"fmha_cutlass[FB]_f16_\w*sm70", True, "fmha_cutlassF_f16_aligned_64x64_rf_sm70"),
    (r"fmha_cutlass", False, "fmha_cutlassF_f32_aligned_64x64_rf_sm50"),
    # FlashAttention and cuDNN's take halves only.
    (r"flash_(fwd|bwd)|pytorch_flash|sdpa_sm\d+_flash", True,
     "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4> >"),
    # hipBLASLt: MFMA with its shape.
    (r"Cijk_.*_MI\d", True, "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI16x16x16x1"),
    # Helpers and engines that do without.
    (r"gemv|gemmSN|dot_kernel|reduce_1Block|splitK_?[rR]educe|ReduceSplitK|device_workspace", False,
     "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false>"),
    (r"convolve_sgemm|convolve_common_engine_float|winograd|_sgemm_|depthwise|im2col|fft", False,
     "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1>"),
    # cuDNN with TF32 or halves as the type of the product.
    (r"xmma.*(tf32|bf16|f16f16)", True, "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwc"),
)  # fmt: skip


def uses_tensor_cores(name: str, category: str) -> bool | None:
    """True or False where the name (or the kind of work) says so, None where it cannot be told."""
    if category in _NEVER:
        return False
    for pattern, answer, _ in _PATTERNS:
        if re.search(pattern, name):
            return answer
    return None


def examples() -> tuple[tuple[str, bool], ...]:
    """One real name for each pattern, with its answer; the tests run them through the table."""
    return tuple((example, answer) for _, answer, example in _PATTERNS)
