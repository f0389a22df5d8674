"""Bytes of a call by its recorded arguments, against the tensors that torch is handed and makes."""

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler_core.analysis.ledger.bytes_of_call import RULES, bytes_of_call
from profiler_core.analysis.ledger.operator_call import OperatorCall, broadcast
from profiler_core.analysis.ledger.operator_kinds import ELEMENTWISE
from tests.analysis.ledger.one_call import Case, case, expected, named, outermost, tensors
from tests.lazily import Lazily

torch = Lazily("torch")

N_CASES = 185


def indices(n: int, *shape: int) -> Any:
    return torch.randint(0, n, shape)


@cache
def cases() -> list[Case]:
    """Calls of which the arguments tell the bytes. Made late: collecting imports no torch."""
    torch.manual_seed(0)
    aten, rand = torch.ops.aten, torch.rand
    x, y, image = rand(4, 16, 32), rand(32, 64), rand(4, 8, 16, 16)
    half, whole, truth = x.half(), torch.randint(0, 9, (4, 16)), x > 0.5
    row, channel = rand(32), rand(8)
    return [
        case(aten.fill_, torch.tensor(1.0), 2.0),
        case(aten.mul, x, torch.tensor(2.0)), case(aten.add, torch.tensor(1), 1),
        case(aten.mul, whole, 2.0), case(aten.mul, half, torch.tensor(2.0)),
        case(aten.mul, whole, 2),
        case(aten.add, x, x), case(aten.add, x, row), case(aten.add, rand(32, 1), rand(1, 64)),
        case(aten.sub, rand(4, 1, 8), rand(4, 8, 1)), case(aten.mul, x, 2.0),
        case(aten.add, half, x),
        case(aten.mul_, x.clone(), row), case(aten.add_, x.clone(), x), case(aten.relu, x),
        case(aten.gelu, half), case(aten.div, whole, 3), case(aten.add, whole, 1),
        case(aten.pow, x, 2),
        case(aten.eq, x, x), case(aten.gt, x, 0.5), case(aten.isnan, x),
        case(aten.logical_not, truth),
        case(aten.where, truth, x, rand(1)), case(aten.masked_fill, x, truth, 0.0),
        case(aten.clamp, x, 0, 1), case(aten.addcmul, x, x, x), case(aten.lerp, x, x, 0.5),
        case(aten.complex, x, x), case(aten.prelu, image - 0.5, channel), case(aten.clone, x),
        case(aten.gelu_backward, x, x), case(aten.threshold_backward, x, x, 0),
        case(aten.sqrt, whole),
        case(aten.silu_backward, x, x), case(aten.tanh_backward, half, half), case(aten.neg, whole),
        case(aten.rsub, x, 1.0), case(aten.maximum, x, x), case(aten.max.other, x, row),
        case(aten.softmax, x, -1), case(aten.softmax, half, -1, torch.float32),
        case(aten.log_softmax, x, -1), case(aten._softmax_backward_data, x, x, -1, torch.float32),
        case(aten._log_softmax_backward_data, y, y, 1, torch.float32), case(aten.cumsum, x, 1),
        case(aten.layer_norm, x, [32], row, row), case(aten.group_norm, image, 2, channel, channel),
        case(aten.rms_norm, x, [32], row), case(aten.dropout, x, 0.5, True),
        case(aten.batch_norm, image, *[rand(8)] * 4, True, 0.1, 1e-5, False),
        case(aten.batch_norm, image, *[rand(8)] * 4, False, 0.1, 1e-5, False),
        case(aten.instance_norm, image, channel, channel, None, None, True, 0.1, 1e-5, False),
        case(aten.native_layer_norm_backward, x, x, [32], rand(4, 16, 1), rand(4, 16, 1), row, row,
             [True, False, False]),
        case(aten.native_batch_norm_backward, image, image, *[rand(8)] * 5, True, 1e-5,
             [True, False, False]),
        case(aten.native_dropout, x, 0.5, True), case(aten.glu, x), case(aten.roll, x, [1], [0]),
        case(aten.pixel_shuffle, image, 2),
        case(aten.contiguous, x.transpose(0, 1)),
        case(aten.linear, x, rand(64, 32), rand(64)), case(aten.linear, half, half[0]),
        case(aten.linear, rand(4, 16), rand(16, 16)), case(aten.linear, x, row),
        case(aten.mm, rand(8, 16), rand(16, 4)), case(aten.bmm, rand(3, 8, 16), rand(3, 16, 4)),
        case(aten.addmm, rand(4), rand(8, 16), rand(16, 4)), case(aten.mv, rand(8, 16), rand(16)),
        case(aten.baddbmm, rand(3, 8, 4), rand(3, 8, 16), rand(3, 16, 4)),
        case(aten.addbmm, rand(8, 4), rand(3, 8, 16), rand(3, 16, 4)), case(aten.dot, row, row),
        case(aten.addmv, rand(8), rand(8, 16), rand(16)), case(aten.outer, rand(8), rand(16)),
        case(aten.matmul, rand(2, 3, 8, 16), rand(2, 3, 16, 4)),
        case(aten.matmul, rand(8, 16), rand(16)), case(aten.matmul, rand(16), rand(16, 8)),
        case(aten.matmul, rand(3, 1, 8, 16), rand(1, 5, 16, 4)),
        case(aten.matmul, rand(2, 16, 16), rand(16, 8)), case(aten.matmul, row, row),
        case(aten.scaled_dot_product_attention, rand(2, 4, 16, 8), rand(2, 4, 24, 8),
             rand(2, 4, 24, 6)),
        case(aten.sum, x), case(aten.sum, x, [0]), case(aten.sum, x, [-1, 0], True),
        case(aten.sum, x, dtype=torch.float64), case(aten.sum, x, [0], dtype=torch.float64),
        case(aten.mean, half, [0], dtype=torch.float32), case(aten.sum, whole),
        case(aten.sum, truth, [1]), case(aten.mean, x, [1]),
        case(aten.mean, half), case(aten.amax, x, [0]), case(aten.amin, x),
        case(aten.argmax, x, -1),
        case(aten.argmax, x), case(aten.max, x), case(aten.max, x, -1), case(aten.min, x, 1),
        case(aten.prod, x), case(aten.prod, x, 1), case(aten.std, x, [1]), case(aten.var, x),
        case(aten.var_mean, x, [-1]), case(aten.logsumexp, x, [1]), case(aten.any, truth),
        case(aten.all, truth, 1), case(aten.count_nonzero, x), case(aten.count_nonzero, x, [0]),
        case(aten.linalg_vector_norm, x), case(aten.linalg_vector_norm, x, 2, [1]),
        case(aten.median, x), case(aten.median, x, 1), case(aten.mode, x),
        case(aten.embedding, rand(1000, 32), indices(1000, 4, 7), kind="lookup"),
        case(aten.gather, rand(32, 100), 1, indices(100, 32, 3), kind="lookup"),
        case(aten.take_along_dim, rand(32, 100), indices(100, 32, 3), 1, kind="lookup"),
        case(aten.index_select, rand(100, 32), 0, indices(100, 7), kind="lookup"),
        case(aten.embedding, rand(5, 32), indices(5, 40)),  # each row several times: the table once
        case(aten.index_add_, rand(100, 32), 0, indices(100, 7), rand(7, 32), kind="add values"),
        case(aten.scatter_add_, rand(32, 100), 1, indices(100, 32, 3), rand(32, 3),
             kind="add values"),
        case(aten.scatter_, rand(32, 100), 1, indices(100, 32, 3), rand(32, 3), kind="put values"),
        case(aten.index_copy_, rand(100, 32), 0, torch.arange(7), rand(7, 32), kind="put values"),
        case(aten.index_add, rand(100, 32), 0, indices(100, 7), rand(7, 32)),
        case(aten.scatter_add, rand(32, 100), 1, indices(100, 32, 3), rand(32, 3)),
        case(aten.embedding_dense_backward, rand(4, 7, 32), indices(1000, 4, 7), 1000, -1, False),
        case(aten.repeat, y, [2, 3]), case(aten.tile, y, [2]), case(aten.flip, y, [0]),
        case(aten.repeat_interleave.self_int, y, 3), case(aten.one_hot, indices(10, 5), 10),
        case(aten.pad, image, [1, 2, 3, 4]), case(aten.constant_pad_nd, y, [0, 5]),
        case(aten.reflection_pad2d, image, [1, 1, 1, 1]), case(aten.sum_to_size, x, [16, 32]),
        case(aten.to, x, torch.bfloat16), case(aten.to, x, "cpu", torch.float16),
        case(aten._to_copy, half, dtype=torch.float32), case(aten._to_copy, x),
        case(aten.type_as, x, half),
        case(aten.copy_, half.clone(), x), case(aten.zero_, y.clone()),
        case(aten.fill_, y.clone(), 1.0), case(aten.zeros_like, x),
        case(aten.ones_like, x, dtype=torch.float16), case(aten.zeros, [4, 8]),
        case(aten.full, [3, 4], 1.0, dtype=torch.float64), case(aten.rand, [4, 4]),
        case(aten.new_zeros, x, [5, 6]), case(aten.rand_like, half),
        case(aten.nll_loss, rand(32, 10), indices(10, 32), kind="classes"),
        case(aten.mse_loss, x, x),
        case(aten.cross_entropy_loss, rand(32, 10), indices(10, 32)), case(aten.mse_loss, x, x, 0),
        case(aten.nll_loss_forward, rand(32, 10), indices(10, 32), None, 1, -100, kind="classes"),
        case(aten.nll_loss, rand(32, 10), indices(10, 32), None, 0, kind="classes"),
        case(aten.binary_cross_entropy_with_logits, x, x), case(aten.l1_loss, x, x),
        case(aten.nll_loss_backward, torch.tensor(1.0), rand(32, 10), indices(10, 32), None, 1,
             -100,
             torch.tensor(32.0)),
        case(aten.mse_loss_backward, torch.tensor(1.0), x, x, 1),
        case(aten.mse_loss_backward, x, x, x, 0),
        case(aten.max_pool2d_with_indices_backward, rand(4, 8, 8, 8), image, [2, 2], [2, 2], [0, 0],
             [1, 1], False, aten.max_pool2d_with_indices(image, [2, 2])[1]),
        case(aten._adaptive_avg_pool2d_backward, rand(4, 8, 4, 4), image),
        case(aten.avg_pool2d_backward, rand(4, 8, 8, 8), image, [2, 2], [2, 2], [0, 0], False, True,
             None),
        case(aten.upsample_nearest2d.vec, image, [32, 48], None),
        case(aten.upsample_nearest2d.vec, image, None, [2.0, 1.5]),
        case(aten.upsample_bilinear2d.vec, image, [8, 8], False, None),
        case(aten.upsample_nearest2d_backward, rand(4, 8, 32, 32), [32, 32], [4, 8, 16, 16]),
        case(aten.slice_backward, rand(2, 16, 32), [4, 16, 32], 0, 0, 2, 1),
        case(aten.select_backward, rand(16, 32), [4, 16, 32], 0, 0),
        # The types of a list are the kernel's, which a trace of a CPU has none of: they are given.
        case(aten.cat, [x, x[:, :3]], 1), case(aten.stack, [half, half, half]),
        case(aten.vstack, [y, y]),
        case(aten._foreach_add.List, [x, row], [x, row]), case(aten._foreach_sqrt, [x, y]),
        case(aten._foreach_mul_.Scalar, [x.clone(), row.clone()], 2.0, kind="lists"),
        case(aten._foreach_addcmul_.Scalar, [x.clone()], [x], [x], kind="lists"),
        case(aten._foreach_copy_, [x.clone(), row.clone()], [x, row], kind="overwrite lists"),
        case(aten._foreach_norm.Scalar, [x, y, row]),
        case(aten.topk, y, 5), case(aten.topk, x, 2, 1), case(aten.sort, y), case(aten.argsort, y),
        case(aten.cummax, y, 1), case(aten.searchsorted, torch.arange(100.0), row),
        case(aten.grid_sampler, image, rand(4, 5, 5, 2), 0, 0, False),
        case(aten.cdist, rand(8, 4), rand(9, 4)),
    ]  # fmt: skip


