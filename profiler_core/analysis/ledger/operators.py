"""Under which names one operator appears: in a trace, in a dynamo graph, in ATen, in a kernel name.

`F.linear`, `x @ w`, `aten::linear`, `torch.ops.aten.addmm.default` and `extern_kernels.mm` are all
"matmul" here; `a + b`, `aten::add_` and `torch.add` are "add". Only names are compared: which
instance is meant is the alignment's business.
"""

import re
from functools import lru_cache

_INFIX = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "@": "matmul", "**": "pow",
    "//": "floor_divide", "%": "remainder",
    ">": "gt", "<": "lt", ">=": "ge", "<=": "le", "==": "eq", "!=": "ne",
    "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor",
}  # fmt: skip

INFIX = frozenset(_INFIX.values())  # written between their arguments

# First of each row is the common name.
_SAME = (
    ("matmul", "linear", "addmm", "mm", "bmm", "baddbmm", "addbmm", "einsum", "tensordot", "mv",
     "addmv", "inner", "_addmm_activation", "bias_addmm", "_scaled_mm", "_int_mm", "_mm_plus_mm",
     "mm_plus_mm", "_linear_pointwise", "linear_pointwise", "mkl_linear", "mkldnn_linear",
     "_grouped_mm", "bilinear", "chain_matmul", "linear_unary", "packed_linear"),
    ("convolution", "conv1d", "conv2d", "conv3d", "_convolution", "cudnn_convolution",
     "mkldnn_convolution", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
     "conv_depthwise2d", "_conv_depthwise2d", "conv_depthwise3d", "_convolution_pointwise",
     "_convolution_mode", "thnn_conv2d", "slow_conv2d_forward", "cudnn_convolution_relu",
     "_slow_conv2d_forward", "cudnn_convolution_transpose", "miopen_convolution"),
    ("attention", "scaled_dot_product_attention", "_scaled_dot_product_efficient_attention",
     "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_flash_attention",
     "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math",
     "_scaled_dot_product_fused_attention_overrideable", "_flash_attention_forward",
     "flex_attention", "_efficient_attention_forward", "_cudnn_attention_forward"),
    ("convolution_backward", "cudnn_convolution_backward", "_conv_depthwise2d_backward"),
    ("attention_backward", "_scaled_dot_product_efficient_attention_backward",
     "_scaled_dot_product_cudnn_attention_backward", "_scaled_dot_product_flash_attention_backward",
     "_flash_attention_backward", "_efficient_attention_backward",
     "scaled_dot_product_cudnn_attention_backward"),
    ("max_pool2d", "max_pool2d_with_indices", "_low_memory_max_pool2d_with_offsets",
     "_low_memory_max_pool_with_offsets", "max_pool1d", "max_pool3d", "max_pool3d_with_indices"),
    ("max_pool2d_with_indices_backward", "_low_memory_max_pool2d_offsets_to_indices"),
    ("mean", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool1d",
     "_adaptive_avg_pool3d", "avg_pool2d"),
    ("layer_norm", "native_layer_norm"),
    ("group_norm", "native_group_norm"),
    ("rms_norm", "_fused_rms_norm"),
    ("batch_norm", "native_batch_norm", "_native_batch_norm_legit", "cudnn_batch_norm",
     "_native_batch_norm_legit_no_training", "_native_batch_norm_legit_functional",
     "_batch_norm_impl_index", "_batch_norm_with_update", "sync_batch_norm"),
    ("batch_norm_backward", "native_batch_norm_backward", "cudnn_batch_norm_backward"),
    ("softmax", "_softmax", "special_softmax", "prepare_softmax_online"),
    ("log_softmax", "_log_softmax", "special_log_softmax"),
    ("softmax_backward", "_softmax_backward_data"),
    ("log_softmax_backward", "_log_softmax_backward_data"),
    ("cross_entropy", "cross_entropy_loss"),
    ("nll_loss", "nll_loss_nd", "nll_loss_forward", "nll_loss2d_forward", "nll_loss2d"),
    ("embedding_backward", "embedding_dense_backward"),
    ("cast", "to", "float", "half", "bfloat16", "double", "int", "long", "bool", "_to_copy",
     "type_as", "type", "convert_element_type", "cuda", "cpu"),
    ("clone", "contiguous", "copy", "copy_"),
    ("dropout", "native_dropout", "feature_dropout", "alpha_dropout"),
    ("upsample_nearest2d", "interpolate", "upsample", "_upsample_nearest_exact2d",
     "upsample_bilinear2d", "upsample_bicubic2d"),
    ("div", "true_divide", "divide"),
    ("sub", "subtract", "rsub"), ("mul", "multiply"), ("abs", "absolute"), ("neg", "negative"),
    ("repeat_interleave", "repeat"),
    ("index", "embedding_renorm", "_unsafe_index"),
    ("index_put", "_index_put_impl", "_unsafe_index_put"),
    ("cat", "concat", "concatenate"),
    ("clamp", "clip", "clamp_min", "clamp_max"),
    ("where", "_s_where"), ("masked_fill", "_masked_fill"),
    ("randn", "normal", "random_normal"), ("rand", "uniform"),
    ("multi_head_attention_forward", "_native_multi_head_attention"),
)  # fmt: skip
_COMMON = {name: row[0] for row in _SAME for name in row}

