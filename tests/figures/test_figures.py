"""Drawn without raising, axes with units, names escaped, parts that add up. No pixels."""

import re
from dataclasses import replace

import pytest

from profiler_core.analysis.kernel_names import (
    kernel_labels,
    plain_kernel_name,
    short_kernel_name,
)
from profiler_core.figures.duration_histogram import duration_histogram
from profiler_core.figures.kernel_bars import kernel_bars
from profiler_core.figures.step_bars import step_bars, step_legend, step_rows
from profiler_core.figures.theme import DARK, LIGHT
from profiler_core.markup import render
from tests.figures.results import HOSTILE, a_row, some_parts

MODES = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


@MODES
def test_the_bars_of_a_step_add_up_to_the_step(palette):
    parts = [
        some_parts(5_220_000, conv=1_900_000, gemm=25_000, memset=5_000, optimizer=800),
        some_parts(2_590_000, conv=1_500_000, triton_pointwise=900_000),
    ]
    figure = step_bars(["eager", "default"], parts, palette)
    for run, p in enumerate(parts):
        drawn_ms = sum(bar.x[run] for bar in figure.data)
        assert drawn_ms == pytest.approx(p.step_ns / 1e6)
    assert figure.layout.xaxis.title.text == "one step, ms"


@pytest.mark.parametrize(
    ("step_ns", "unit"), [(5e9, "s"), (5e6, "ms"), (196e3, "µs"), (500, "ns"), (0, "ns")]
)
def test_the_unit_fits_the_longest_step(step_ns, unit):
    figure = step_bars(["eager"], [some_parts(step_ns)], LIGHT)
    assert figure.layout.xaxis.title.text == f"one step, {unit}"


def test_a_kind_has_one_colour_in_bars_and_legend():
    parts = [some_parts(100.0, norm=50.0, triton_pointwise=30.0)]
    bars = {bar.name: bar.marker.color for bar in step_bars(["eager"], parts, LIGHT).data}
    assert bars == dict(step_legend(parts, LIGHT))
    assert bars["normalisation"] == LIGHT.category("norm")
    assert bars["GPU idle"] == LIGHT.idle


def test_the_rest_of_the_bars_has_a_name_that_is_true_of_each():
    gpu, cpu = (
        some_parts(100.0, gemm=50.0),
        replace(some_parts(100.0, gemm=50.0), device_kind="cpu"),
    )
    job = replace(gpu, has_late_rank=True)
    names = [step_legend(parts, LIGHT)[-1][0] for parts in ([gpu], [gpu, cpu], [job, gpu])]
    assert names == ["GPU idle", "GPU idle or no operator", "GPU idle or waiting for a rank"]


@MODES
def test_rows_of_markup_show_what_the_figure_shows(palette):
    parts = [
        some_parts(5_220_000, conv=1_900_000, gemm=25_000, memset=5_000, optimizer=800),
        some_parts(2_590_000, conv=1_500_000, triton_pointwise=900_000),
    ]
    figure = step_bars(["eager", "default"], parts, palette)
    caption, rows = step_rows(["eager", "default"], parts, palette)
    assert caption == figure.layout.xaxis.title.text
    assert [row.share for row in rows] == pytest.approx([1.0, 2.59 / 5.22])
    for number, row in enumerate(rows):
        assert sum(part.share for part in row.parts) == pytest.approx(row.share)
        drawn = [bar for bar in figure.data if bar.x[number] > 0]
        assert [part.color for part in row.parts] == [bar.marker.color for bar in drawn]
        assert [part.text for part in row.parts] == [bar.text[number] for bar in drawn]
        for part, bar in zip(row.parts, drawn, strict=True):
            assert bar.hovertext[number].endswith(part.hint)
            assert part.text_color == bar.textfont.color


@pytest.mark.parametrize(("labels", "steps"), [([], []), (["eager"], [0.0])])
def test_rows_of_nothing_are_drawn(labels, steps):
    caption, rows = step_rows(labels, [some_parts(step) for step in steps], LIGHT)
    assert caption == "one step, ns"
    assert render("page/step_bars.html", rows=rows, caption=caption, alt="")


def test_names_in_rows_of_markup_are_escaped():
    caption, rows = step_rows([HOSTILE], [some_parts(100.0, gemm=50.0)], LIGHT)
    assert "<img" not in render("page/step_bars.html", rows=rows, caption=caption, alt=HOSTILE)


def test_a_category_that_the_theme_does_not_know_is_drawn_as_other():
    assert LIGHT.category("something new") == LIGHT.category("other")


@MODES
def test_kernels_are_drawn_for_every_run_with_a_unit(palette):
    rows = [a_row("a", 2e6, 1e6, None), a_row("b", None, 3e5, 2e5)]
    figure = kernel_bars(["eager", "default", "max"], rows, palette)
    drawn_ms = [[round(x, 9) for x in bar.x] for bar in figure.data]
    assert drawn_ms == [[2.0, 0.0], [1.0, 0.3], [0.0, 0.2]]
    assert figure.layout.xaxis.title.text == "time per step, ms"
    assert len({bar.marker.color for bar in figure.data}) == 3


