"""Bytes of gradients, and of what is handed for its size alone, against what torch reads."""

from functools import cache
from typing import Any

import pytest

from profiler_core.analysis.ledger.bytes_of_call import RULES, beside_its_fill, bytes_of_call
from profiler_core.analysis.ledger.operator_call import OperatorCall
from tests.analysis.ledger.one_call import Case, are_read, case, expected, n_bytes, named, outermost
from tests.lazily import Lazily

torch = Lazily("torch")
F = Lazily("torch.nn.functional")

N_GRADIENTS, N_OTHERS, N_IN_PART = 71, 28, 23
_IMAGE, _VOLUME = (4, 8, 16, 16), (2, 3, 8, 8, 8)
# No CPU has these: of ROCm, of CUDA alone, and one that torch 2 has no more.
NOT_TRIED = {"miopen_batch_norm_backward", "_fused_rms_norm_backward", "l1_loss_backward"}


@cache
def gradients() -> list[Case]:
    """Made late: collecting imports no torch."""
    torch.manual_seed(0)
    aten = torch.ops.aten
    return [*_of_windows(aten), *_of_norms(aten), *_of_losses(aten), *_of_the_rest(aten)]


def _of_windows(aten: Any) -> list[Case]:
    image, volume = torch.randn(_IMAGE), torch.randn(_VOLUME)
    half, half_volume = torch.randn(4, 8, 8, 8), torch.randn(2, 3, 4, 4, 4)
    _, at = F.max_pool2d(image, 2, return_indices=True)
    _, at_volume = F.max_pool3d(volume, 2, return_indices=True)
    twice, once = [2, 2], [1, 1]
    upsampled = torch.randn(4, 8, 32, 32), [32, 32], [*_IMAGE]
    line, padded = torch.randn(4, 16, 32), torch.randn(4, 16, 34)
    cube, padded_cube = volume, torch.randn(2, 3, 10, 10, 10)
    return [
        case(aten.max_pool2d_with_indices_backward, half, image, twice, twice, [0, 0], once, False,
             at),
        case(aten.max_pool3d_with_indices_backward, half_volume, volume, [2] * 3, [2] * 3, [0] * 3,
             [1] * 3, False, at_volume),
        case(aten.adaptive_max_pool2d_backward, half, image, at),
        case(aten.adaptive_max_pool3d_backward, half_volume, volume, at_volume),
        case(aten.avg_pool2d_backward, half, image, twice, twice, [0, 0], False, True, None),
        case(aten.avg_pool3d_backward, half_volume, volume, [2] * 3, [2] * 3, [0] * 3, False, True,
             None),
        case(aten._adaptive_avg_pool2d_backward, half, image),
        case(aten._adaptive_avg_pool2d_backward, half.bfloat16(), image.bfloat16()),
        case(aten._adaptive_avg_pool3d_backward, half_volume, volume),
        *[
            case(getattr(aten, f"{kind}_pad{n}d_backward"), gradient, values, [1] * 2 * n)
            for kind in ("reflection", "replication")
            for n, gradient, values in (
                (1, padded, line), (2, torch.randn(4, 8, 18, 18), image), (3, padded_cube, cube),
            )
        ],
        *[
            case(getattr(aten, f"{kind}_backward"), *upsampled)
            for kind in ("upsample_nearest2d", "_upsample_nearest_exact2d")
        ],
        *[
            case(getattr(aten, f"{kind}_backward"), *upsampled, False)
            for kind in ("upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa",
                         "_upsample_bicubic2d_aa")
        ],
        case(aten.upsample_linear1d_backward, torch.randn(4, 8, 32), [32], [4, 8, 16], False),
        case(aten.upsample_trilinear3d_backward, torch.randn(2, 3, *[16] * 3), [16] * 3, [*_VOLUME],
             False),
        *[
            case(getattr(aten, f"{kind}_backward"), torch.randn(*shape[:2], *[16] * n), [16] * n,
                 [*shape])
            for kind, n, shape in (
                ("upsample_nearest1d", 1, (4, 8, 8)), ("_upsample_nearest_exact1d", 1, (4, 8, 8)),
                ("upsample_nearest3d", 3, _VOLUME), ("_upsample_nearest_exact3d", 3, _VOLUME),
            )
        ],
    ]  # fmt: skip


