"""How wide a result is, against torch's own: it is not always as wide as what comes first."""

import pytest

from profiler_core.analysis.ledger.bytes_moved import bytes_of
from tests.analysis.profiled import n_bytes, units_of
from tests.lazily import Lazily

torch = Lazily("torch")
F = Lazily("torch.nn.functional")

PRODUCTS = {
    "linear": lambda x, w: F.linear(x, w, w[:, 0]),
    "bmm": lambda x, w: torch.bmm(x, x),
    "scaled_dot_product_attention": lambda x, w: F.scaled_dot_product_attention(x, x, x),
    "conv1d": lambda x, w: F.conv1d(x, w[:, :, None]),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("is_autocast", [True, False])
def test_under_autocast_a_product_is_as_wide_as_what_computes_it(name, is_autocast, tmp_path):
    """The layer norms of autocast are in fp32, and the linear layers behind them were told so."""
    values, weight = torch.randn(4, 32, 32), torch.randn(64, 32)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_autocast):
        _, units, result = units_of(lambda: PRODUCTS[name](values, weight), tmp_path)
    assert (result.dtype == torch.bfloat16) is is_autocast
    (unit,) = [unit for unit in units if unit.name == f"aten::{name}"]
    assert bytes_of(unit, None)[1] == n_bytes(result)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("to", lambda x, mask: x.to(torch.bfloat16)),
        ("to", lambda x, mask: x.double()),
        ("to", lambda x, mask: mask.float()),
        ("gt", lambda x, mask: x > 0),
        ("eq", lambda x, mask: x == x.new_ones(32)),
        ("gt_", lambda x, mask: x.gt_(0)),
        ("isinf", lambda x, mask: x.isinf()),
        ("logical_not", lambda x, mask: mask.logical_not()),
        ("where", lambda x, mask: torch.where(mask, x, x)),
        ("where", lambda x, mask: torch.where(mask, x.double(), 0.0)),
        ("add", lambda x, mask: x + x),
    ],
)
def test_casts_truths_and_choices_are_as_wide_as_torch_s(name, call, tmp_path):
    values = torch.randn(4, 16, 32)
    mask = values > 0
    _, units, result = units_of(lambda: call(values, mask), tmp_path)
    unit = [unit for unit in units if unit.name == f"aten::{name}"][-1]
    assert bytes_of(unit, None)[1] == n_bytes(result)


@pytest.mark.parametrize("name", ["add", "scaled_dot_product_attention"])
def test_what_is_expanded_is_read_once(name, tmp_path):
    """BERT's mask of 0.52 MB, expanded over twelve heads, was read as 6.29 MB."""
    values = torch.randn(2, 12, 32, 32)
    mask = torch.randn(2, 1, 32, 32)
    expanded = mask.expand(2, 12, 32, 32)
    call = {
        "add": lambda: values + expanded,
        "scaled_dot_product_attention": lambda: F.scaled_dot_product_attention(
            values, values, values, attn_mask=expanded
        ),
    }[name]
    _, units, result = units_of(call, tmp_path)
    unit = [unit for unit in units if unit.name == f"aten::{name}"][-1]
    n_values = 1 if name == "add" else 3
    assert bytes_of(unit, None) == (
        n_values * n_bytes(values) + n_bytes(mask), n_bytes(result),
    )  # fmt: skip
