"""Bytes from shapes, counted by hand."""

from dataclasses import replace

import msgspec
import pytest

from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.ledger.bytes_moved import bytes_of, counts_once
from profiler_core.analysis.ledger.fragments import pointer_roles
from profiler_core.analysis.ledger.work_units import Unit
from profiler_core.ingest.inductor.code import read_buffers, read_calls
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, KernelDefinition
from tests.analysis.ledger.pairs import small


def unit(name, shapes, dtype="float"):
    return Unit(
        name, 0, 1, (1, 1), None, None, False, shapes=shapes, dtypes=tuple(dtype for _ in shapes)
    )


def test_an_addition_reads_two_and_writes_one():
    assert bytes_of(unit("aten::add", ((8, 4), (8, 4))), None) == (256, 128)
    assert bytes_of(unit("aten::add", ((8, 4), (4,)), "c10::Half"), None) == (72, 64)


def test_a_product_writes_rows_by_columns():
    assert bytes_of(unit("aten::linear", ((2, 3, 5), (7, 5), (7,))), None) == (
        4 * (30 + 35 + 7),
        4 * 2 * 3 * 7,
    )
    assert bytes_of(unit("aten::addmm", ((7,), (6, 5), (5, 7))), None) == (
        4 * (7 + 30 + 35),
        4 * 42,
    )


def test_a_product_handed_its_result_does_not_read_it():
    result = unit("aten::mm", ((6, 5), (5, 7), (6, 7)))
    assert bytes_of(result, None) == (4 * (30 + 35), 4 * 42)
    biased = unit("aten::addmm", ((7,), (6, 5), (5, 7), (6, 7)))
    assert bytes_of(biased, None) == (4 * (7 + 30 + 35), 4 * 42)


def test_a_lookup_and_a_multiplication_handed_their_result_do_not_read_it():
    """Inside of bert's `aten::embedding`, and where DDP puts a gradient into its bucket."""
    rows = unit("aten::gather", ((30, 8), None, (6, 8), None, (6, 8)))
    rows = replace(rows, dtypes=("float", "Scalar", "long int", "Scalar", "float"))
    assert bytes_of(rows, None) == (4 * 48 + 8 * 48, 4 * 48)
    scaled = unit("aten::mul", ((16, 4), None, (16, 4)))
    scaled = replace(scaled, dtypes=("float", "double", "float"))
    assert bytes_of(scaled, None) == (4 * 64, 4 * 64)


def test_a_generated_kernel_without_its_code_is_handed_its_result():
    added = unit("triton_poi_fused_add_0", ((8, 4), (8, 4), (8, 4)))
    assert bytes_of(added, None) == (2 * 128, 128)


def test_a_generated_kernel_without_its_code_that_is_handed_one_tensor_changes_it_in_place():
    """gelu of a bare trace of bert: 12.6 MB and 36 % of the bandwidth, which are twice as much."""
    gelu = unit("triton_poi_fused_addmm_gelu_view_3", ((8, 128, 3072),))
    size = 4 * 8 * 128 * 3072
    assert bytes_of(gelu, None) == (size, size)
    assert not counts_once(gelu)
    for filled in ("zeros", "arange_lt", "full_like"):
        assert bytes_of(unit(f"triton_poi_fused_{filled}_1", ((8, 4),)), None) == (0, 128)


def test_a_generated_kernel_without_its_code_is_not_in_place_beside_a_tensor_of_one_value():
    """breaky's sum of 32 values, [[32], [], [], []] with float, float, Scalar, Scalar: 132 B.

    "At least 256 B": its result has no axes, so that it was said to change its argument in place.
    """
    shapes, dtypes = ((32,), None, None, None), ("float", "float", "Scalar", "Scalar")
    summed = replace(unit("triton_per_fused_sum_2", shapes), dtypes=dtypes)
    assert sum(bytes_of(summed, None)) == 32 * 4 + 4
    assert counts_once(summed)  # or it scales in place by a value that it reads
    changed = replace(summed, dtypes=("float", "Scalar", "Scalar", "Scalar"))
    assert bytes_of(changed, None) == (128, 128)