# Operators that launch nothing: they only describe memory that is there already.
KERNEL_FREE = frozenset(
    ("view", "reshape", "_unsafe_view", "permute", "transpose", "t", "T", "mT", "getitem",
     "expand", "expand_as", "flatten", "unsqueeze", "squeeze", "size", "numel", "dim", "detach",
     "unflatten", "unbind", "split", "chunk", "split_with_sizes", "select", "slice", "narrow",
     "as_strided", "alias", "movedim", "swapaxes", "swapdims", "view_as", "lift_fresh", "item",
     "_local_scalar_dense", "empty", "empty_like", "empty_strided", "new_empty",
     "new_empty_strided", "resolve_conj", "resolve_neg", "_autocast_to_full_precision",
     "lazy_load_decompositions", "_vmap_increment_nesting", "_enter_autocast", "_exit_autocast",
     "_set_grad_enabled", "set_", "result_type", "is_floating_point", "scalar_tensor",
     "requires_grad_", "stride", "storage_offset", "vsplit", "hsplit", "tensor_split",
     "_reshape_alias", "broadcast_to", "diagonal", "real", "imag", "unfold")
)  # fmt: skip

# What only libraries do: the anchors of every alignment.
ANCHORS = frozenset(
    ("matmul", "convolution", "attention", "convolution_backward", "attention_backward")
)

# Too common beneath other operators to say which operator it is.
_UNSPECIFIC = KERNEL_FREE | frozenset(
    ("add", "mul", "sub", "div", "clone", "cast", "fill", "zero", "zeros", "full", "ones",
     "zeros_like", "ones_like", "full_like", "sum", "mean", "neg", "exp", "sqrt", "rsqrt",
     "reciprocal", "where", "lt", "le", "gt", "ge", "eq", "ne", "resize_", "resize", "sort",
     "maximum", "minimum", "copy", "pow", "var_mean", "var", "squeeze", "iota", "arange", "amax",
     "amin", "erf", "sigmoid", "tanh")
)  # fmt: skip

# What attention in several kernels has, and nothing else beside it.
SOFTMAX = frozenset(("softmax", "_softmax", "_safe_softmax", "safe_softmax"))

_OVERLOADED = re.compile(
    r"(?:torch\.ops\.)?(?P<namespace>aten|prims|inductor|quantized|_C)\.(?P<name>\w+)"
)


@lru_cache(maxsize=65536)
def operator(name: str) -> str:
    """The common name of an operator, however it is written; other names come back bare.

    Accepts `aten::add_`, `torch.ops.aten.addmm.default`, `torch.nn.functional.gelu`, `.to`, `+`,
    `extern_kernels.mm`. In-place variants count as their operator.
    """
    bare = _INFIX.get(name) or bare_name(name)
    return _COMMON.get(bare, bare)


