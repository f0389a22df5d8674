"""Products of one size are one product, however they are written; of different sizes never."""

import pytest

from profiler_core.analysis.ledger.extents import product_extent
from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.ledger.worth import worth


@pytest.mark.parametrize(
    ("operator", "shapes", "extent"),
    [
        ("aten::linear", [(8, 128, 768), (3072, 768), (3072,)], (1, 1024, 3072, 768)),
        ("aten::addmm", [(3072,), (1024, 768), (768, 3072)], (1, 1024, 3072, 768)),
        ("torch.ops.aten.mm.default", [(1024, 768), (768, 3072)], (1, 1024, 3072, 768)),
        ("aten::matmul", [(8, 128, 768), (768, 3072)], (1, 1024, 3072, 768)),
        ("aten::matmul", [(8, 12, 128, 64), (8, 12, 64, 128)], (96, 128, 128, 64)),
        ("aten::bmm", [(96, 128, 64), (96, 64, 128)], (96, 128, 128, 64)),
        ("torch._C._nn.linear", [(4, 16), (32, 16)], (1, 4, 32, 16)),
        ("aten::linear", [(4, 16), (32, 8)], None),
        ("aten::mv", [(4, 16), (16,)], None),
    ],
)
def test_the_extent_of_a_product(operator, shapes, extent):
    assert product_extent(operator, shapes) == extent


def test_a_gradient_of_the_weight_is_no_batched_product():
    """Equal operators in order, and not the same work."""
    left = Item("matmul", frozenset(), (0,), extent=(1, 768, 3072, 1024))
    right = Item("matmul", frozenset(), (1,), extent=(96, 128, 128, 64))
    assert worth(left, right, "backward") == worth(left, right, "forward") == 0
    assert worth(left, left, "forward") > 0