@cache
def unknown_cases() -> list[Case]:
    """Calls whose arguments do not tell what they make."""
    aten, rand = torch.ops.aten, torch.rand
    x, y, _ = rand(4, 16, 32), rand(32, 64), rand(4, 8, 16, 16)
    whole, truth = torch.randint(0, 9, (4, 16)), x > 0.5
    return [
        case(aten.index, rand(100, 32), [indices(100, 7)]),  # the trace has no shape of the indices
        case(aten.masked_select, x, truth), case(aten.nonzero, truth), case(aten._unique2, whole),
        case(aten.cat, [x, x], 1), case(aten.fft_rfft, x), case(aten.one_hot, whole),
        case(aten.repeat_interleave, y, torch.arange(32), 0),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(N_CASES))
def test_a_call_moves_what_torch_is_handed_and_makes(number: int) -> None:
    case = cases()[number]
    first = next(tensors(case.arguments), None)
    call, result = outermost(case, 0 if first is None else first.element_size())
    counted = bytes_of_call(call)
    assert counted is not None, named(case)
    # One value more or less: the weight of a loss, `aten::max` of a whole tensor.
    assert counted == pytest.approx(expected(case, result), abs=8), named(case)


def test_every_case_is_tried() -> None:
    assert len(cases()) == N_CASES