def test_what_is_changed_in_place_counts_once_where_only_the_code_tells_it():
    assert counts_once(unit("triton_poi_fused_add_0", ((8, 4), (8, 4))))
    assert not counts_once(unit("aten::add", ((8, 4), (8, 4))))


def test_a_generated_lookup_without_its_code_moves_nobody_knows_how_much():
    """bert's: 94 MB of a table of which 3 MB are looked up was 829 % of an H200's bandwidth."""
    name = "triton_per_fused_add_embedding_expand_gather_native_layer_norm_slice_0"
    assert bytes_of(unit(name, ((8, 128, 768), (8, 128), (30522, 768))), None) is None


def test_attention_writes_a_row_for_each_query_as_wide_as_a_value():
    """Four heads ask two heads of keys and values: 12.6 MB of bert's call, not 15.7."""
    asked, keys, values = (2, 4, 8, 16), (2, 2, 32, 16), (2, 2, 32, 24)
    n_read = 2 * 4 * 8 * 16 + 2 * 2 * 32 * 16 + 2 * 2 * 32 * 24
    forward = unit("aten::scaled_dot_product_attention", (asked, keys, values))
    assert bytes_of(forward, None) == (4 * n_read, 4 * 2 * 4 * 8 * 24)
    assert bytes_of(unit("aten::scaled_dot_product_attention", (asked,)), None) is None

    result, log_sums = (2, 4, 8, 24), (2, 4, 8)
    backward = unit(
        "aten::_scaled_dot_product_efficient_attention_backward",
        (result, asked, keys, values, result, log_sums),
    )
    assert bytes_of(backward, None) == (
        4 * (n_read + 2 * 2 * 4 * 8 * 24 + 2 * 4 * 8),
        4 * n_read,
    )


def test_a_table_that_is_looked_up_counts_as_its_rows_that_are():
    lookup = unit("aten::embedding", ((151936, 4096), (32,)), "c10::BFloat16")
    indices = replace(lookup, dtypes=("c10::BFloat16", "long int"))
    rows = 32 * 4096 * 2
    assert bytes_of(indices, None) == (rows + 32 * 8, rows)


def test_indices_in_a_list_have_no_shape_but_what_they_took_out_may():
    lookup = unit("aten::index", ((151936, 4096), None), "c10::BFloat16")
    assert bytes_of(lookup, None) is None
    assert bytes_of(lookup, None, ((32, 4096), "bf16")) == (2 * 32 * 4096, 2 * 32 * 4096)


def test_a_reshape_of_what_is_not_contiguous_copies_it():
    view = unit("aten::reshape", ((8, 4), None))
    assert bytes_of(view, None) == (0, 0)
    assert bytes_of(replace(view, inner={"clone", "copy", "view"}), None) == (128, 128)


def test_under_autocast_a_result_is_as_wide_as_what_computes_it():
    product = unit("aten::linear", ((6, 5), (7, 5)))
    assert bytes_of(product, None) == (4 * (30 + 35), 4 * 42)
    cast = replace(product, inner_dtypes=("c10::BFloat16",))
    assert bytes_of(cast, None) == (4 * (30 + 35), 2 * 42)


def test_what_is_not_known_is_none():
    assert bytes_of(unit("aten::add", ()), None) is None
    assert bytes_of(unit("aten::add", ((8,),), "some::Type"), None) is None
    assert bytes_of(unit("aten::conv2d", ((1, 3, 8, 8), (4, 3, 3, 3))), None) is None
    assert bytes_of(
        unit("aten::conv2d", ((1, 3, 8, 8), (4, 3, 3, 3))), None, ((1, 4, 6, 6), "f32")
    ) == (4 * (192 + 108), 4 * 144)


