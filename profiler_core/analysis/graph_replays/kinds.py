"""What part of a server each device event is: products, mixture of experts, attention and so on.

The operator around its launch tells experts and sampling (`vllm::moe_forward` launches products
whose names say nothing of experts), of a replayed kernel the one around the call that was captured;
where no operator does, the kernel's name, and else its category.
"""

import re
from typing import Literal

import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.graph_replays.launched import launched_captures
from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.threads import placed_launches
from profiler_core.model.trace import Trace

# What a server's engineer asks for, in the order of the columns.
Kind = Literal["products", "moe", "attention", "communication", "sampling", "rest"]

_Patterns = tuple[tuple[Kind, re.Pattern[str]], ...]  # the first that fits
_SAMPLING = (
    r"(?<!up)(?<!down)(?<!grid_)sampl|argmax|gumbel|multinomial|top_?k_?top_?p|top_[kp]_renorm"
)
# Operators by namespace and name, so that no range that is named after a whole model fits.
_BY_OPERATOR: _Patterns = (
    (
        "moe",
        re.compile(
            r"(?i)^\w+::\w*(moe|expert|grouped_(gemm|mm|topk)|group_gemm|topk_?(softmax|sigmoid))"
        ),
    ),
    ("sampling", re.compile(rf"(?i)^\w+::\w*({_SAMPLING})")),
)
_BY_NAME: _Patterns = (
    (
        "moe",
        re.compile(
            r"(?i)moe|expert|matmul_(ogs|scatter)|grouped_gemm|_routing_|bitmatrix|topk_?gating"
        ),
    ),
    ("sampling", re.compile(rf"(?i){_SAMPLING}")),
)
_BY_CATEGORY: dict[str, Kind] = {
    "gemm": "products",
    "triton_template_gemm": "products",
    "attention": "attention",
    "triton_template_attention": "attention",
    "communication": "communication",
}


def server_kinds(trace: Trace) -> pl.Series:
    """The Kind of each device event, in the order of `categorise`.

    What experts on several devices exchange is communication.
    """
    work = categorise(trace)
    by_category = work["category"].cast(pl.String).replace_strict(
        _BY_CATEGORY, default="rest", return_dtype=pl.String
    )  # fmt: skip
    kinds = _fitting(work["name"], _BY_NAME).fill_null(by_category)
    kinds = _by_operators(trace, work, kinds).rename("kind")
    for capture in launched_captures(trace):
        captured = server_kinds(capture.trace).gather(capture.events["launched"])
        kinds = kinds.scatter(capture.events["event"], captured)
    return kinds


def _by_operators(trace: Trace, work: pl.DataFrame, kinds: pl.Series) -> pl.Series:
    """The kinds, of what an operator around the launch tells by that; not of communication."""
    launched = work.with_row_index("row").filter(
        pl.col("launch_ts_ns").is_not_null(), pl.col("category") != "communication"
    )
    ranges = trace.ops.select(
        "ts_ns", "dur_ns", "pid", "tid", kind=_fitting(trace.ops["name"], _BY_OPERATOR)
    ).drop_nulls("kind")
    if not launched.height or not ranges.height:
        return kinds
    placed = placed_launches(launched)
    ranges = placed.axis.place(ranges).sort("start", "end", descending=[False, True])
    for kind, _ in reversed(_BY_OPERATOR):
        kinds = kinds.scatter(placed.within(ranges.filter(kind=kind)), kind)
    return kinds


def _fitting(names: pl.Series, patterns: _Patterns) -> pl.Series:
    """The kind of the first pattern that each name fits; null where it fits none."""

    def kind(name: str) -> Kind | None:
        return next((kind for kind, pattern in patterns if pattern.search(name)), None)

    return per_name(names, kind, pl.String)
