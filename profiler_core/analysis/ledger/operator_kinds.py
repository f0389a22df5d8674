"""Which operators of ATen make what kind of result, by name without namespace and underscore."""

# One value for each of their arguments' together: torch.Tag.pointwise, and their like.
ELEMENTWISE = frozenset((
    "__and__", "__ilshift__", "__ixor__", "__lshift__", "__or__", "__rshift__", "__xor__",
    "_conj_physical", "abs", "absolute", "acos", "acosh", "add", "addcdiv", "addcmul", "angle",
    "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_left_shift",
    "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "celu", "clamp",
    "clamp_max", "clamp_min", "clip", "clone", "complex", "conj_physical", "copysign", "cos",
    "cosh", "deg2rad", "digamma", "div", "divide", "elu", "elu_backward", "eq", "erf", "erfc",
    "erfinv", "exp", "exp2", "expm1", "float_power", "floor", "floor_divide", "fmax", "fmin",
    "fmod", "frac", "gcd", "ge", "gelu", "gelu_backward", "gt", "hardshrink",
    "hardshrink_backward", "hardsigmoid", "hardsigmoid_backward", "hardswish",
    "hardswish_backward", "hardtanh", "hardtanh_backward", "heaviside", "hypot", "i0", "igamma",
    "igammac", "isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "lcm", "ldexp",
    "le", "leaky_relu", "leaky_relu_backward", "lerp", "lgamma", "log", "log10", "log1p",
    "log2", "log_sigmoid", "logaddexp", "logaddexp2", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logit", "logit_backward", "lt", "masked_fill", "maximum",
    "minimum", "mish", "mish_backward", "mul", "multiply", "mvlgamma", "nan_to_num",
    "native_dropout_backward", "ne", "neg", "negative", "nextafter", "polygamma", "positive",
    "pow", "rad2deg", "reciprocal", "relu", "relu6", "remainder", "round", "rrelu", "rsqrt",
    "rsub", "selu", "sgn", "sigmoid", "sigmoid_backward", "sign", "signbit", "silu",
    "silu_backward", "sin", "sinc", "sinh", "softplus", "softplus_backward", "softshrink",
    "softshrink_backward", "sqrt", "square", "sub", "subtract", "tan", "tanh", "tanh_backward",
    "threshold", "threshold_backward", "true_divide", "trunc", "where", "xlogy",
))  # fmt: skip
# Elementwise, with a truth value as result.
COMPARISONS = frozenset((
    "eq", "ge", "gt", "isclose", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf",
    "le", "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "ne", "signbit",
))  # fmt: skip
# Elementwise, with floating-point results of whole numbers.
FLOAT_OF_WHOLE = frozenset((
    "atan2", "cos", "div", "erf", "exp", "exp2", "expm1", "float_power", "log", "log10",
    "log1p", "log2", "reciprocal", "rsqrt", "sigmoid", "sin", "sqrt", "tan", "tanh",
    "true_divide",
))  # fmt: skip
# As large as their first argument, and of its type.
LIKE_FIRST = frozenset((
    "_fused_rms_norm_backward", "_unsafe_masked_index", "alpha_dropout", "bernoulli",
    "channel_shuffle", "contiguous", "dropout", "feature_dropout", "flip", "instance_norm",
    "masked_scatter", "miopen_batch_norm", "miopen_batch_norm_backward", "normalize",
    "pixel_shuffle", "pixel_unshuffle", "prelu", "renorm", "roll", "rot90",
))  # fmt: skip
# Gradients of norms: where the weight is, and the mask of the gradients that are asked for, of
# input, weight and bias.
GRADIENTS_OF_NORMS = {
    "native_batch_norm_backward": (2, 9),
    "native_group_norm_backward": (4, 9),
    "native_layer_norm_backward": (5, 7),
}
GRADIENTS_OF_POOLING = frozenset((
    "_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward",
    "adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward", "avg_pool2d_backward",
    "avg_pool3d_backward", "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward",
))  # fmt: skip
PADDED = frozenset((
    "constant_pad_nd", "pad", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
    "replication_pad1d", "replication_pad2d", "replication_pad3d",
))  # fmt: skip
GRADIENTS_OF_PADDING = frozenset(
    f"{name}_backward" for name in PADDED if name.startswith(("reflection_", "replication_"))
)
TRIANGLES = frozenset(("tril", "triu"))
# Gradients: the result's stands first, then what it is the gradient of.
LIKE_SECOND = GRADIENTS_OF_POOLING | GRADIENTS_OF_PADDING | frozenset((
    "binary_cross_entropy_backward", "glu_backward", "huber_loss_backward", "l1_loss_backward",
    "mse_loss_backward", "nll_loss2d_backward", "nll_loss_backward", "smooth_l1_loss_backward",
))  # fmt: skip
# Of them those whose result's gradient may be one value.
OF_A_LOSS = frozenset((
    "binary_cross_entropy_backward", "huber_loss_backward", "l1_loss_backward",
    "mse_loss_backward", "nll_loss_backward", "smooth_l1_loss_backward",
))  # fmt: skip
# Products of matrices and vectors.
PRODUCTS = frozenset((
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "dot", "ger", "linear", "matmul",
    "mm", "mv", "outer", "vdot",
))  # fmt: skip
# Values put into a tensor by indices.
UPDATES = frozenset((
    "_index_put_impl", "_unsafe_index_put", "index_add", "index_copy", "index_put",
    "index_reduce", "scatter", "scatter_add", "scatter_reduce",
))  # fmt: skip
# Images made larger or smaller.
UPSAMPLED = frozenset((
    "_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "_upsample_nearest_exact1d",
    "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_bicubic2d",
    "upsample_bilinear2d", "upsample_linear1d", "upsample_nearest1d", "upsample_nearest2d",
    "upsample_nearest3d", "upsample_trilinear3d",
))  # fmt: skip