def test_fusion_saves_bytes():
    """ResNet's bn + add + relu: 3 reads of 102.8 MB and 3 writes become 2 reads and 1 write."""
    result = small("resnet50.eager", "resnet50.default")
    (group, *_) = [g for g in result.groups if g.title == "batch_norm + add + relu"]
    activation = 32 * 256 * 56 * 56 * 4
    assert abs(group.candidate.bytes_moved - 3 * activation) < 0.01 * activation
    assert abs(group.baseline.bytes_moved - 7 * activation) < 0.01 * activation
    assert 3e12 < group.candidate.bytes_per_s < 4.8e12  # below the H200's 4.8 TB/s


def test_peaks_by_the_longest_prefix():
    assert peaks_of("NVIDIA H200").memory_bytes_per_s == 4.8e12
    assert peaks_of("NVIDIA H100 PCIe").memory_bytes_per_s == 2.0e12
    assert peaks_of("NVIDIA H100 80GB HBM3").half_flops == 989.4e12
    assert peaks_of("NVIDIA A100-SXM4-80GB").memory_bytes_per_s == 2.039e12
    assert peaks_of("NVIDIA GeForce RTX 4090").fp32_flops == 82.6e12
    assert peaks_of("Fantasy GPU") is None
    assert peaks_of(None) is None


def kernel_call(name, source, arguments, buffers):
    """A unit of a replay, which has no shapes, and the graph that its call is of."""
    generated = GeneratedCall(
        index=0, name=name, kind="template", line=1, arguments=tuple(arguments.split())
    )
    graph = CompiledGraph(
        compile_id="0/0",
        direction="inference",
        calls=(generated,),
        kernels={name: KernelDefinition(name=name, source=source)},
        buffers=buffers,
    )
    return Unit(name, 0, 1, (1, 1), None, None, False, call=0), graph


TEMPLATE = """'signature': {'arg_A': '*fp32', 'arg_B': '*fp32', 'in_ptr2': '*fp32', \
'out_ptr0': '*fp32'}, 'device'
def triton_tem_fused_addmm_0(arg_A, arg_B, in_ptr2, out_ptr0):
    tl.store(out_ptr0 + (tl.broadcast_to(xindex, acc.shape)), tmp0, mask)
"""


def test_a_template_reads_its_operands():
    """A product of one row: 200 columns are written, a matrix of 200 x 1024 is read."""
    buffers = {
        "arg0_1": ((1, 1024), "f32"), "arg1_1": ((1024, 200), "f32"), "arg2_1": ((200,), "f32"),
        "buf0": ((1, 200), "f32"),
    }  # fmt: skip
    product = kernel_call(
        "triton_tem_fused_addmm_0", TEMPLATE, "arg0_1 arg1_1 arg2_1 buf0", buffers
    )
    assert bytes_of(*product) == (4 * (1024 + 1024 * 200 + 200), 800)


def test_a_kernel_of_the_users_reads_what_it_loads_and_writes_what_it_stores():
    source = """'signature': {'gate': '*fp32', 'up': '*fp32', 'result': '*fp32', 'n': 'i32'}
def gated(gate, up, result, n, BLOCK: tl.constexpr):
    y = tl.load(gate + at, mask=at < n) * tl.load(up + at, mask=at < n)
    tl.store(result + at, y, mask=at < n)
"""
    buffers = dict.fromkeys(("buf0", "buf1", "buf2"), ((64,), "f32"))
    assert bytes_of(*kernel_call("gated_0", source, "buf0 buf1 buf2", buffers)) == (512, 256)


def test_what_is_overwritten_is_not_read():
    """A copy is handed its result first: it was counted as read too."""
    assert bytes_of(unit("aten::copy_", ((8, 4), (8, 4))), None) == (128, 128)
    assert bytes_of(unit("aten::zero_", ((8, 4),)), None) == (0, 128)
    assert bytes_of(unit("aten::fill_", ((8, 4), ())), None) == (4, 128)
    assert bytes_of(unit("aten::add_", ((8, 4), (8, 4))), None) == (256, 128)