def bare_name(name: str) -> str:
    """A name without its namespace, its overload and the underscore of an in-place one."""
    if name.startswith("torch.ops."):
        parts = name.split(".")
        bare = parts[3] if len(parts) > 3 else parts[-1]
    elif (match := _OVERLOADED.match(name)) is not None:
        bare = match["name"]
    else:
        bare = name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]
    return bare[:-1] if bare.endswith("_") and not bare.endswith("__") else bare


def is_specific(common: str) -> bool:
    """Does this operator, found inside another one, say which one it is?"""
    return common not in _UNSPECIFIC


# Operators whose names stand in Inductor's kernel names (`triton_poi_fused_add_gelu_3`), longest
# first, so that `native_layer_norm_backward` is not read as `native_layer_norm`.
_NAME_PARTS = re.compile(
    r"^(?:graph_\d+_)?(?:triton_(?:poi|red|per|tem|for|spl|mm|unk)|cpp|triton)(?:_fused)?_+"
)


@lru_cache(maxsize=16384)
def operators_of_kernel(name: str) -> frozenset[str]:
    """Operators named in a generated kernel's name: `triton_per_fused_add_layer_norm_2` -> {…}.

    Empty for a name that is not Inductor's.
    """
    match = _NAME_PARTS.match(name)
    if match is None:
        return frozenset()
    words = re.sub(r"_\d+$", "", name[match.end() :])
    return frozenset(_split(words))


def _split(words: str) -> list[str]:
    parts = words.split("_")
    operators = _known()
    result: list[str] = []
    start = 0
    while start < len(parts):
        if not parts[start]:  # a leading underscore belongs to the next name
            start += 1
            continue
        for end in range(len(parts), start, -1):
            candidate = "_".join(parts[start:end])
            spelled = next(
                (c for c in (candidate, "_" + candidate, "__" + candidate) if c in operators), None
            )
            if spelled is not None:
                result.append(operator(spelled))
                start = end
                break
        else:
            result.append(operator(parts[start]))
            start += 1
    return result


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    backward = (
        "native_layer_norm_backward", "native_group_norm_backward", "native_batch_norm_backward",
        "convolution_backward", "threshold_backward", "gelu_backward", "silu_backward",
        "tanh_backward", "sigmoid_backward", "embedding_dense_backward", "_softmax_backward_data",
        "_log_softmax_backward_data", "native_dropout_backward", "nll_loss_backward",
        "index_add", "index_copy", "index_fill", "index_reduce", "scatter_reduce", "select_scatter",
        "slice_scatter", "fused_rms_norm_backward", "glu_backward", "mse_loss_backward",
        "hardswish_backward", "hardsigmoid_backward", "leaky_relu_backward", "elu_backward",
        "max_pool2d_with_indices_backward", "avg_pool2d_backward", "upsample_nearest2d_backward",
        "slice_backward", "select_backward", "constant_pad_nd", "index_put", "index_select",
        "scatter_add", "masked_fill", "logsumexp", "log_softmax", "nll_loss_forward", "cumsum",
        "bitwise_and", "bitwise_or", "bitwise_not", "logical_and", "logical_or", "logical_not",
        "var_mean", "full_like", "zeros_like", "ones_like", "new_zeros", "new_ones",
        "scalar_tensor", "floor_divide", "leaky_relu", "hardswish", "hardsigmoid", "hardtanh",
        "log1p", "expm1", "as_strided", "masked_scatter", "_unsafe_index", "repeat_interleave",
        "stack", "linalg_vector_norm", "sum_to_size", "squared_relu", "copysign", "isinf",
        "isnan", "_foreach_add", "_foreach_mul",
    )  # fmt: skip
    return frozenset(_COMMON) | KERNEL_FREE | _UNSPECIFIC | frozenset(backward)
