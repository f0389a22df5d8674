"""Lines over time: three axes, thinning, phases."""

import pytest
from msgspec.structs import replace

from profiler_core.analysis.telemetry.series import Sampled, lines, thinned
from profiler_core.model.run import Round
from profiler_core.model.telemetry import GpuSamples
from tests.analysis.telemetry.test_run import MS, PHASE, hosts, record, samples

ROUNDS = tuple(
    Round(index=n, order=0, n_steps=5, wall_ns=100 * MS, started_ns=(9_500 + 200 * n) * MS)
    for n in range(2)
)


def run(number=0, **more):
    return Sampled(number, record(PHASE, ROUNDS), samples(), 0, hosts(), **more)


def of(found, key):
    return next(line for line in found.lines if line.key == key)


def test_steady_states_lie_over_each_other():
    found = lines([run(0), run(2)], "steady")
    assert [line.run for line in found.lines if line.key == "power"] == [0, 2]
    points = of(found, "power").points
    assert (points[0], points[-1]) == ((0.0, 400.0), (3.0, 400.0))
    assert found.spans == ()
    assert found.keys == ("sm_clock", "power", "utilization", "temperature", "memory", "cpu")


def test_the_captures_clock_begins_with_the_first_sample_and_has_the_phases():
    found = lines([run()], "capture")
    assert of(found, "power").points[0][0] == 0.0
    # Two rounds with a tenth of a second between them are drawn as one stretch.
    assert [(s.kind, s.start_s, s.end_s) for s in found.spans] == [
        ("timing", 0.0, pytest.approx(0.3)), ("telemetry", 0.5, 3.5),
    ]  # fmt: skip


def test_the_traces_axis_is_where_its_zero_is():
    found = lines([run(trace_zero_ns=14_000 * MS)], "trace")
    assert of(found, "power").points[0][0] == -4.5
    assert lines([run()], "trace").lines == ()


def test_cpu_is_the_share_of_the_half_second_before():
    points = of(lines([run()], "steady"), "cpu").points
    assert points[0][0] == 0.5
    assert all(value == pytest.approx(150) for _, value in points)


def test_a_long_line_keeps_its_peaks():
    points = [(float(n), 0.0) for n in range(100_000)]
    points[54_321] = (54_321.0, 9.0)
    kept = thinned(points, 1000)
    assert len(kept) <= 1000
    assert (54_321.0, 9.0) in kept
    assert [x for x, _ in kept] == sorted(x for x, _ in kept)
    assert thinned(points[:5], 1000) == tuple(points[:5])


def test_a_job_has_a_line_for_each_ranks_gpu():
    """Rank 1's GPU is number 3; number 2 is nobody's."""
    gpus = [
        replace(s, gpu_index=n, power_w=400.0 - n) for s in samples().samples for n in (0, 2, 3)
    ]
    job = record(PHASE, ROUNDS)
    job = replace(job, measurement=replace(job.measurement, rank_gpus=(0, 3)))
    made = lines([Sampled(0, job, GpuSamples(tuple(gpus)), 0, hosts())], "steady")
    power = [(line.rank, line.points[0][1]) for line in made.lines if line.key == "power"]
    assert power == [(0, 400.0), (1, 397.0)]
    assert of(made, "cpu").rank is None
