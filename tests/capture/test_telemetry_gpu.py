"""Telemetry of a real capture: samples on the trace's axis, phases told apart, numbers that hold.

Prints, for each variant, where the profiled steps lie in the profiled phase, the sampler's jitter,
energy per step and the process's CPU. Takes about 40 s.
"""

import pytest

from profiler_core.analysis.telemetry.fairness import fairness
from profiler_core.analysis.telemetry.phases import phase_of, phases
from profiler_core.analysis.telemetry.run import run_telemetry
from profiler_core.capture.launcher import run_capture
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.ingest.telemetry.reader import read_gpu_samples, read_host_samples

pytestmark = [pytest.mark.gpu, pytest.mark.torch, pytest.mark.timeout(300)]

VARIANTS = ("eager", "default")


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    spec = CaptureSpec(
        "resnet50",
        variants=parse_variants(",".join(VARIANTS)),
        device="cuda",
        batch_size=8,
        rounds=10,
        telemetry_seconds=3.0,
        numerics=False,
        warm_compile=False,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(home))
        finished = run_capture(spec, home / "runs")
    assert [run.error for run in finished.runs] == [None, None]
    return {run.variant: open_run(run.directory) for run in finished.runs}


@pytest.fixture(scope="module")
def read(captured):
    return {
        variant: run_telemetry(run.record, read_gpu_samples(run.nvml), read_host_samples(run.host))
        for variant, run in captured.items()
    }


@pytest.mark.parametrize("variant", VARIANTS)
def test_profiled_steps_lie_in_the_profiled_phase_on_one_clock(captured, variant, capsys):
    run = captured[variant]
    trace = open_trace(run.trace)
    (profiled,) = (p for p in phases(run.record.measurement) if p.kind == "profiled")
    steps = [
        (trace.origin_ns + ts, trace.origin_ns + ts + dur)
        for ts, dur, name in trace.annotations.select("ts_ns", "dur_ns", "name").iter_rows()
        if str(name).startswith("ProfilerStep")
    ]
    assert steps
    early = profiled.start_ns - min(start for start, _ in steps)
    late = max(end for _, end in steps) - profiled.end_ns
    with capsys.disabled():
        print(
            f"\n{variant}: profiled steps begin {-early / 1e6:.3f} ms after the phase and end "
            f"{-late / 1e6:.3f} ms before its end; the phase is {profiled.length_ns / 1e6:.1f} ms"
        )
    assert early < 1e6  # 1 ms: two clocks of one host
    # The phase ends right before the profiler is told that the last step is over.
    assert abs(late) < 5e6


@pytest.mark.parametrize("variant", VARIANTS)
def test_samples_of_all_phases_are_told_apart(captured, variant):
    run = captured[variant]
    gpus = read_gpu_samples(run.nvml)
    known = phases(run.record.measurement)
    kinds = [phase_of(s.t_ns, known) for s in gpus.of(gpus.indexes[0])]
    assert kinds.count("telemetry") >= 50  # 3 s at 20 Hz
    assert kinds.count("timing") >= 5  # ten rounds of 0.1 s at 10 Hz
    assert kinds.count(None) >= 5  # the other variant's turns
    hosts = read_host_samples(run.host).samples
    assert sum(phase_of(s.t_ns, known) == "telemetry" for s in hosts) >= 50


@pytest.mark.parametrize("variant", VARIANTS)
def test_utilization_is_the_share_of_time_in_kernels(captured, read, variant):
    """NVML's reading against the trace's kernels over the unprofiled step: two instruments."""
    telemetry = read[variant]
    trace = open_trace(captured[variant].trace)
    n_steps = sum(
        str(name).startswith("ProfilerStep") for name in trace.annotations["name"].to_list()
    )
    kernels = trace.device.filter(trace.device["cat"] == "kernel")
    kernel_ns = kernels["dur_ns"].sum() / n_steps  # one stream: no overlap
    step_ns = telemetry.phase_ns / telemetry.n_steps
    assert telemetry.utilization_gpu_pct == pytest.approx(100 * kernel_ns / step_ns, abs=15)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_numbers_of_the_run_are_there(captured, read, variant, capsys):
    found = read[variant]
    with capsys.disabled():
        print(f"\n{variant}: {found}")
    assert found.phase == "telemetry phase"
    assert found.sm_clock_mhz > 500
    assert found.energy_per_sample_j == pytest.approx(found.energy_per_step_j / 8)
    assert found.energy_error_fraction < 0.05
    # The counter's mean power and the driver's own readings are two routes to one number.
    assert found.power_w == pytest.approx(found.power_max_w, rel=0.25)
    assert found.jitter.median_ns < 5e6
    assert found.host.cpu_pct > 50
    assert found.host.busiest_thread_pct > 50
    assert found.process_memory_bytes is not None or "process_memory_bytes" in found.reasons


def test_the_pair_is_judged(read):
    judged = fairness(read["eager"], read["default"], VARIANTS)
    print(judged)
    assert judged.fair is not None
    assert judged.sm_clock_apart is not None
