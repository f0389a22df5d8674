import polars as pl
import pytest

from profiler_core.analysis.categories import (
    CATEGORIES,
    CATEGORY,
    categorise,
    category_of_kernel,
    is_kernel,
)
from profiler_core.analysis.category_rules import RULES
from profiler_core.analysis.kernels import kernels
from tests.builders import AUTOGRAD, a_trace, kernel, launch, memcpy, memset, op

IMPLICIT_GEMM = "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32"
CUBLAS = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1__5x_cublas"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"


def of_launch(kernel_name: str, *operators: str) -> str:
    """The category of a kernel that is launched inside of these operators, outermost first."""
    depth = len(operators)
    trace = a_trace(
        ops=[op(n, 100 - 2 * n, name) for n, name in enumerate(operators)],
        runtime=[launch(depth + 1, 1, 1)],
        device=[kernel(200, 1, 1, name=kernel_name)],
    )
    return categorise(trace)["category"][0]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.example[:60])
def test_each_example_gets_the_category_of_its_rule(rule):
    if rule.by == "kernel":
        assert category_of_kernel(rule.example) == rule.category
    else:
        assert of_launch("a_kernel_of_unknown_name", rule.example) == rule.category
    assert rule.category in CATEGORIES
    assert rule.source


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", "gemm"),
        # Of inference servers, from public traces and their sources.
        ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassI", "norm"),
        ("void moe::dev::routing::routingIndicesHistogramKernel<KernelParams>", "reduction"),
        ("_sum_bitmatrix_rows", "reduction"),
        ("void vllm::moe::topkGatingSoftmax<8, 128, 4, 16, int>", "softmax"),
        ("void (anonymous namespace)::store_kvcache<2048l, 4, false, long>", "embedding"),
        ("create_flashinfer_kv_indices_triton", "embedding"),
        ("_copy_page_indices_kernel", "embedding"),
        ("sage_fwd", "attention"),
        ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<128, 4>", "attention"),
        ("void flashinfer::BatchPrefillWithRaggedKVCacheKernel<KTraits>", "attention"),
        ("void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u>", "reduction"),
        ("void dpsk::ep::internode::dispatch<false, 8, false>(int4*, float*)", "communication"),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>", "communication"),
        ("void quickreduce::allreduce_prototype_twoshot<CodecFP>", "communication"),
        ("void Marlin<__nv_bfloat16, 1125899906909960l, 256>", "gemm"),
        ("_ZN5aiter50fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_ps_32x384E", "gemm"),
        ("fused_moe_kernel", "gemm"),
        ("void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 7168u, 2048u>", "gemm"),
        ("SubTensorOpWithCastTensor1d", "elementwise"),
        ("nvjet_sm100_tst_mma_256x256x64_4_64x32x1_cta2_h_bz_TNN", "gemm"),
        ("cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_void_bf16_128x128x64", "gemm"),
        ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<long> >", "gemm"),
        ("ampere_sgemm_128x64_tn", "gemm"),
        ("void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16>", "gemm"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI16x16x16x1", "gemm"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>", "gemm"),
        (
            "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16>",
            "conv",
        ),
        ("void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1>", "conv"),
        ("void cudnn::winograd_nonfused::winogradForwardFilter4x4<float, float>", "conv"),
        ("void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<1>", "conv"),
        ("miopenSp3AsmConv_v30_3_1_gfx94x_fp32_f2x3_stride1", "conv"),
        (
            "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64",
            "attention",
        ),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>", "attention"),
        ("void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128> >", "attention"),
        ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(Params)", "attention"),
        ("fmha_v2_flash_attention_fp16_64_128_S_64_sm90_kernel", "attention"),
        ("kernel_unified_attention_2d", "attention"),
        ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>", "norm"),
        ("void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float, float>", "norm"),
        ("void at::native::batch_norm_collect_statistics_channels_last_kernel<Var>", "norm"),
        ("void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>", "norm"),
        ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>", "softmax"),
        ("void at::native::avg_pool2d_out_cuda_frame<float, float, int>", "pooling"),
        ("void cudnn::pooling_fw_4d_kernel<float, float, 1>", "pooling"),
        ("void at::native::indexSelectLargeIndex<float, long, unsigned int, 2>", "embedding"),
        ("void at::native::_scatter_gather_elementwise_kernel<128, 8>", "embedding"),
        ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>", "copy"),
        ("void at::native::elementwise_kernel<4, at::native::direct_copy_kernel_cuda>", "copy"),
        ("void at::native::vectorized_elementwise_kernel<8, bfloat16_copy_kernel_cuda>", "copy"),
        ("void at::native::radixSortKVInPlace<2, -1, 32, 4, float>", "reduction"),
        (
            "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d",
            "reduction",
        ),
        ("void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float>", "elementwise"),
        ("void vllm::act_and_mul_kernel<c10::BFloat16, silu_kernel>", "elementwise"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "communication"),
        ("void dpsk::ep::internode::dispatch<false, 8, false>(int4*, float*)", "communication"),
        ("void vllm::cross_device_reduce_1stage<c10::BFloat16, 2>", "communication"),
        ("triton_poi_fused_add_relu_0", "triton_pointwise"),
        ("triton_for_fused_3", "triton_pointwise"),
        ("triton_red_fused_mean_1", "triton_reduction"),
        ("triton_per_fused_native_layer_norm_2", "triton_persistent_reduction"),
        ("triton_tem_fused_mm_4", "triton_template_gemm"),
        ("triton_tem_fused_convolution_1", "triton_template_conv"),
        ("triton_tem_fused_flex_attention_5", "triton_template_attention"),
        ("memset32", "memset"),  # a memset node of a CUDA graph, on an H200
        ("memset_my_very_own", "other"),
        ("my_very_own_kernel", "other"),
        # What a CUDA graph's inputs are copied by, of inference too.
        (
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
            "(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::"
            "UnaryOpFunctor<long, 2, 1, 1>, at::native::Copy<long, long> >()",
            "copy",
        ),
    ],
)
def test_names_alone(name, category):
    assert category_of_kernel(name) == category


