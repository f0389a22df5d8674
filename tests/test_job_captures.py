"""The captures that `benchmarks.job_captures` makes on two GPUs can be asked for."""

import argparse
import time

import pytest

from benchmarks import waves
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


def test_what_is_ready_is_measured_though_another_is_late(monkeypatch):
    """On two H200s a slow fourth one kept three that were ready from their turns."""
    measured = []

    class Capture:
        def __init__(self, job, module, folder, events):
            self.job, self._events = job, events
            if job.name != "late":
                events.put((job, "ready"))

        def go(self):
            measured.append(self.job.name)
            self._events.put((self.job, "measured"))

        def cancel(self):
            pass

        end = cancel

    monkeypatch.setattr(waves, "_Capture", Capture)
    jobs = [Job(name, ()) for name in ("late", "even", "sleep")]
    wave = waves.Wave(jobs, "", None, time.monotonic() + 1.5, prepare_s=9.0, turn_s=0.5)
    assert list(wave.run()) == jobs
    assert measured == ["even", "sleep"]
