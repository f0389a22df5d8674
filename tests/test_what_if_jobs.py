"""What a finding expects of a job of ranks is no less because a rank waits for another.

The judge is plain JSON: how long the shown rank's own matrix products take.
"""

import gzip
import json
from functools import cache

import pytest

from profiler_core.analysis.findings import Finding
from profiler_core.session.comparison import Comparison
from tests.larger import FIXTURES, unpacked

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
