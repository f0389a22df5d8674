"""The check of the answers on every rank of a job: clean ones are right, a wrong rank is named."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from profiler_core.capture.rank_numerics import numerics_of_job
from tests.quick_python import ENVIRONMENT

CHECKS = Path(__file__).parent / "workloads" / "rank_checks.py"
WORKLOADS = ("fsdp", "pp")


@pytest.fixture(scope="module")
def of_ranks(tmp_path_factory, quick_python):
    """By rank: the numerics of each "WORKLOAD CANDIDATE", checked by two processes."""
    folder = tmp_path_factory.mktemp("checks")
    ranks = [
        subprocess.Popen(
            [quick_python, CHECKS, str(rank), str(folder), *WORKLOADS],
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": str(CHECKS.parents[3])},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in (0, 1)
    ]  # fmt: skip
    try:
        answers = [rank.communicate(timeout=300) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert all(out for out, _ in answers), [err[-2000:] for _, err in answers]
    return [json.loads(out.splitlines()[-1]) for out, _ in answers]


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("candidate", ["whole", "blocks"])
def test_a_clean_job_is_right_on_every_rank_against_its_own_fp64_reference(
    of_ranks, workload, candidate
):
    checks = [answers[f"{workload} {candidate}"] for answers in of_ranks]
    assert [(check["verdict"], check["reference"]) for check in checks] == [("right", "fp64")] * 2
    job = numerics_of_job(checks)
    assert (job["verdict"], job["n_ranks"], job["reason"]) == ("right", 2, "")


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_fault_on_rank_1_alone_makes_the_job_wrong_and_names_it(of_ranks, workload):
    """Rank 0's gradients are off by it too, but on rank 1 already the loss is."""
    job = numerics_of_job([answers[f"{workload} planted"] for answers in of_ranks])
    assert (job["verdict"], job["rank"]) == ("wrong", 1)
    assert job["reason"].startswith("rank 1: loss is off by ")
    assert "; rank 0: gradient of " in job["reason"]


def _check(verdict, error=None, tolerance=None, reason=""):
    return {"verdict": verdict, "rms_error": error, "tolerance": tolerance, "reason": reason}


def test_the_job_is_as_right_as_its_worst_rank():
    close, closer = _check("right", 2e-6, 1e-5), _check("right", 1e-6, 1e-5)
    assert numerics_of_job([closer, close])["rank"] == 1
    assert numerics_of_job([closer, close])["rms_error"] == 2e-6
    not_compared = _check("not comparable", reason="random")
    job = numerics_of_job([close, not_compared, closer])
    assert (job["verdict"], job["reason"]) == ("not comparable", "rank 1: random")
    off = _check("wrong", 1.0, 1e-5, "loss is off")
    not_finite = _check("wrong", reason="loss has values that are not finite")
    job = numerics_of_job([off, not_finite, close])
    assert job["rank"] == 1  # no number is further off
    assert job["reason"] == "rank 1: loss has values that are not finite; rank 0: loss is off"


def test_a_single_process_keeps_its_own_verdict():
    alone = _check("right", 1e-6, 1e-5)
    assert numerics_of_job([alone]) is alone
