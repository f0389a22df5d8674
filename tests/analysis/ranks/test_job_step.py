"""The step of a job in few parts: the same numbers as the waterfall, on both clocks."""

from dataclasses import replace

import pytest

from profiler_core.analysis.job_step import (
    COMPUTE,
    COPIES,
    HOST_IDLE,
    TRANSFER,
    JobStep,
    job_steps,
    profiled_job_step,
    unprofiled_job_step,
)
from profiler_core.analysis.rows.ranks import job_step_rows
from profiler_core.analysis.unprofiled_idle import BEYOND_PROFILE
from profiler_core.analysis.waterfall import OVERLAP, WORK_CLASSES, waterfall
from profiler_core.session.comparison import Comparison
from tests.larger import FIXTURES, unpacked

JOBS = unpacked(FIXTURES / "jobs.tar.xz")
MS = 1e6


def comparison_of(name):
    return Comparison.open([JOBS / name / variant for variant in ("eager", "default")])


@pytest.mark.parametrize("name", ["ddp-spin", "fsdp-sleep", "fsdp-even", "tp-even"])
def test_every_part_is_that_of_the_waterfall(name):
    comparison = comparison_of(name)
    numbers = comparison.numbers
    rows = comparison.pairs[0].waterfall.rows
    sides = ({row.key: row.baseline_ns for row in rows}, {r.key: r.candidate_ns for r in rows})
    labels = {row.key: row.label for row in rows}
    for step, bars in zip(job_steps((numbers.baseline, *numbers.sides)), sides, strict=True):
        parts = dict(step.parts_ns)
        assert step.clock == "unprofiled"
        assert sum(parts.values()) == step.step_ns == sum(bars.values())
        device = {key: bars.pop(key) for key in (*WORK_CLASSES, OVERLAP) if key in bars}
        exposed = [parts.pop(key, 0) for key in (COMPUTE, TRANSFER, COPIES)]
        assert sum(exposed) == sum(device.values())
        idle = parts.pop(HOST_IDLE, 0)
        for key, ns in parts.items():
            assert bars.pop(key) == ns, key
            assert step.labels[key] == labels[key]  # the same words for the same amount
        assert idle == sum(bars.values())


def test_without_times_the_traces_alone_tell_the_same_parts():
    comparison = comparison_of("ddp-spin")
    for run in comparison.runs:
        step = profiled_job_step(run.job.critical)
        assert sum(step.parts_ns.values()) == step.step_ns
        profiled = waterfall((run.summary, run.summary), None)
        bars = {row.key: row.baseline_ns for row in profiled.rows}
        assert step.parts_ns["late_work"] == pytest.approx(bars["late_work"], abs=1)
        assert step.parts_ns["late_work"] == pytest.approx(8 * MS, rel=0.01)
        assert step.labels["late_work"] == "waiting for rank 1: its work"


def test_idle_time_beyond_the_profiled_steps_is_no_late_host():
    """All of it was said to be the host's: the traces show no host that is late in it."""
    path = comparison_of("ddp-even").runs[1].job.critical
    idle = {"launch_latency": 1 * MS}
    without_waiting = replace(
        path, idle_ns=idle, waited_ns={}, late=None, n_late_gaps=0.0, host_ns=0.0, bubble_ns=0.0
    )
    step = unprofiled_job_step(without_waiting, without_waiting.busy_ns + 3 * MS)
    assert step.parts_ns[BEYOND_PROFILE] == pytest.approx(2 * MS, rel=0.01)
    assert step.parts_ns[HOST_IDLE] == pytest.approx(1 * MS, rel=0.01)
    assert step.labels[BEYOND_PROFILE] == "idle: only without the profiler"


def test_a_part_names_its_late_rank_only_where_it_is_late_in_all_jobs():
    def step_of(rank):
        labels = {"late_work": f"waiting for rank {rank}: its work"}
        return JobStep(MS, "unprofiled", {"late_work": 8_000}, labels)

    def label(*steps):
        return job_step_rows(steps)[1][0].text

    assert label(step_of(1), step_of(1)) == "waiting for rank 1: its work"
    assert label(step_of(0), step_of(1)) == "waiting for a late rank: its work"


def test_a_run_of_one_process_has_no_step_of_a_job(tmp_path):
    comparison = Comparison.open(
        [JOBS / "ddp-even" / v / "ranks" / "1" for v in ("eager", "default")]
    )
    assert job_steps((comparison.numbers.baseline,)) == (None,)
