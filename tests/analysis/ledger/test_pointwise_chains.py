"""A batch norm's relu is in the kernel that has the batch norm, and takes no other's place."""

import pytest

from profiler_core.analysis.ledger.operators import operators_of_kernel
from profiler_core.analysis.ledger.pointwise_chains import pointwise_chains
from profiler_core.analysis.ledger.program import Item
from tests.analysis.ledger.judge.pairs import ledger_of
from tests.larger import LARGER

SHAPE = (1, 64, 8, 8)
NORM = "triton_poi_fused__native_batch_norm_legit_no_training_relu_2"


def operator(op: str, shape=SHAPE, units=(0,)):
    return Item(op=op, inner=frozenset((op,)), units=units, shapes=(shape,))


def kernel(name: str, shapes=()):
    inner = operators_of_kernel(name)
    return Item(op=name, inner=inner, units=(0,), shapes=shapes, by_kernel_name=True)


NORM_AND_RELU = [operator("batch_norm"), operator("relu")]


def test_what_follows_pointwise_goes_with_the_first_of_its_row():
    row = [*NORM_AND_RELU, operator("max_pool2d"), operator("batch_norm"), operator("relu")]
    assert pointwise_chains(row, [kernel(NORM)]) == [(1, 0), (4, 3)]
    residual = [operator("batch_norm"), operator("add"), operator("relu")]
    added = kernel(NORM.replace("relu", "add_relu"))
    assert pointwise_chains(residual, [added]) == [(1, 0), (2, 0)]


@pytest.mark.parametrize(
    ("row", "kernels"),
    [
        (NORM_AND_RELU, []),
        (NORM_AND_RELU, [kernel("triton_poi_fused_relu_0"), kernel(NORM.replace("_relu", ""))]),
        (NORM_AND_RELU, [kernel(NORM, shapes=(SHAPE,))]),
        (NORM_AND_RELU, [kernel(NORM.replace("no_training", "functional"))]),
        ([operator("batch_norm"), operator("relu", (1, 64, 4, 4))], [kernel(NORM)]),
        ([operator("batch_norm"), operator("max_pool2d"), operator("relu")], [kernel(NORM)]),
        ([operator("batch_norm", units=()), operator("relu")], [kernel(NORM)]),
    ],
    ids=["no kernel", "two kernels", "shapes known", "training", "size", "between", "removed"],
)
def test_no_row_without_one_kernel_that_names_it(row, kernels):
    assert pointwise_chains(row, kernels) == []


def test_a_kernel_that_names_no_pooling_leaves_it_to_the_one_that_does():
    """Without logs, the relu was with the pooling's kernel and the pooling with a copy."""
    runs = (LARGER / "captures" / f"customcnn_b1.{mode}" for mode in ("eager", "reduce-overhead"))
    groups = ledger_of(*runs, logs=False).groups
    first = next(g for g in groups if any(k.name.endswith("_relu_2") for k in g.candidate.kernels))
    assert [each.op for each in first.baseline.operators] == ["aten::batch_norm", "aten::relu"]
    assert first.baseline_step_ns / 1e3 == pytest.approx(27.5, abs=0.05)
    pooling = next(g for g in groups if any(k.name.endswith("_3") for k in g.candidate.kernels))
    assert [each.op for each in pooling.baseline.operators] == ["aten::max_pool2d"]