def test_a_copy_of_generated_code_reads_one_buffer_and_writes_the_other():
    code = "def call(self, args):\n    arg0_1.copy_(buf3)\n"
    (copy,) = read_calls(code)
    assert (copy.arguments, copy.result) == (("buf3",), "arg0_1")
    graph = CompiledGraph(
        compile_id="0/0",
        direction="inference",
        calls=(copy,),
        buffers={"buf3": ((8, 4), "f32"), "arg0_1": ((8, 4), "f16")},
    )
    replayed = Unit("copy", 0, 1, (1, 1), None, None, False, call=0)
    assert bytes_of(replayed, graph) == (128, 64)
    recorded = Unit(
        "aten::copy_", 0, 1, (1, 1), None, None, False, call=0,
        shapes=((8, 4), (8, 4)), dtypes=("c10::Half", "float"),
    )  # fmt: skip
    assert bytes_of(recorded, graph) == (128, 64)


def test_a_library_call_in_a_replay_needs_the_sizes_of_all_its_buffers():
    """bert's: without the activations, a reused buffer, a product moved half of what it does."""
    code = """def call(self, args):
    buf23 = empty_strided_cuda((6, 5), (5, 1), torch.float32)
    buf24 = reinterpret_tensor(buf23, (2, 3, 5), (15, 5, 1), 0); del buf23  # reuse
    buf25 = empty_strided_cuda((6, 7), (7, 1), torch.float32)
    extern_kernels.mm(reinterpret_tensor(buf24, (6, 5), (5, 1), 0), arg20_1, out=buf25)
"""
    (product,) = read_calls(code)
    buffers = read_buffers(code, {"arg20_1": ((5, 7), "f32")})
    graph = CompiledGraph(
        compile_id="0/0", direction="inference", calls=(product,), buffers=buffers
    )
    replayed = Unit("mm", 0, 1, (1, 1), None, None, False, call=0)
    assert bytes_of(replayed, graph) == (4 * (30 + 35), 4 * 42)

    del buffers["buf24"]
    assert bytes_of(replayed, msgspec.structs.replace(graph, buffers=buffers)) is None


def test_a_library_call_in_a_replay_reads_the_view_that_it_is_handed():
    """The first rows of bert's last layer norm went through the pooler as all of it: 5.53 MB."""
    code = """def call(self, args):
    buf0 = empty_strided_cuda((2, 3, 5), (15, 5, 1), torch.float32)
    buf1 = empty_strided_cuda((2, 7), (7, 1), torch.float32)
    extern_kernels.mm(reinterpret_tensor(buf0, (2, 5), (15, 1), 0), arg0_1, out=buf1)
"""
    (product,) = read_calls(code)
    graph = CompiledGraph(
        compile_id="0/0", direction="inference", calls=(product,), code=code,
        buffers=read_buffers(code, {"arg0_1": ((5, 7), "f32")}),
    )  # fmt: skip
    replayed = Unit("mm", 0, 1, (1, 1), None, None, False, call=0)
    assert bytes_of(replayed, graph) == (4 * (10 + 35), 4 * 14)