def _of_norms(aten: Any) -> list[Case]:
    x, image = torch.randn(4, 16, 32), torch.randn(_IMAGE)
    rows = torch.rand(4, 16, 1), torch.rand(4, 16, 1), torch.rand(32), torch.rand(32)
    channels = [torch.rand(8) + 1 for _ in range(5)]
    groups = torch.rand(4, 2), torch.rand(4, 2), torch.rand(8), 4, 8, 256, 2
    all_three, input_alone, without_input = (
        [True, True, True], [True, False, False], [False, True, True],
    )  # fmt: skip
    return [
        *[
            case(aten.native_layer_norm_backward, x, x, [32], *rows, asked)
            for asked in (all_three, input_alone, without_input)
        ],
        *[
            case(aten.native_group_norm_backward, image, image, *groups, asked)
            for asked in (all_three, input_alone, without_input)
        ],
        *[
            case(aten.native_batch_norm_backward, image, image, *channels, is_training, 1e-5, asked)
            for is_training, asked in (
                (True, all_three), (False, all_three), (True, input_alone), (True, without_input),
            )
        ],
    ]  # fmt: skip


def _of_losses(aten: Any) -> list[Case]:
    x, target, share = torch.randn(4, 16, 32), torch.rand(4, 16, 32), torch.rand(4, 16, 32)
    classes, pixels = torch.randint(0, 10, (32,)), torch.randint(0, 5, (2, 4, 4))
    one, n = torch.tensor(1.0), torch.tensor(32.0)
    scores, weights, image = torch.rand(32, 10), torch.rand(10), torch.rand(2, 5, 4, 4)
    return [
        case(aten.nll_loss_backward, one, scores, classes, None, 1, -100, n),
        case(aten.nll_loss_backward, torch.rand(32), scores, classes, weights, 0, -100, n),
        case(aten.nll_loss_backward, one.half(), scores.half(), classes, None, 1, -100, n.half()),
        case(aten.nll_loss2d_backward, torch.rand(2, 4, 4), image, pixels, None, 0, -100, n),
        case(aten.mse_loss_backward, one, x, target, 1),
        case(aten.mse_loss_backward, x, x, target, 0),
        case(aten.huber_loss_backward, x, x, target, 0, 1.0),
        case(aten.smooth_l1_loss_backward, x, x, target, 0, 1.0),
        case(aten.binary_cross_entropy_backward, x, share, target, None, 0),
        case(aten._log_softmax_backward_data, x, x, 1, torch.float32),
        case(aten._softmax_backward_data, x, x, 1, torch.float32),
    ]


def _of_the_rest(aten: Any) -> list[Case]:
    x, share = torch.randn(4, 16, 32), torch.rand(4, 16, 32)
    return [
        *[
            case(getattr(aten, f"{kind}_backward"), x, x)
            for kind in ("hardsigmoid", "hardswish", "mish", "silu", "gelu")
        ],
        case(aten.sigmoid_backward, x, share), case(aten.tanh_backward, x, share),
        case(aten.logit_backward, x, share), case(aten.threshold_backward, x, x, 0),
        case(aten.hardtanh_backward, x, x, -1, 1), case(aten.leaky_relu_backward, x, x, 0.1, False),
        case(aten.elu_backward, x, 1.0, 1.0, 1.0, False, x),
        case(aten.softplus_backward, x, x, 1, 20), case(aten.softshrink_backward, x, x, 0.5),
        case(aten.hardshrink_backward, x, x, 0.5), case(aten.glu_backward, x[..., :16], x, -1),
        case(aten.native_dropout_backward, x, x > 0, 2.0),
        case(aten.embedding_dense_backward, x, torch.randint(0, 100, (4, 16)), 100, -1, False),
        case(aten.index_select_backward, x[0], [100, 32], 0, torch.randint(0, 100, (16,))),
        case(aten.value_selecting_reduction_backward, x[..., 0], 2, torch.randint(0, 32, (4, 16)),
             [4, 16, 32], False),
        case(aten.slice_backward, x[:2], [4, 16, 32], 0, 0, 2, 1),
        case(aten.select_backward, x[0], [4, 16, 32], 0, 0),
        case(aten.diagonal_backward, torch.randn(16), [16, 16], 0, 0, 1),
    ]  # fmt: skip


