"""Casts of weights apart from casts of what changes with each step: `weight_casts`.

The judge reads the raw structured log and the raw trace with regular expressions and plain json: a
cast is of a weight where Dynamo's placeholder at the kernel's argument has a module's path.
"""

import gzip
import re
from dataclasses import replace
from functools import cache

import msgspec
import polars as pl
import pytest

from profiler_core.analysis.finding_rules.cast_tensors import what_is_cast
from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.finding_rules.weight_casts import weight_casts
from profiler_core.units import format_duration
from tests.analysis.test_findings import BF16, Facts, facts, folder, inductor_log, read
from tests.reference import read_events

BF16_GRAPHS = "resnet50-bf16/reduce-overhead+bf16-autocast+channels_last"
_CAST = r"triton_poi_fused__to_copy_\d+"


def _with_code(name: str, baseline: str | None = None) -> Facts:
    run, _, _ = read(name)
    return replace(facts(name, baseline), code=inductor_log(tuple(run.torch_trace)))


@cache
def _judged(name: str) -> dict[str, bool]:
    """Kernel -> does it cast a parameter, by the raw log of the run."""
    (log,) = (folder(name) / "torch_trace").glob("*.gz")
    text = gzip.decompress(log.read_bytes()).decode()
    placeholders = re.findall(r"(L_\w+): \"", re.search(r"def forward\(self, (.*?)\):", text)[1])
    calls = re.findall(rf"({_CAST})\.run\(arg(\d+)_1,", text)
    judged: dict[str, set[bool]] = {}
    for kernel, place in calls:
        judged.setdefault(kernel, set()).add("_parameters_" in placeholders[int(place)])
    return {kernel: is_weight for kernel, (is_weight,) in judged.items()}


def _of_trace(name: str, *, weights: bool) -> tuple[float, float]:
    """Calls and ns per step of the kernels that the judge says cast weights, or the others."""
    events = read_events(folder(name) / "trace.json.gz")
    n_steps = sum(
        str(event["name"]).startswith("ProfilerStep#") and event["cat"] == "user_annotation"
        for event in events
        if "cat" in event
    )
    judged = _judged(name)
    times = [
        1000 * float(event["dur"])
        for event in events
        if event.get("cat") == "kernel" and judged.get(event["name"]) is weights
    ]
    return len(times) / n_steps, sum(times) / n_steps


@pytest.mark.parametrize("has_log", [True, False])
def test_the_input_is_no_weight(has_log):
    """ "56 kernels only cast, as a rule weights" counted the cast of the images, too."""
    case = _with_code(*BF16) if has_log else facts(*BF16)
    if not has_log:
        record = msgspec.structs.replace(case.record, spec={})
        case = replace(case, record=record, baseline=None, ledger=None)
    n, time_ns = _of_trace(BF16[0], weights=True)
    n_others, others_ns = _of_trace(BF16[0], weights=False)
    assert (n, n_others) == (55, 1)
    finding = weight_casts(case)
    assert finding.title == f"{n:.0f} kernels per step only cast weights for autocast."
    assert finding.evidence.startswith(f"{format_duration(time_ns)} per step (")
    assert f" 1 more ({format_duration(others_ns)}) casts inputs" in finding.evidence
    judged = {kernel for kernel, is_weight in _judged(BF16[0]).items() if is_weight}
    assert {item.key for item in finding.items} == judged == set(finding.change.kernels)


def test_replayed_casts_are_told_by_the_log_and_are_a_range_without_it():
    """The capture of a graph that no profiler saw leaves its kernels without shapes."""
    known = weight_casts(_with_code(BF16_GRAPHS, BF16[1]))
    judged = {kernel for kernel, is_weight in _judged(BF16_GRAPHS).items() if is_weight}
    assert known.title == "55 kernels per step only cast weights for autocast."
    assert {item.key for item in known.items} == judged
    unsure = weight_casts(facts(BF16_GRAPHS, BF16[1]))
    assert unsure.title == "Up to 56 kernels per step only cast weights for autocast."
    assert unsure.evidence.startswith("Up to ")
    assert (
        " Whether 56 of them cast weights or what changes from step to step, neither"
        in unsure.evidence
    )
    assert {item.key for item in unsure.items} == set(_judged(BF16_GRAPHS))
    assert unsure.prediction.low_ns <= 0 < known.prediction.low_ns


