"""What each kernel does: gemm, conv, attention …; the table is category_rules.py.

Defined in docs/columns.md, Categories.
"""

import re
from functools import lru_cache

import numpy as np
import polars as pl

from profiler_core.analysis.category_rules import RULES
from profiler_core.analysis.graph_replays.launched import launched_captures
from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.threads import placed_launches
from profiler_core.analysis.work import device_work
from profiler_core.model.trace import KERNEL, MEMCPY, MEMSET, Trace

OTHER = "other"

# Every category in the order in which tables and legends show them, with its label.
CATEGORIES: dict[str, str] = {
    "gemm": "GEMM",
    "conv": "convolution",
    "attention": "attention",
    "norm": "normalisation",
    "softmax": "softmax",
    "pooling": "pooling",
    "embedding": "embedding and indexing",
    "elementwise": "elementwise",
    "reduction": "reduction, scan and sort",
    "copy": "copy, cast and layout",
    "triton_pointwise": "Triton pointwise",
    "triton_reduction": "Triton reduction",
    "triton_persistent_reduction": "Triton persistent reduction",
    "triton_template_gemm": "Triton template: GEMM",
    "triton_template_attention": "Triton template: attention",
    "triton_template_conv": "Triton template: convolution",
    "cpp_fused": "C++ fused by Inductor",
    "engine": "engine of another compiler",
    "optimizer": "optimizer",
    "communication": "communication",
    "memcpy": "memcpy",
    "memset": "clearing memory",  # memsets, and the kernels by which graphs do some
    OTHER: "other",
}
CATEGORY = pl.Enum(list(CATEGORIES))
# Of kernels that compute matrix products and convolutions.
PRODUCT_CATEGORIES = ("gemm", "conv", "triton_template_gemm", "triton_template_conv")
# Copies and memsets are no kernels and are counted apart, but for those that a kernel does.
COPIES = ("memcpy", "memset")

_NO_RULE = len(RULES)
_BY_RULE = [rule.category for rule in RULES] + [OTHER]
_PATTERNS = {
    by: tuple((n, re.compile(rule.pattern)) for n, rule in enumerate(RULES) if rule.by == by)
    for by in ("kernel", "operator")
}
_FIRST_OPERATOR_RULE = next(i for i, rule in enumerate(RULES) if rule.by == "operator")


def categorise(trace: Trace) -> pl.DataFrame:
    """Every device event with its category; on a trace without a GPU every CPU kernel.

    Returns:
        The columns of `device_work` and category (an Enum of CATEGORIES), in the same order: the
        first rule of the table that fits.
    """
    return trace.derived("categories", _with_categories)


def _with_categories(trace: Trace) -> pl.DataFrame:
    work = device_work(trace)
    rule = _rules_of(work["name"], "kernel")
    if trace.has_device_events:
        rule = _refined_by_operators(trace, work, rule)
    else:  # a CPU kernel is its own operator
        operator_rule = _rules_of(work["name"], "operator")
        rule = pl.select(pl.min_horizontal(rule.alias("rule"), operator_rule.alias("own")))["rule"]
    category = pl.Series("category", _BY_RULE, dtype=CATEGORY).gather(rule)
    category = _with_captures(trace, category)
    return work.with_columns(category).with_columns(
        pl.when(pl.col("cat") == MEMCPY)
        .then(pl.lit("memcpy", CATEGORY))
        .when(pl.col("cat") == MEMSET)
        .then(pl.lit("memset", CATEGORY))
        .otherwise("category")
        .alias("category")
    )


def _with_captures(trace: Trace, category: pl.Series) -> pl.Series:
    """Replayed kernels have the category of the call that was captured, where it is at hand."""
    for capture in launched_captures(trace):
        captured = categorise(capture.trace)["category"].gather(capture.events["launched"])
        category = category.scatter(capture.events["event"], captured)
    return category


def category_of_kernel(name: str) -> str:
    """The category of one kernel by its name alone."""
    return _BY_RULE[_first_rule(name, "kernel")]


@lru_cache(maxsize=1 << 12)  # names repeat from step to step
def is_kernel(name: str, category: str) -> bool:
    """Is a device event a kernel? The memset that a graph does by "memset32" is one."""
    return category not in COPIES or category_of_kernel(name) == category


def category_of_operator(name: str) -> str:
    """The category that a host range of this name gives to what is launched inside of it."""
    return _BY_RULE[_first_rule(name, "operator")]


def _first_rule(name: str, by: str) -> int:
    for number, pattern in _PATTERNS[by]:
        if pattern.search(name):
            return number
    return _NO_RULE


def _rules_of(names: pl.Series, by: str) -> pl.Series:
    """The number of the first rule that fits the name of each row."""
    return per_name(names, lambda name: _first_rule(name, by), pl.Int16)


def _refined_by_operators(trace: Trace, work: pl.DataFrame, rule: pl.Series) -> pl.Series:
    """The lower of the kernel's own rule and the rules of the ranges around its launch."""
    launches = (
        work.select("cat", "launch_ts_ns", "launch_pid", "launch_tid", rule.alias("rule"))
        .with_row_index("row")
        .filter(
            pl.col("cat") == KERNEL,
            pl.col("rule") > _FIRST_OPERATOR_RULE,
            pl.col("launch_ts_ns").is_not_null(),
        )
    )
    ranges = _classified_ranges(trace)
    if launches.height == 0 or ranges.height == 0:
        return rule
    placed = placed_launches(launches)
    ranges = placed.axis.place(ranges).sort("start", "end", descending=[False, True])
    refined = rule.to_numpy().copy()
    for number in ranges["range_rule"].unique().sort():
        inside = placed.within(ranges.filter(pl.col("range_rule") == number))
        refined[inside] = np.minimum(refined[inside], number)
    return pl.Series("rule", refined)


def _classified_ranges(trace: Trace) -> pl.DataFrame:
    """Operators and annotations that some rule knows: ts_ns, dur_ns, pid, tid, range_rule."""
    return pl.concat(
        table.select(
            "ts_ns",
            "dur_ns",
            "pid",
            "tid",
            _rules_of(table["name"], "operator").alias("range_rule"),
        ).filter(pl.col("range_rule") < _NO_RULE)
        for table in (trace.ops, trace.annotations)
    )
