"""One kernel in the spellings of ncu and of Kineto, and two that only look alike."""

import pytest

from profiler_core.analysis.counters.kernel_key import kernel_key, likeness

SAME = [  # Nsight Compute 2025.3, Kineto of torch 2.11
    (
        "void engines_precompiled::nchwToNhwcKernel<float, float, float, 0, 1, 2>("
        "engines_precompiled::nchw2nhwc_params_t<T3>, const T1 *, T2 *)",
        "void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false, true, "
        "(cudnnKernelDataType_t)2>(cudnn::engines_precompiled::nchw2nhwc_params_t<float>, "
        "float const*, float*)",
    ),
    (
        "void at::<unnamed>::max_pool_forward_nchw<float, int>(T2, const T1 *, long)",
        "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, int>(int, float "
        "const*, long)",
    ),
    (
        "void at::vectorized_elementwise_kernel<4, at::CUDAFunctor_add<float>, std::array<char *, "
        "3>>(int, T2, T3)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    ),
    ("triton_poi_fused_add_relu_7", "triton_poi_fused_add_relu_7"),
    ("vectorized_elementwise_kernel", "void at::native::vectorized_elementwise_kernel<4, Foo>()"),
]
OTHER = [
    ("triton_poi_fused_add_relu_7", "triton_poi_fused_add_relu_8"),
    (
        "void at::vectorized_elementwise_kernel<4, at::CUDAFunctor_add<float>, std::array<char *, "
        "3>>(int, T2, T3)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::"
        "TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
    ),
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4>(T1::Params)",
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x128_32x3_nn_align4>(Params)",
    ),
]


@pytest.mark.parametrize(("ncu", "kineto"), SAME)
def test_one_kernel(ncu, kineto):
    assert likeness(kernel_key(ncu), kernel_key(kineto)) > 0


@pytest.mark.parametrize(("ncu", "kineto"), OTHER)
def test_another_kernel(ncu, kineto):
    assert likeness(kernel_key(ncu), kernel_key(kineto)) == 0


@pytest.mark.parametrize("name", ["", "<", "void ", "<<<<", "(((", "a<b", "::" * 500])
def test_no_name_breaks_it(name):
    assert likeness(kernel_key(name), kernel_key(name)) == 1