def test_what_the_arguments_do_not_tell_is_not_known() -> None:
    for unknown in unknown_cases():
        assert bytes_of_call(outermost(unknown)[0]) is None, named(unknown)


texts = st.sampled_from(
    ["", "0", "-1", "7", "99", "[0]", "[9, -9]", "[]", "True", "[nan]", "[1e999]", "[2.]", "x"]
)
shapes = st.one_of(
    st.none(), st.just(()), st.tuples(st.integers(0, 5)), st.tuples(*[st.integers(0, 5)] * 3)
)


@given(
    st.sampled_from(sorted(RULES)), st.booleans(), st.lists(shapes, max_size=6),
    st.lists(st.sampled_from(["float", "long int", "Scalar"]), max_size=6),
    st.lists(texts, max_size=6),
)  # fmt: skip
@settings(max_examples=1000, deadline=None)
def test_whatever_a_file_says_is_bytes_or_not_known(
    bare, in_place, given, dtypes, concrete
) -> None:
    name = f"aten::{bare}{'_' if in_place else ''}"
    moved = bytes_of_call(OperatorCall(name, tuple(given), tuple(dtypes), tuple(concrete)))
    assert moved is None or len(moved) == 2


def test_values_of_no_tensor_are_put_where_the_indices_are() -> None:
    shapes = ((32, 100), None, (32, 3), None)
    call = OperatorCall("aten::scatter_", shapes, ("float", "Scalar", "long int", "Scalar"))
    assert bytes_of_call(call) == (32 * 3 * 8, 32 * 3 * 4)


