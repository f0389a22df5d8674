import pytest

from profiler_core.analysis.tensor_cores import examples, uses_tensor_cores


@pytest.mark.parametrize(("name", "answer"), examples())
def test_each_pattern_has_an_example(name, answer):
    assert uses_tensor_cores(name, "gemm") is answer


@pytest.mark.parametrize(
    ("name", "category", "answer"),
    [
        ("nvjet_sm100_tst_mma_256x256x64_4_64x32x1_cta2_h_bz_TNN", "gemm", True),
        ("ampere_sgemm_128x64_tn", "gemm", False),
        ("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", "conv", True),
        ("triton_tem_fused_mm_4", "triton_template_gemm", None),
        ("my_very_own_kernel", "other", None),
        ("a_kernel_with_s16816_in_its_name", "elementwise", False),
    ],
)
def test_what_cannot_be_told_is_unknown_not_no(name, category, answer):
    assert uses_tensor_cores(name, category) is answer