@cache
def others() -> list[Case]:
    """Calls that are handed what they do not read, and their like that read it."""
    torch.manual_seed(0)
    aten, rand = torch.ops.aten, torch.rand
    x, share, row = torch.randn(4, 16, 32), rand(4, 16, 32), rand(16)
    pair, batch = (rand(8, 16), rand(16, 4)), (rand(3, 8, 16), rand(3, 16, 4))
    return [
        case(aten.type_as, x, x.half()), case(aten.type_as, x.half(), x),
        *[
            case(getattr(aten, f"{kind}_like"), x)
            for kind in ("zeros", "ones", "rand", "randn")
        ],
        case(aten.full_like, x, 2.0), case(aten.new_zeros, x, [5, 6]), case(aten.new_ones, x, [3]),
        case(aten.new_full, x, [3, 4], 1.0),
        *[
            case(getattr(aten, f"{kind}_"), x.clone())
            for kind in ("normal", "uniform", "random", "exponential", "log_normal", "cauchy",
                         "zero")
        ],
        case(aten.bernoulli, share, kind="probabilities"), case(aten.bernoulli.p, share, 0.5),
        case(aten.bernoulli_.float, x.clone(), 0.5),
        case(aten.bernoulli_.Tensor, x.clone(), share, kind="probabilities"),
        # Without a factor of what is added it may hold anything: `torch.empty`.
        case(aten.addmm, rand(8, 4), *pair, beta=0), case(aten.addmm, rand(8, 4), *pair),
        case(aten.baddbmm, rand(3, 8, 4), *batch, beta=0.0, alpha=0.5),
        case(aten.addbmm, rand(8, 4), *batch, beta=0), case(aten.addmv, rand(8), pair[0], row,
                                                            beta=0),
        case(aten.addr, rand(16, 16), row, row, beta=0), case(aten.addr, rand(16, 16), row, row),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(N_GRADIENTS))
def test_a_gradient_counts_what_it_is_made_of(number: int) -> None:
    """A pooling's was told with what was pooled, of which it takes the size: 334 MB were 231."""
    _moves_what_torch_reads_and_makes(gradients()[number])


@pytest.mark.parametrize("number", range(N_OTHERS))
def test_what_is_handed_for_its_size_or_type_is_not_read(number: int) -> None:
    _moves_what_torch_reads_and_makes(others()[number])


def _moves_what_torch_reads_and_makes(tried: Case) -> None:
    call, result = outermost(tried)
    # One value more or less: the weight of a loss.
    assert bytes_of_call(call) == pytest.approx(expected(tried, result), abs=8), named(tried)


def test_every_gradient_is_tried() -> None:
    assert (len(gradients()), len(others())) == (N_GRADIENTS, N_OTHERS)
    tried = {each.function.__name__.split(".")[0] for each in gradients()}
    assert {name for name in RULES if name.endswith(("_backward", "_backward_data"))} - tried == (
        NOT_TRIED
    )


def test_the_experiment_tells_what_is_read() -> None:
    """That the judge above finds either: it would else agree with whatever is counted."""
    x = torch.randn(4, 8)
    assert are_read(case(torch.ops.aten.copy_, x.clone(), x)) == [False, True]
    assert are_read(case(torch.ops.aten.add_, x.clone(), x)) == [True, True]
    assert are_read(case(torch.ops.aten.where, x > 0, x, -x)) == [True, True, True]
    assert are_read(case(torch.ops.aten.count_nonzero, x)) == [True]


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("shape", [(32, 10), (2, 10, 4, 4)])
def test_a_loss_by_classes_reads_the_values_of_these_alone(shape, weights) -> None:
    """A vocabulary's scores were all said to be read: of each row one value is."""
    scores = torch.rand(shape)
    classes = torch.randint(0, 10, (shape[0], *shape[2:]))
    of_classes = torch.rand(10) if weights else None
    name = f"nll_loss{'2d' if len(shape) > 2 else ''}_forward"
    loss = case(getattr(torch.ops.aten, name), scores, classes, of_classes, 1, -100)
    call, (result, _) = outermost(loss)

    at = classes.unsqueeze(1)
    alone = torch.full(shape, torch.nan).scatter(1, at, scores.gather(1, at))
    again, _ = loss.function(alone, *loss.arguments[1:])
    assert torch.equal(again, result)

    read = classes.numel() * scores.element_size() + n_bytes(classes) + (10 * 4 if weights else 0)
    assert bytes_of_call(call) == (read, n_bytes(result))