def test_only_the_longest_kernels_are_drawn():
    figure = kernel_bars(["eager"], [a_row(f"k{i}", 1e6) for i in range(500)], LIGHT)
    assert len(figure.data[0].x) < 20


@MODES
def test_every_call_is_in_the_histogram(palette):
    figure = duration_histogram(["eager", "default"], [[5, 5, 9], []], palette)
    assert [sum(bar.y) for bar in figure.data] == [3]
    assert figure.layout.xaxis.title.text == "duration of a call, µs"
    assert figure.layout.yaxis.title.text == "calls"


def test_runs_whose_calls_take_the_same_are_both_in_sight():
    """They were drawn over each other: of three runs with equal kernels one was to be seen."""
    figure = duration_histogram(["eager", "default"], [[5, 5, 9], [5, 5, 9]], LIGHT)
    assert (figure.layout.barmode, len(figure.data)) == ("group", 2)
    assert all(bar.width is None and bar.marker.opacity is None for bar in figure.data)


@pytest.mark.parametrize("durations", [[[]], [[7]], [[7, 7, 7]], [[0]], [list(range(10_000))]])
def test_odd_durations_are_drawn(durations):
    figure = duration_histogram(["eager"], durations, LIGHT)
    assert sum(sum(bar.y) for bar in figure.data) == len(durations[0])


@pytest.mark.parametrize(
    "figure",
    [
        step_bars([], [], LIGHT),
        kernel_bars([], [], LIGHT),
        kernel_bars(["eager"], [], LIGHT),
        duration_histogram([], [], LIGHT),
    ],
)
def test_nothing_to_draw_raises_nothing(figure):
    assert figure.to_json()


def test_names_never_reach_the_browser_as_html():
    figures = [
        step_bars([HOSTILE], [some_parts(100.0, gemm=50.0)], LIGHT),
        kernel_bars([HOSTILE], [a_row(HOSTILE, 5.0)], LIGHT),
        duration_histogram([HOSTILE], [[5]], LIGHT),
    ]
    for figure in figures:
        for shown in re.findall(
            r'"(?:text|name|hovertext|ticktext|hovertemplate)":[^\]}]*', _json(figure)
        ):
            assert "<img" not in shown


def _json(figure):
    return figure.to_json().replace("\\u003c", "<").replace("\\u003e", ">")


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>,"
            " std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)",
            "vectorized_elementwise_kernel CUDAFunctor_add",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>"
            "(cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4::Params)",
            "cutlass_80_tensorop_s16…128x128_32x3_nn_align4",
        ),
        (
            "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256>"
            "(cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256::Params)",
            "cutlass_tensorop_bf16_s…rop_optimized_bf16_256",
        ),
        (
            "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, false>"
            "(cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<float const>, float>)",
            "internal::gemvx::kernel",
        ),
        (
            "std::enable_if<(N<4), void>::type f<4>(int)",
            "f",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous namespace)::"
            "launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar)::{lambda()#1}::operator()()"
            " const::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
            "vectorized_elementwise_…el launch_clamp_scalar",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"
            "masked_scale_kernel<bool, float>(at::Tensor&)::{lambda(float)#1}>(int)",
            "vectorized_elementwise_…el masked_scale_kernel",
        ),
        ("at::cuda::(anonymous namespace)::spin_kernel(long)", "spin_kernel"),
        ("mine::(anonymous namespace)::kernel<4>(int)", "mine::kernel"),
        ("triton_poi_fused_relu_0", "triton_poi_fused_relu_0"),
        ("", ""),
        ("<", "<"),
        ("void ", "void"),
    ],
)
def test_short_names_keep_what_tells(name, short):
    assert short_kernel_name(name) == short
    assert len(short_kernel_name(name * 50)) <= 46


def test_plain_names_keep_their_arguments():
    assert plain_kernel_name("void at::native::f<4>(int)") == "f<4>(int)"


def test_quotes_in_a_name_are_shown_as_they_are():
    figure = step_bars(['it\'s "mine" <b>'], [some_parts(100.0)], LIGHT)
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert '<b>it\'s "mine" &lt;b&gt;</b>' in texts


@pytest.mark.parametrize("longest", [30, 40, 52])
@pytest.mark.parametrize(
    "family",
    [
        [f"triton_poi_fused__native_batch_norm_legit_no_training_add_relu_{n}" for n in range(12)],
        [f"void at::native::vectorized_elementwise_kernel<{n}, at::native::CUDAFunctor_add<float>, "
         "std::array<char*, 3ul> >(int, float)" for n in (2, 4, 8)],
        ["void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(i)",
         "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<Half>>(i)"],
        [f"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize{m}x{n}x32_warpgroupsize1x1x1_kernel"
         for m in (64, 128) for n in (32, 64, 128)],
        ["a" * 200 + "b" + "c" * 200, "a" * 200 + "d" + "c" * 200],
        ["x" * 60 + ending for ending in ("", " ")],
    ],
)  # fmt: skip
def test_labels_of_one_family_differ(family, longest):
    labels = kernel_labels(family, longest)
    assert len(set(labels)) == len(family)
    assert all(len(label) <= longest for label in labels)


def test_equal_names_have_equal_labels():
    assert len(set(kernel_labels(["gemm<1>", "gemm<1>"]))) == 1
