"""One operator under all its names."""

import pytest

from profiler_core.analysis.ledger.operators import operator, operators_of_kernel


@pytest.mark.parametrize(
    ("name", "common"),
    [
        ("aten::linear", "matmul"),
        ("torch._C._nn.linear", "matmul"),
        ("@", "matmul"),
        ("extern_kernels.mm", "matmul"),
        ("torch.ops.aten.addmm.default", "matmul"),
        ("aten::add_", "add"),
        ("+", "add"),
        (".add_", "add"),
        ("torch.ops.aten._scaled_dot_product_efficient_attention.default", "attention"),
        ("torch.nn.functional.scaled_dot_product_attention", "attention"),
        ("torch.ops.prims.convert_element_type.default", "cast"),
        (".float", "cast"),
        ("aten::__and__", "__and__"),
        ("torch.ops.aten.convolution_backward.default", "convolution_backward"),
    ],
)
def test_common_names(name, common):
    assert operator(name) == common


@pytest.mark.parametrize(
    ("kernel", "operators"),
    [
        ("triton_poi_fused_add_relu_3", {"add", "relu"}),
        (
            "triton_per_fused__native_batch_norm_legit_no_training_add_mean_relu_12",
            {"batch_norm", "add", "mean", "relu"},
        ),
        (
            "triton_red_fused_native_layer_norm_native_layer_norm_backward_7",
            {"layer_norm", "native_layer_norm_backward"},
        ),
        ("graph_0_cpp_fused_gelu_gelu_backward_sum_0", {"gelu", "gelu_backward", "sum"}),
        ("triton_poi_fused__to_copy_5", {"cast"}),
        ("sm80_xmma_gemm_f32f32", set()),
        ("aten::add", set()),
    ],
)
def test_operators_in_a_kernel_name(kernel, operators):
    assert operators_of_kernel(kernel) == operators