@pytest.mark.parametrize(
    ("handed", "stride", "n_read"),
    [
        ("buf4", "(2, 2)", 2 * 3 * 28 * 28),
        ("buf4", "(1, 1)", 2 * 3 * 56 * 56),
        # Of a view the shape is not the buffer's.
        ("reinterpret_tensor(buf4, (2, 3, 56, 56), (9408, 1, 168, 3), 0)", "(2, 2)", 18816),
    ],
)
def test_a_convolution_in_a_replay_reads_what_its_window_meets(handed, stride, n_read):
    """resnet50's first of layer 2, 1×1 by two, was at 107 % of the memory's bandwidth."""
    code = f"""def call(self, args):
    buf4 = empty_strided_cuda((2, 3, 56, 56), (9408, 1, 168, 3), torch.float32)
    buf5 = extern_kernels.convolution({handed}, arg6_1, stride={stride}, padding=(0, 0), \
dilation=(1, 1), transposed=False, output_padding=(0, 0), groups=1, bias=None)
"""
    (convolution,) = read_calls(code)
    graph = CompiledGraph(
        compile_id="0/0", direction="inference", calls=(convolution,), code=code,
        buffers=read_buffers(
            code, {"arg6_1": ((5, 3, 1, 1), "f32"), "buf5": ((2, 5, 28, 28), "f32")}
        ),
    )  # fmt: skip
    replayed = Unit("convolution", 0, 1, (1, 1), None, None, False, call=0)
    assert bytes_of(replayed, graph) == (4 * (n_read + 15), 4 * 2 * 5 * 28 * 28)


@pytest.mark.parametrize(
    ("source", "roles"),
    [
        (
            "def triton_poi_fused_add_0(in_out_ptr0, in_ptr0, out_ptr1, xnumel, XBLOCK):",
            ("both", "read", "written"),
        ),
        (TEMPLATE, ("read", "read", "read", "written")),
        ("import triton", ()),
    ],
)
def test_roles_of_pointers(source, roles):
    assert pointer_roles(source) == roles


def test_a_fill_beside_a_convolution_does_not_write_its_result():
    """Each of two fills of one number wrote the 8.4 MB of conv1, which moved 42.7 MB for 26.0."""
    call = GeneratedCall(0, "extern_kernels.convolution", "library", 1, result="buf0")
    result = {"buf0": ((64, 32, 32, 32), "f32")}
    graph = CompiledGraph("0/0", "forward", (call,), buffers=result)
    fill = replace(unit("aten::fill_", ((1,), None)), dtypes=("long int", "Scalar"), call=0)
    assert sum(bytes_of(fill, graph)) <= 16


@pytest.mark.parametrize(
    ("handed", "n_read"),
    [
        ("_adaptive_avg_pool2d_backward.default(buf7, relu_1)", 64 * 8 * 8),
        ("_adaptive_avg_pool2d_backward.default(buf7, buf7)", 64 * 8 * 8),
        ("threshold_backward.default(buf7, relu_1, 0)", 64 * 8 * 8 + 64 * 16 * 16),
    ],
)
def test_a_gradient_in_a_replay_does_not_read_what_only_says_its_size(handed, n_read):
    """simplecnn's adaptive pooling: 9.44 MB with what was pooled, of which none is read."""
    code = f"""def call(self, args):
    buf7 = empty_strided_cuda((64, 8, 8), (64, 8, 1), torch.float32)
    buf8 = torch.ops.aten.{handed}
"""
    (gradient,) = read_calls(code)
    graph = CompiledGraph(
        compile_id="0/0", direction="backward", calls=(gradient,), code=code,
        buffers=read_buffers(
            code, {"relu_1": ((64, 16, 16), "f32"), "buf8": ((64, 16, 16), "f32")}
        ),
    )  # fmt: skip
    replayed = Unit(gradient.name, 0, 1, (1, 1), None, None, False, call=0)
    assert bytes_of(replayed, graph) == (4 * n_read, 4 * 64 * 16 * 16)


def test_repeats_in_what_is_not_read_are_left_out_once():
    """A pooling of what is expanded: its strides say so, and it is not read anyway."""
    pooled = unit("aten::_adaptive_avg_pool2d_backward", ((4, 8, 2, 2), (4, 8, 4, 4)))
    expanded = replace(pooled, strides=((32, 4, 2, 1), (0, 16, 4, 1)))
    assert bytes_of(expanded, None) == bytes_of(pooled, None) == (4 * 128, 4 * 512)