def test_without_concrete_inputs_a_reduction_or_a_cast_is_not_known() -> None:
    for name in ("aten::sum", "aten::_to_copy", "aten::amax", "aten::mse_loss"):
        assert bytes_of_call(OperatorCall(name, ((8, 4), (8, 4)), ("float", "float"))) is None


def test_a_type_that_is_not_known_has_no_bytes() -> None:
    assert bytes_of_call(OperatorCall("aten::relu", ((8, 4),), ("Strange",))) is None
    assert bytes_of_call(OperatorCall("aten::relu", ((8, 4),), ())) is None
    assert bytes_of_call(OperatorCall("mine::relu", ((8, 4),), ("float",))) is None


def test_shapes_that_do_not_fit_have_none_together() -> None:
    assert broadcast([(4, 1), (3,)]) == (4, 3)
    assert broadcast([(4, 2), (3,)]) is None
    assert broadcast([(0, 1), (3,)]) == (0, 3)


def test_what_torch_calls_pointwise_is() -> None:
    """Of ATen's operators those that keep the tag of torch; the others have a rule of their own."""
    others = {"_conj", "equal", "frexp", "max", "min", "norm"}
    missing = set()
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        if name == schema.name or name.startswith("special_"):
            continue
        operator = getattr(getattr(torch.ops.aten, name), schema.overload_name or "default", None)
        if operator is not None and torch.Tag.pointwise in operator.tags:
            bare = name.removesuffix("_") if not name.endswith("__") else name
            missing |= {bare} - ELEMENTWISE - others
    assert missing == set()
