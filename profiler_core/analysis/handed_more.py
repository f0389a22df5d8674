"""What the operator of a slower group is handed beside what the baseline hands it, by both traces.

Compiled code can hand over what eager leaves out: transformers looks whether an attention mask
masks anything, and cannot look at values while it is traced.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import polars as pl

from profiler_core.analysis.ledger.operator_call import ITEM_BYTES
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.ledger.work_units import read_shapes
from profiler_core.analysis.operator_arguments import json_list, tensor_text
from profiler_core.analysis.work import device_work
from profiler_core.model.trace import Trace

# Of what the group lost: the operator takes that much longer itself.
_LEAST_SHARE = 0.5
# Where the mask stands among the arguments of those of aten's operators that take one.
MASK_POSITIONS = {
    "aten::scaled_dot_product_attention": 3,
    "aten::_scaled_dot_product_attention_math": 3,
    "aten::_scaled_dot_product_efficient_attention": 3,
    "aten::_scaled_dot_product_cudnn_attention": 3,
    "aten::_efficient_attention_forward": 3,
    "aten::_cudnn_attention_forward": 3,
    "aten::_scaled_dot_product_efficient_attention_backward": 4,
    "aten::_efficient_attention_backward": 4,
    "aten::_scaled_dot_product_cudnn_attention_backward": 8,
    "aten::_cudnn_attention_backward": 8,
}

_Argument = tuple[tuple[int, ...], str]  # shape and type; ((), "") for none


@dataclass(frozen=True)
class HandedMore:
    """One tensor argument of an operator that both sides call."""

    operator: str  # "aten::_cudnn_attention_forward"
    position: int  # among its arguments, from 0
    before: str  # "8×128 bf16"; "": the baseline leaves it out
    after: str

    @property
    def is_mask(self) -> bool:
        """Is it the mask of an attention?"""
        return MASK_POSITIONS.get(self.operator) == self.position


def handed_more(
    ledger: FusionLedger, number: int, baseline: Trace, candidate: Trace
) -> HandedMore | None:
    """An argument that makes a group slower: left out in the baseline, or of fewer bytes there.

    None where the operator that takes longer has the same arguments, or several kinds of calls.

    Args:
        ledger: of these traces.
        number: of the group in it.
        baseline: its trace.
        candidate: its trace.
    """
    group = ledger.groups[number]
    before, after = (
        _calls(trace, group_of, number)
        for trace, group_of in (
            (baseline, ledger.baseline_group), (candidate, ledger.candidate_group),
        )
    )  # fmt: skip
    for operator in before.keys() & after.keys():
        (given, before_ns), (taken, after_ns) = before[operator], after[operator]
        longer_ns = group.per_step(after_ns, 1) - group.per_step(before_ns, 0)
        if 0 < _LEAST_SHARE * group.delta_ns <= longer_ns:
            more = next(_more(operator, given, taken), None)
            if more is not None:
                return more
    return None


def _calls(
    trace: Trace, group_of: np.ndarray, number: int
) -> Mapping[str, tuple[list[_Argument], int]]:
    """Operator -> what all of its calls in a group are handed, and the time that these start."""
    if device_work(trace).height != group_of.size:
        return {}  # the ledger is of another rank than this trace
    kinds = (
        operators_of_work(trace)[np.flatnonzero(group_of == number)]
        .drop_nulls("operator")
        .group_by("operator", "input_dims", "input_types", maintain_order=True)
        .agg(pl.col("dur_ns").sum())
    )
    alike = kinds.filter(pl.len().over("operator") == 1)
    return {name: (_arguments(dims, types), ns) for name, dims, types, ns in alike.iter_rows()}


def operators_of_work(trace: Trace) -> pl.DataFrame:
    """For each row of `device_work` the innermost operator with shapes around its launch.

    Returns:
        operator, input_dims, input_types (null where there is none), dur_ns.
    """
    return trace.derived("handed", _handed)


def _handed(trace: Trace) -> pl.DataFrame:
    work = device_work(trace).select("external_id", "dur_ns")
    operators = (
        trace.ops.filter(pl.col("input_dims").is_not_null(), pl.col("external_id").is_not_null())
        .unique("external_id", keep="last", maintain_order=True)
        .select(
            "external_id", pl.col("name").cast(pl.String).alias("operator"),
            "input_dims", "input_types",
        )
    )  # fmt: skip
    return work.join(operators, on="external_id", how="left", maintain_order="left")


def _arguments(dims: str | None, types: str | None) -> list[_Argument]:
    kinds = map(str, json_list(types))
    return [(shape or (), kind) for shape, kind in zip(read_shapes(dims), kinds, strict=False)]


def _more(operator: str, given: list[_Argument], taken: list[_Argument]) -> Iterator[HandedMore]:
    """Tensors that are left out of what is given, or larger in what is taken, in their order.

    Of another number of dimensions it may be the same tensor, expanded.
    """
    for position, ((was, kind), (shape, new_kind)) in enumerate(zip(given, taken, strict=False)):
        if not shape or new_kind not in ITEM_BYTES:
            continue
        text = tensor_text(shape, new_kind)
        if not kind and not was:
            yield HandedMore(operator, position, "", text)
        elif len(was) == len(shape) and kind in ITEM_BYTES:
            n_bytes = prod(was) * ITEM_BYTES[kind]
            if prod(shape) * ITEM_BYTES[new_kind] > n_bytes:
                yield HandedMore(operator, position, tensor_text(was, kind), text)
