"""What a finding expects of a job of ranks is no less because a rank waits for another.

The judges are plain JSON: how long the shown rank's own matrix products take, and what steps took
with TF32, in rounds timed in turns with those without.
"""

import gzip
import json
from functools import cache
from statistics import median

import pytest

from profiler_core.analysis.findings import Finding
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run
from tests.larger import FIXTURES, TF32, unpacked

JOBS = unpacked(FIXTURES / "jobs.tar.xz")


@cache
def products_finding(job: str, variant: str) -> Finding:
    """What a job's products in fp32 cost, the finding itself or the one that stands for it."""
    comparison = Comparison.open([JOBS / job / "eager", JOBS / job / variant])
    findings = comparison.pairs[0].findings
    assert findings is not None
    every = [*findings, *(other for finding in findings for other in finding.alternatives)]
    return next(finding for finding in every if finding.key == "tf32_off")


def products_ns(job: str, variant: str) -> float:
    """Per step: kernels of the shown rank that are products by their names, from its JSON.

    Of those that a marked step launches: before it the device works off what was launched earlier.
    """
    with gzip.open(JOBS / job / variant / "trace.json.gz") as file:
        events = json.load(file)["traceEvents"]
    steps = [e for e in events if e.get("cat") == "user_annotation" and "Step#" in e["name"]]
    launched = {
        e["args"]["correlation"]
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver")
        and "correlation" in e["args"]
        and any(step["ts"] <= e["ts"] < step["ts"] + step["dur"] for step in steps)
    }
    of_products = [
        e["dur"]
        for e in events
        if e.get("cat") == "kernel"
        and e["args"]["correlation"] in launched
        and any(name in e["name"].lower() for name in ("gemm", "cutlass"))
    ]
    return sum(of_products) * 1000 / len(steps)


@pytest.mark.parametrize("job", ["ddp-even", "ddp-spin"])
def test_faster_products_gain_though_another_rank_is_late(job):
    prediction = products_finding(job, "default").prediction
    assert prediction is not None
    products = products_ns(job, "default")
    # TF32 is several times as fast; some of these products are too small to gain all of it.
    assert 0.25 * products < prediction.expected_ns < 0.9 * products


def test_the_host_is_not_called_the_limit_where_only_the_late_rank_is_waited_for():
    prediction = products_finding("fsdp-blocks-spin", "default+target-blocks").prediction
    assert prediction is not None
    assert prediction.basis == "simulated"
    # Of the even job: beside collectives that wait, products take longer in the late one.
    assert prediction.high_ns > 0.25 * products_ns("fsdp-blocks-even", "default+target-blocks")


@pytest.mark.parametrize("job", ["pp-1f1b-even", "pp-spin"])
def test_of_a_pipeline_only_a_bound_is_told(job):
    prediction = products_finding(job, "default").prediction
    assert prediction is not None
    assert prediction.is_bound
    assert "other stages" in prediction.reason


def saved_by_rounds(job: str, variant: str) -> list[float]:
    """What TF32 saved in each round, ns per step, least first."""
    runs = [
        json.loads((unpacked(TF32) / job / name / "run.json").read_text())["measurement"]["rounds"]
        for name in (variant, f"{variant}+tf32")
    ]
    steps = [[turn["wall_ns"] / turn["n_steps"] for turn in rounds] for rounds in runs]
    return sorted(before - after for before, after in zip(*steps, strict=True))


@pytest.mark.parametrize(
    ("job", "variant", "least"),
    [
        ("ddp-spin-tf32", "eager", 0.7),
        ("ddp-spin-tf32", "default", 0.5),
        # Its device hides how long the host works, but for the time that it sleeps.
        ("ddp-sleep-tf32", "eager", 0.75),
    ],
)
def test_what_tf32_saves_in_a_job_with_a_late_rank_is_what_it_saved(job, variant, least):
    """Two of eight rounds may lie outside of the interval on either side."""
    findings = Run.open(unpacked(TF32) / job / variant).alone.findings
    every = [*findings, *(other for finding in findings for other in finding.alternatives)]
    prediction = next(finding for finding in every if finding.key == "tf32_off").prediction
    assert prediction.basis == "simulated"
    saved = saved_by_rounds(job, variant)
    assert prediction.low_ns < saved[5] and saved[2] < prediction.high_ns
    assert least * median(saved) < prediction.expected_ns < 1.25 * median(saved)