@pytest.mark.parametrize(
    ("kernel_name", "operators", "category"),
    [
        (CUBLAS, ["aten::conv2d", "aten::cudnn_convolution"], "conv"),
        (CUBLAS, ["aten::linear", "aten::addmm"], "gemm"),
        ("void cudnn::ops::nchwToNhwcKernel<float>", ["aten::conv2d"], "copy"),
        (ADD, ["aten::conv2d", "aten::_convolution", "aten::add_"], "elementwise"),
        (ADD, ["Optimizer.step#SGD.step", "aten::add_"], "optimizer"),
        (ADD, ["aten::layer_norm"], "norm"),
        ("triton_poi_fused_add_0", ["aten::layer_norm"], "triton_pointwise"),
        ("void multi_tensor_apply_kernel<Copy>", ["aten::_foreach_copy_"], "copy"),
        ("someone_elses_kernel", ["aten::_flash_attention_forward"], "attention"),
        ("someone_elses_kernel", ["aten::relu"], "elementwise"),
        ("someone_elses_kernel", ["my_function"], "other"),
    ],
)
def test_the_operator_decides_before_the_name_says_something_vague(
    kernel_name, operators, category
):
    assert of_launch(kernel_name, *operators) == category


def test_operators_around_the_launch_are_found_on_its_own_thread():
    trace = a_trace(
        ops=[
            op(0, 50, "aten::conv2d"),
            op(5, 40, "aten::cudnn_convolution"),
            op(0, 100, "aten::linear", AUTOGRAD),
            op(60, 10, "aten::conv2d"),
        ],
        runtime=[
            launch(10, 2, 1),
            launch(20, 2, 2, tid=AUTOGRAD),
            launch(55, 2, 3),  # after the first convolution, before the second
            launch(50, 2, 4),  # the very instant at which the first has ended
        ],
        device=[kernel(100 + i, 1, i, name=CUBLAS) for i in (1, 2, 3, 4)],
    )
    assert categorise(trace)["category"].to_list() == ["conv", "gemm", "gemm", "gemm"]


def test_copies_and_memsets_are_told_by_their_kind_not_their_name():
    trace = a_trace(device=[memcpy(0, 1, name="nccl"), memset(1, 1), kernel(2, 1, name="Memcpy")])
    assert categorise(trace)["category"].to_list() == ["memcpy", "memset", "other"]


def test_a_graphs_memset_by_a_kernel_is_the_work_of_a_memset_and_a_kernel():
    trace = a_trace(device=[memset(0, 1), kernel(1, 1, name="memset32")])
    events = categorise(trace).select(pl.col("name", "category").cast(pl.String)).rows()
    assert [category for _, category in events] == ["memset", "memset"]
    assert [is_kernel(*event) for event in events] == [False, True]
    assert kernels(trace).select("name", "category", "n").rows() == [("memset32", "memset", 1)]


def test_rows_stay_in_order_and_keep_their_columns():
    trace = a_trace(
        ops=[op(0, 50, "aten::conv2d")],
        runtime=[launch(30, 2, 1), launch(10, 2, 2)],
        device=[kernel(60, 1, 1, name=CUBLAS), kernel(61, 1, 2, name=ADD), kernel(62, 1)],
    )
    categorised = categorise(trace)
    assert categorised["ts_ns"].to_list() == [60, 61, 62]
    assert categorised["category"].to_list() == ["conv", "elementwise", "other"]
    assert categorised["category"].dtype == CATEGORY


def test_a_cpu_kernel_is_its_own_operator():
    trace = a_trace(
        ops=[
            op(0, 5, "aten::conv2d"),
            op(10, 5, "graph_0_cpp_fused_relu_1"),
            op(20, 5, "aten::max_pool2d"),
            op(30, 5, "aten::linear"),
        ]
    )
    assert categorise(trace)["category"].to_list() == ["conv", "cpp_fused", "pooling", "gemm"]


def test_an_empty_trace_has_no_categories():
    assert categorise(a_trace()).height == 0
