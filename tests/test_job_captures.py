"""The captures that `benchmarks.job_captures` makes on two GPUs can be asked for."""

import argparse

import pytest

from benchmarks.job_captures import WAVES, Job
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace

_JOBS = [job for wave in WAVES for job in wave]


@pytest.mark.parametrize("job", _JOBS, ids=lambda job: job.name)
def test_each_job_is_a_capture_of_two_ranks(job: Job) -> None:
    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    spec = spec_from_namespace(parser.parse_args(job.arguments))
    assert spec.n_ranks == 2
    assert spec.profile == job.is_measured
    assert spec.numerics != job.is_measured
    options = dict(spec.options)
    assert ("slow_spin_us" in options) == job.name.endswith("spin")
    assert ("slow_sleep_us" in options) == job.name.endswith("sleep")
