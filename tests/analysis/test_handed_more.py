"""A group that is slower because its operator is handed more: a capture, one group of it edited.

Seen in BERT with autocast: eager drops a mask of ones, compiled code hands it to cuDNN's attention,
and "No cause is seen in the files" stood there.
"""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from profiler_core.analysis.finding_rules.facts import Facts
from profiler_core.analysis.finding_rules.regressions import slower_groups
from profiler_core.analysis.handed_more import HandedMore, handed_more
from profiler_core.analysis.ledger.result import KernelTime
from profiler_core.analysis.wording.groups import handed_sentence
from profiler_core.analysis.work import device_work
from tests.analysis.test_findings import RESNET, facts

CONVOLUTION = "aten::cudnn_convolution"


@cache
def convolution() -> tuple[int, str, str]:
    """A group of one convolution on both sides: its number, and the arguments that are recorded."""
    case = facts(*RESNET)
    number = next(
        n
        for n, group in enumerate(case.ledger.groups)
        if group.title == "conv2d" and group.kind == "matched" and group.n_steps == (5, 5)
    )
    (row, *_) = np.flatnonzero(case.ledger.baseline_group == number)
    external = device_work(case.baseline)["external_id"][int(row)]
    call = case.baseline.ops.filter(pl.col("external_id") == external).row(-1, named=True)
    assert call["name"] == CONVOLUTION
    return number, call["input_dims"], call["input_types"]


def slowed(place: int, shape: list[int], kind: str) -> Facts:
    """Three times as slow in the candidate, and in the baseline with another argument."""
    case = facts(*RESNET)
    number, dims, types = convolution()
    of_group = pl.Series(case.ledger.candidate_group == number)
    device = case.trace.device.with_columns(
        dur_ns=pl.when(of_group).then(3 * pl.col("dur_ns")).otherwise(pl.col("dur_ns"))
    )
    group = case.ledger.groups[number]
    side = group.candidate
    kernels = tuple(KernelTime(k.name, k.category, k.n, 3 * k.time_ns) for k in side.kernels)
    slower = replace(side, kernels=kernels, time_ns=3 * side.time_ns)
    groups = list(case.ledger.groups)
    groups[number] = replace(group, candidate=slower)

    shapes, kinds = json.loads(dims), json.loads(types)
    shapes[place], kinds[place] = shape, kind
    edited = (pl.col("name").cast(pl.String) == CONVOLUTION) & (pl.col("input_dims") == dims)
    ops = case.baseline.ops.with_columns(
        input_dims=pl.when(edited).then(pl.lit(json.dumps(shapes))).otherwise("input_dims"),
        input_types=pl.when(edited).then(pl.lit(json.dumps(kinds))).otherwise("input_types"),
    )
    return replace(
        case,
        trace=replace(case.trace, device=device),
        baseline=replace(case.baseline, ops=ops),
        ledger=replace(case.ledger, groups=tuple(groups)),
    )


def told(case: Facts) -> HandedMore | None:
    return handed_more(case.ledger, convolution()[0], case.baseline, case.trace)


def test_a_tensor_that_the_baseline_leaves_out() -> None:
    case = slowed(1, [], "")
    weight = json.loads(convolution()[1])[1]
    text = f"{'×'.join(map(str, weight))} f32"
    more = told(case)
    assert more == HandedMore(CONVOLUTION, 1, "", text)
    sentence = f"{CONVOLUTION} is handed {text}, which the baseline leaves out."
    assert handed_sentence(more) == sentence
    finding = slower_groups(case)
    assert finding is not None and sentence in finding.evidence
    assert "No cause" not in finding.advice and "the baseline hands them" in finding.advice


@pytest.mark.parametrize("part", ["size", "type"])
def test_a_larger_tensor_than_in_the_baseline(part: str) -> None:
    images = json.loads(convolution()[1])[0]
    before, kind = ([1, *images[1:]], "float") if part == "size" else (images, "c10::Half")
    more = told(slowed(0, before, kind))
    assert more is not None and (more.position, more.after) == (
        0,
        f"{'×'.join(map(str, images))} f32",
    )
    dtype = "f32" if part == "size" else "f16"
    assert handed_sentence(more).endswith(f"in the baseline {'×'.join(map(str, before))} {dtype}.")


@pytest.mark.parametrize("argument", [([9999, 9999, 9, 9], "float"), ([1], "float"), None])
def test_no_less_and_no_other_view_is_a_cause(argument: tuple[list[int], str] | None) -> None:
    """Larger in the baseline; of another number of dimensions, as an expanded bias; the same."""
    shape, kind = argument or (json.loads(convolution()[1])[0], "float")
    case = slowed(0, shape, kind)
    assert told(case) is None
    finding = slower_groups(case)
    assert finding is not None and finding.advice.startswith("No cause is seen in the files.")


def test_a_group_that_is_no_slower_has_no_cause() -> None:
    case = slowed(1, [], "")
    before = facts(*RESNET)
    faster = [replace(group, candidate=group.baseline) for group in before.ledger.groups]
    assert told(replace(case, ledger=replace(case.ledger, groups=tuple(faster)))) is None


def test_the_mask_of_an_attention_is_called_so() -> None:
    more = HandedMore("aten::_cudnn_attention_forward", 3, "", "8×1×128×128 bf16")
    assert handed_sentence(more) == (
        "aten::_cudnn_attention_forward is handed an attention mask of 8×1×128×128 bf16, which the "
        "baseline leaves out."
    )