def test_a_number_of_python_s_is_no_memory() -> None:
    """The counter of a batch norm, `add_(1)`: 24 bytes were said, of which one number is none."""
    counter = case(torch.ops.aten.add_, torch.tensor(3), 1)
    call, _ = outermost(counter)
    assert (call.shapes[:2], call.dtypes[:2]) == (((), ()), ("long int", "long int"))
    assert bytes_of_call(call) == (8, 8)
    x = torch.randn(4, 8)
    assert bytes_of_call(outermost(case(torch.ops.aten.mul, x, 2.0))[0]) == (128, 128)
    one = torch.tensor(2.0)  # of a type that no number of Python's has
    assert bytes_of_call(outermost(case(torch.ops.aten.mul, x, one))[0]) == (132, 128)


def test_a_gradient_without_recorded_numbers_is_of_the_input() -> None:
    call = OperatorCall("aten::native_layer_norm_backward", ((4, 8), (4, 8)), ("float", "float"))
    assert bytes_of_call(call) == (256, 128)


@cache
def in_part() -> list[Case]:
    """Calls that read some of the values of what they are handed."""
    torch.manual_seed(0)
    aten = torch.ops.aten
    image, matrix = torch.randn(1, 2, 8, 8), torch.randn(2, 6, 9)
    return [
        case(aten.upsample_nearest2d.vec, image, [4, 2], None),
        case(aten.upsample_nearest2d.vec, image, [16, 2], None),
        case(aten.upsample_nearest2d.vec, image, None, [0.5, 0.5]),
        case(aten._upsample_nearest_exact2d.vec, image, [2, 4], None),
        case(aten.upsample_bilinear2d.vec, image, [2, 2], False, None),
        case(aten.upsample_bilinear2d.vec, image, [4, 16], False, None),
        case(aten.upsample_bicubic2d.vec, image, [1, 1], False, None),
        case(aten._upsample_bilinear2d_aa.vec, image, [2, 2], False, None),
        case(aten.upsample_nearest1d.vec, image[0], [2], None),
        case(aten.upsample_linear1d.vec, image[0], [2], False, None),
        case(aten.upsample_nearest3d.vec, image[None], [2, 2, 2], None),
        case(aten.constant_pad_nd, image, [-2, -2, 0, 0]),
        case(aten.constant_pad_nd, image, [2, 2, 0, 0]),
        *[
            case(getattr(aten, kind), matrix, diagonal)
            for kind in ("tril", "triu") for diagonal in (0, 1, -2, 20, -20)
        ],
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(N_IN_PART))
def test_of_what_is_read_in_part_the_rest_does_not_count(number: int) -> None:
    """Each value of its own is made another one: does the result differ?"""
    tried = in_part()[number]
    values, *rest = tried.arguments
    call, result = outermost(tried)

    def is_read(at: int) -> bool:
        other = values.clone()
        other.view(-1)[at] = torch.nan
        return tried.function(other, *rest).isnan().any().item()

    n_read = sum(map(is_read, range(values.numel())))
    assert bytes_of_call(call) == (4 * n_read, n_bytes(result))


@pytest.mark.parametrize("kind", ["tril_", "triu_"])
def test_a_triangle_in_place_is_zeros_beside_it(kind: str) -> None:
    matrix = torch.randn(2, 6, 9)
    call, result = outermost(case(getattr(torch.ops.aten, kind), matrix, 1))
    assert bytes_of_call(call) == (0, 4 * int((result == 0).sum()))


def test_all_in_part_are_tried() -> None:
    assert len(in_part()) == N_IN_PART


def test_beside_its_fill_a_table_s_gradient_writes_the_rows_that_are_looked_up() -> None:
    table = OperatorCall(
        "aten::embedding_dense_backward", ((7, 32), (7,)), ("float", "long int"), ("", "", "1000")
    )
    read, written = 7 * 32 * 4 + 7 * 8, 1000 * 32 * 4
    assert bytes_of_call(table) == (read, written)
    assert beside_its_fill(table, (read, written)) == (read, 7 * 32 * 4)
    small = OperatorCall(
        "aten::embedding_dense_backward", ((7, 32), (7,)), ("float", "long int"), ("", "", "5")
    )
    assert beside_its_fill(small, (read, 5 * 32 * 4)) == (read, 5 * 32 * 4)
    other = OperatorCall("aten::gelu_backward", ((7, 32), (7, 32)), ("float", "float"))
    assert beside_its_fill(other, (2, 1)) == (2, 1)