def test_what_is_not_sure_is_a_range():
    """Of a kernel with a shape that no product takes, nothing is claimed."""
    case = facts(*BF16)
    name = "triton_poi_fused__to_copy_7"
    is_it = pl.col("name").cast(pl.String) == name
    ops = case.trace.ops.with_columns(
        input_dims=pl.when(is_it).then(pl.lit("[[5,7],[5,7],[]]")).otherwise("input_dims")
    )
    finding = weight_casts(replace(case, trace=replace(case.trace, ops=ops)))
    n = next(kernel.n for kernel in case.summary.kernels if kernel.name == name) / case.n_steps
    assert finding.title == f"{55 - n:.0f} to 55 kernels per step only cast weights for autocast."
    assert f" Whether {n:.0f} of them cast weights or" in finding.evidence


def test_the_weights_alone_decide_whether_it_is_worth_a_finding():
    """An input whose cast is long is no reason to freeze weights."""
    case = facts(*BF16)
    judged = _judged(BF16[0])
    kernels = tuple(
        replace(kernel, time_ns=kernel.time_ns // 4)
        if judged.get(kernel.name)
        else replace(kernel, time_ns=20 * kernel.time_ns)
        for kernel in case.summary.kernels
    )
    assert weight_casts(replace(case, summary=replace(case.summary, kernels=kernels))) is None


def _casts_taking(share: float, names: set[str]) -> Facts:
    """Replayed casts that nothing tells of: these alone, with that share of the step together."""
    case = facts(BF16_GRAPHS, BF16[1])
    casts = set(_judged(BF16_GRAPHS))
    rest = [kernel for kernel in case.summary.kernels if kernel.name not in casts]
    kept = [kernel for kernel in case.summary.kernels if kernel.name in names]
    scale = share * case.step_ns / case.per_step(kept)
    scaled = [replace(kernel, time_ns=round(scale * kernel.time_ns)) for kernel in kept]
    return replace(case, summary=replace(case.summary, kernels=(*rest, *scaled)))


def test_of_casts_that_nothing_tells_of_half_are_taken_for_weights():
    """Which is where the threshold lies: 3 % of the step."""
    casts = set(_judged(BF16_GRAPHS))
    assert weight_casts(_casts_taking(0.07, casts)) is not None
    assert weight_casts(_casts_taking(0.05, casts)) is None


def test_three_casts_that_nothing_tells_of_are_taken_for_inputs():
    casts = sorted(_judged(BF16_GRAPHS))
    assert weight_casts(_casts_taking(0.2, set(casts[:4]))) is not None
    assert weight_casts(_casts_taking(0.2, set(casts[:3]))) is None


_HALVES = ("c10::BFloat16",) * 3


@pytest.mark.parametrize(
    ("shape", "what"),
    [
        ((768, 3072), "weights"),  # handed over transposed
        ((3072,), "weights"),  # a bias
        ((8, 16, 768), "values"),  # a batch of sequences, flattened for the product
        ((64, 64), None),  # both: a square weight and as many rows
        ((7, 7), None),  # of no product
    ],
)
def test_a_shape_tells_a_weight_where_products_take_it_as_one(shape, what):
    """What both operands of products have, or none, is not told."""
    products = [
        OpWork("aten::addmm", ((3072,), (128, 768), (768, 3072)), _HALVES, (), (), "k", (1,)),
        OpWork("aten::mm", ((64, 64), (64, 64)), _HALVES, (), (), "k", (1,)),
        OpWork("aten::mm", ((7, 7), (7, 7)), ("float", "float"), (), (), "k", (1,)),
    ]
    trace = read(BF16[0])[1]
    (row,) = trace.ops.head(1).to_dicts()
    dims = f"[{list(shape)}, {list(shape)}, []]"
    op = {**row, "name": "triton_poi_fused__to_copy_0", "input_dims": dims}
    ops = pl.DataFrame([op], schema=trace.ops.schema)
    told = what_is_cast([op["name"]], replace(trace, ops=ops), None, products)
    assert told.get(op["name"]) == what
