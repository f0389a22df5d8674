"""The ordered table that tells what a kernel does: the first rule that fits decides.

A rule looks either at the kernel's own name or at the host ranges (operators, annotations) around
its launch. On top stand the names that say for certain what a kernel is, whoever launched it;
then the operators, because under aten::conv2d an implicit GEMM is a convolution; then the
names again, for kernels whose operator is unknown, such as all of a CUDA graph's.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Rule:
    """Kernels that fit `pattern` (re.search, case matters) are of `category`."""

    by: Literal["kernel", "operator"]
    pattern: str
    category: str
    example: str  # a real name that fits; a test runs it through the table
    source: str  # where such names come from


RULES: tuple[Rule, ...] = (
    # Names that are certain, whatever the operator.
    Rule(
        "kernel",
        r"nccl|rccl|oneccl|nvshmem|deep_ep::|ep::(intra|inter)node|cross_device_reduce|multimem_|"
        r"(one|two)_shot_all_reduce|symm_mem|all_?reduce_(fusion|prototype)|quick_?reduce::|"
        r"reduce_scatter_cross_device|trtllm_allreduce",
        "communication",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
        "NCCL 2.19 on; c10d SymmetricMemory; all-reduces of vLLM, SGLang, AITER, TensorRT-LLM",
    ),
    Rule(
        "kernel",
        r"^triton_tem_\w*(flex_attention|sdpa)|^triton_flex_attention",
        "triton_template_attention",
        "triton_tem_fused_flex_attention_0",
        "torch/_inductor/kernel/flex",
    ),
    Rule(
        "kernel",
        r"^triton_tem_\w*conv|^triton_convolution",
        "triton_template_conv",
        "triton_tem_fused_convolution_relu_2",
        "torch/_inductor/kernel/conv.py",
    ),
    Rule(
        "kernel",
        r"^triton_tem_|^triton_(mm|bmm|scaled_mm)",
        "triton_template_gemm",
        "triton_tem_fused_addmm_relu_t_3",
        "torch/_inductor/kernel/mm.py",
    ),
    Rule(
        "kernel",
        r"^triton_per_",
        "triton_persistent_reduction",
        "triton_per_fused_native_layer_norm_2",
        "torch/_inductor/codegen/triton.py, kernel_category",
    ),
    Rule(
        "kernel",
        r"^triton_(red|spl|mix)_",
        "triton_reduction",
        "triton_red_fused__native_batch_norm_legit_functional_3",
        "as above; spl: split scan, mix: mixed order",
    ),
    Rule(
        "kernel",
        r"^triton_(poi|for|unk)_",
        "triton_pointwise",
        "triton_poi_fused_convolution_relu_0",
        "as above; for: foreach (compiled optimizers)",
    ),
    Rule(
        "kernel",
        r"(^|_)cpp_fused_",
        "cpp_fused",
        "graph_0_cpp_fused_convolution_0",
        "torch/_inductor/codegen/cpp.py with cpp.enable_kernel_profile",
    ),
    Rule(
        "kernel",
        r"^engine::",
        "engine",
        "engine::openvino",
        "capture/child/engine_calls.py: a call of another compiler's engine, opaque",
    ),
    Rule(
        "kernel",
        r"nchwToNhwc|nhwcToNchw|nchwToFold|convertTensor|AddPadding|_copy_kernel|direct_copy|"
        r"CatArrayBatchedCopy|batched_transpose|transpose_readWrite|transpose_(CNHW|NCHW)2|copy_device_to_device|float8_copy",
        "copy",
        "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>",
        "cuDNN layout kernels; aten/src/ATen/native/cuda/Copy.cu, Shape.cu",
    ),
    Rule(
        "kernel",
        r"^memset(8|16|32|64|128)(_|$)",
        "memset",
        "memset32",
        "CUDA's driver: how a graph does some of its memset nodes",
    ),
    # Operators and annotations around the launch.
    Rule(
        "operator",
        r"^aten::_foreach_copy_",
        "copy",
        "aten::_foreach_copy_",
        "torch/_inductor/cudagraph_trees.py: static inputs of a graph",
    ),
    Rule(
        "operator",
        r"^(c10d::|nccl:|gloo:|record_param_comms|_c10d_functional)",
        "communication",
        "c10d::allreduce_",
        "torch/csrc/distributed/c10d",
    ),
    Rule(
        "operator",
        r"^Optimizer\.step#|^aten::(_fused_(adam|adamw|sgd|adagrad)|_foreach_|_amp_)",
        "optimizer",
        "Optimizer.step#AdamW.step",
        "torch/optim/optimizer.py, profile_hook_step",
    ),
    Rule(
        "operator",
        r"^aten::(scaled_dot_product|_scaled_dot_product|_flash_attention|_efficient_attention|"
        r"_cudnn_attention)|ScaledDotProduct\w*Backward|flash_attn|^xformers|^vllm::\w*attention|^aiter::\w*mha",
        "attention",
        "aten::_scaled_dot_product_efficient_attention",
        "aten/src/ATen/native/transformers",
    ),
    Rule(
        "operator",
        r"^aten::_?(native_|cudnn_|miopen_|mkldnn_|fused_)*(batch|layer|group|instance|rms)_norm|"
        r"^aten::_?weight_norm|^aten::_batch_norm|^aten::local_response_norm",
        "norm",
        "aten::native_layer_norm",
        "aten/src/ATen/native/Normalization.cpp, layer_norm.cpp",
    ),
    Rule(
        "operator",
        r"^aten::_?(log_|masked_)?softmax",
        "softmax",
        "aten::_softmax",
        "aten/src/ATen/native/SoftMax.cpp",
    ),
    Rule(
        "operator",
        r"^aten::\w*(max|avg|lp)_pool\d?d?",
        "pooling",
        "aten::max_pool2d_with_indices",
        "aten/src/ATen/native/Pooling.cpp",
    ),
    Rule(
        "operator",
        r"^aten::(_?embedding\w*|index(_select|_put|_add|_copy|_fill|_reduce)?_?|_index_put_impl_|"
        r"gather(_backward)?|scatter(_add|_reduce)?_?|take(_along_dim)?|masked_select|nonzero|put_)$",
        "embedding",
        "aten::embedding",
        "aten/src/ATen/native/Embedding.cpp, TensorAdvancedIndexing.cpp",
    ),
    # A bias added, or a gradient of one summed up, by a kernel of its own is no convolution.
    Rule(
        "kernel",
        r"^void at::native::(vectorized_|unrolled_)?elementwise_kernel",
        "elementwise",
        "void at::native::elementwise_kernel<128, 2, at::native::CUDAFunctor_add<float> >(int)",
        "aten/src/ATen/native/cuda/CUDALoops.cuh",
    ),
    Rule(
        "kernel",
        r"^void at::native::reduce_kernel",
        "reduction",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(float)",
        "aten/src/ATen/native/cuda/Reduce.cuh",
    ),
    Rule(
        "operator",
        r"^(aten|mkldnn)::_?(slow_|thnn_|cudnn_|mkldnn_|miopen_|quantized_)?conv(_?\dd|_transpose|_depthwise|"
        r"_tbc|olution)|^aten::_slow_conv|^aten::_conv_depthwise",
        "conv",
        "aten::cudnn_convolution",
        "aten/src/ATen/native/Convolution.cpp",
    ),
    Rule(
        "operator",
        r"^aten::(_?(scaled_|grouped_|scaled_grouped_|int_|sparse_)?mm|_addmm_activation|addmm_?|"
        r"b?addbmm_?|baddbmm_?|bmm|matmul|linear(_backward)?|mkldnn_linear|einsum|addmv_?|mv|v?dot|ger|outer|"
        r"_weight_int\dpack_mm\w*|bilinear|_trilinear)$|^mkldnn::_linear|^mkl::_mkl_linear|::\w*(gemm|scaled_mm)",
        "gemm",
        "aten::addmm",
        "aten/src/ATen/native/LinearAlgebra.cpp, cuda/Blas.cpp",
    ),
    # Names, for kernels whose operator says nothing or is unknown.
    Rule(
        "kernel",
        r"[aA]ttention|fmha|flash_(fwd|bwd)|flash::|_attn_|Attn|attn_(fwd|bwd)|sdpa|\bmha_|mla_|"
        r"\bsage_(fwd|bwd)|(Batch|Single)(Decode|Prefill)With|BatchMLA|FmhaFwd|FmhaBwd|[mM]erge_?[sS]tates?",
        "attention",
        "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::Params)",
        "FlashAttention, CUTLASS fMHA, cuDNN cudnn_generated_fort_native_sdpa_*; FlashInfer, Sage",
    ),
    Rule(
        "kernel",
        r"fprop|dgrad|wgrad|[cC]onv(?!ert)|winograd|implicit_gemm|im2col|col2im|vol2col|__5x_cudnn|"
        r"cudnn::cnn|igemm_(fwd|bwd|wrw)",
        "conv",
        "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32_warpgroupsize1x1x1_"
        "g1_execute_segment_k_off_kernel__5x_cudnn",
        "cuDNN 8 and 9, CUTLASS, MIOpen",
    ),
    Rule(
        "kernel",
        r"(batch|layer|group|instance|rms|weight)_?norm|(Batch|Layer|Group|RMS|Rms)Norm|Rmsnorm2d|Layernorm2d|\bbn_(fw|bw)_|"
        r"RowwiseMoments|GammaBetaBackward|ComputeInternalGradients|ComputeFusedParams|computeGradInput",
        "norm",
        "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float, float)",
        "aten/src/ATen/native/cuda/Normalization.cuh, layer_norm_kernel.cu; cuDNN",
    ),
    Rule(
        "kernel",
        r"[sS]oft[mM]ax",
        "softmax",
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10>(float*)",
        "aten/src/ATen/native/cuda/SoftMax.cu",
    ),
    Rule(
        "kernel",
        r"[pP]ool(ing)?(_|[A-Z\d<(]|$)|AveragePool",
        "pooling",
        "void at::native::(anonymous namespace)::max_pool_forward_nchw<float>(int, float const*)",
        "aten/src/ATen/native/cuda/DilatedMaxPool2d.cu",
    ),
    Rule(
        "kernel",
        r"multi_tensor_apply.*\bat::native::Copy<",
        "copy",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
        "at::native::(anonymous namespace)::TensorListMetadata<2>, "
        "at::native::(anonymous namespace)::UnaryOpFunctor<long, 2, 1, 1>, "
        "at::native::Copy<long, long> >(int)",
        "aten/src/ATen/native/cuda/ForeachUnaryOp.cu: inputs of a CUDA graph, with no optimizer",
    ),
    Rule(
        "kernel",
        r"multi_tensor_apply|[fF]used_?(Adam|adam|Sgd|sgd|Lamb|lamb)|amp_(non_finite|update_scale)",
        "optimizer",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
        "at::native::(anonymous namespace)::TensorListMetadata<1> >(int)",
        "aten/src/ATen/native/cuda/MultiTensorApply.cuh",
    ),
    Rule(
        "kernel",
        r"[rR]otary|\brope_",
        "elementwise",
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
        "vLLM, FlashInfer",
    ),
    Rule(
        "kernel",
        r"(reshape|concat)_and_cache|store_kv_?cache|set_\w*kv_buffer|kv_(indices|cache)|page_indices|"
        r"kv_?cache_(copy|scatter|store)|req_to_token",
        "embedding",
        "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16>(long const*)",
        "vLLM, SGLang, FlashInfer: rows written into the paged KV cache",
    ),
    Rule(
        "kernel",
        r"moe::dev::routing|_routing_|bitmatrix|moe_align_block|[tT]op_?[kK]_?[gG]ating|moe_?[sS]orting|"
        r"expert_(offsets|tokens)|moe_sum\b|[sS]ampling|argmax",
        "reduction",
        "_combined_routing_compute",
        "vLLM, SGLang, TensorRT-LLM, triton_kernels: experts chosen and counted, tokens drawn",
    ),
    Rule(
        "kernel",
        r"[eE]mbedding|index_(elementwise|put|select|copy|fill|add)|indexSelect|indexFunc|gather|scatter|"
        r"krn_partial|sum_and_scatter|compute_grad_weight|flatten_index|compute_cuda_kernel<long",
        "embedding",
        "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long)",
        "aten/src/ATen/native/cuda/Indexing.cu, Embedding.cu, ScatterGatherKernel.cu",
    ),
    Rule(
        "kernel",
        r"nvjet|[gG]emm|GEMM|cutlass|Cijk_|[gG]emv|splitK|cublas|wgmma|[mM]at[mM]ul|_xmma_|\bdot_kernel|"
        r"reduce_1Block|s16816|s1688|h884|h1688|\b_?mm_kernel|_scaled_mm|[mM]arlin|machete|fused_moe|FusedMoe|fmoe_|bmm_|tcgen05|mxgemm",
        "gemm",
        "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_TNN",
        "cuBLAS 12.5 on (nvjet), CUTLASS 2 to 4, Tensile",
    ),
    Rule(
        "kernel",
        r"[rR]educe|[rR]eduction|[sS]can(_|[A-Z<]|$)|cub::|thrust::|[sS]ort|[tT]op_?[kK]|radix|"
        r"nll_loss|cross_entropy|[cC]um(sum|prod)|welford|unique|histogram",
        "reduction",
        "void at_cuda_detail::cub::DeviceScanKernel<long>(long*)",
        "CUB; aten/src/ATen/native/cuda/ScanKernels.cpp, Sort.cu",
    ),
    Rule(
        "kernel",
        r"[eE]lementwise|[pP]ointwise|unrolled_|Functor|distribution_|[dD]ropout|[fF]ill_?(kernel|Functor)?\b|"
        r"arange|tri[ul]_|tril_triu|linspace|upsample|act_and_mul|[sS]i[lL][uU]|[gG]e[lL][uU]|[rR]e[lL][uU]|"
        r"op_tensor|SubTensorOp|scalePackedTensor|philox|[rR]andom|curand|masked_|where_kernel|quant",
        "elementwise",
        "void at::native::distribution_elementwise_grid_stride_kernel<float, 4>(long)",
        "aten/src/ATen/native/cuda/DistributionTemplates.h, Dropout.cu",
    ),
    # Operators once more, where the name says nothing; and operators that are the work on a CPU.
    Rule(
        "operator",
        r"^aten::(copy_|_to_copy|to|clone|contiguous|cat|_cat|stack|hstack|vstack|repeat\w*|pad|"
        r"constant_pad_nd|roll|flip|view\w*|_?reshape\w*|_unsafe_view|permute|transpose_?|t_?|expand\w*|flatten|"
        r"unflatten|squeeze_?|unsqueeze_?|select\w*|slice\w*|split\w*|chunk|narrow|detach_?|as_strided_?|alias|lift_fresh|"
        r"unbind|movedim|pixel_(un)?shuffle|channel_shuffle|unfold|tensor_split|swapaxes|ravel|broadcast_\w+)$|"
        r"^detach_?$",
        "copy",
        "aten::clone",
        "aten/src/ATen/native/TensorShape.cpp, Copy.cpp",
    ),
    Rule(
        "operator",
        r"^aten::(sum|mean|nansum|prod|amax|amin|max|min|aminmax|argmax|argmin|any|all|norm|linalg_\w*norm|"
        r"var(_mean)?|std(_mean)?|logsumexp|median|cum\w+|sort|argsort|topk|kthvalue|unique\w*|histc|bincount|"
        r"count_nonzero|nll_loss\w*|cross_entropy_loss|\w*_loss(_backward)?|cdist|equal|is_nonzero|item|"
        r"_local_scalar_dense)$",
        "reduction",
        "aten::mean",
        "aten/src/ATen/native/ReduceOps.cpp, Sorting.cpp",
    ),
    Rule(
        "operator",
        r"^aten::(\w*(add|sub|mul|div|relu|elu|silu|mish|sigmoid|tanh|exp|log|sqrt|sin|cos|erf|pow|neg|abs|"
        r"clamp|round|floor|ceil|dropout|bernoulli|normal|uniform|rand|fill|zero|ones|full|arange|lerp|where|"
        r"reciprocal|square|sign|maximum|minimum|remainder|swish|softplus|threshold|upsample|interpolate|masked|"
        r"bitwise|logical|isnan|isinf|isfinite|atan|triu|tril|glu)\w*|(eq|ne|lt|le|gt|ge|__\w+__)_?)$",
        "elementwise",
        "aten::relu",
        "aten/src/ATen/native/BinaryOps.cpp, UnaryOps.cpp, Activation.cpp",
    ),
)
