"""One capture with everything on, read back by the product's own door."""

import gzip
import json
import re

import pytest

from profiler_core import run_directory as names
from profiler_core.analysis.telemetry.phases import phases
from profiler_core.analysis.telemetry.run import run_telemetry
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.ingest.telemetry.reader import read_host_samples

from .conftest import TINY, processes_with

pytestmark = pytest.mark.torch


def opened(full, variant):
    return next(open_run(run.directory) for run in full.runs if run.variant == variant)


def test_the_good_variants_finish_and_the_broken_one_does_not_stop_them(full, planted):
    assert {run.variant: run.status for run in full.runs} == {
        "eager": "finished",
        "default": "finished",
    }
    assert {run.variant: run.status for run in planted.runs} == {
        "eager": "finished",
        "backend:planted_broken": "failed",
        "backend:planted_wrong": "finished",
    }


def test_a_compile_error_is_one_sentence_in_a_readable_run(planted):
    record = opened(planted, "backend:planted_broken").record
    assert record.status == "failed"
    assert record.error.startswith("torch.compile failed in the first call (planted.py, line ")
    assert "RuntimeError: this compiler cannot compile" in record.error
    assert "Traceback" not in record.error


def test_a_fast_wrong_answer_is_seen(planted):
    numerics = opened(planted, "backend:planted_wrong").record.numerics
    assert numerics.verdict == "wrong"
    assert "output 0 is off by 1.0e-02" in numerics.reason
    assert numerics.reference == "fp64"
    assert numerics.rms_error > numerics.tolerance


def test_inductors_answer_is_right(full):
    numerics = opened(full, "default").record.numerics
    assert numerics.verdict == "right"
    assert numerics.compared == "outputs"
    assert 0 < numerics.baseline_rms_error < 1e-5
    assert opened(full, "eager").record.numerics is None


def test_the_runs_of_a_capture_know_each_other(full):
    baseline, candidate = opened(full, "eager").record, opened(full, "default").record
    assert (baseline.role, candidate.role) == ("baseline", "candidate")
    assert candidate.baseline_run_id == baseline.run_id
    assert candidate.capture_id == baseline.capture_id == full.capture_id
    assert baseline.workload == "tiny.py:model"
    assert candidate.spec["mode"] == "default"
    assert candidate.spec["options"] == [["width", "16"]]


@pytest.mark.parametrize("variant", ["eager", "default"])
def test_rounds_are_raw_and_add_up(full, variant):
    measurement = opened(full, variant).record.measurement
    assert [r.index for r in measurement.rounds] == [0, 1, 2]
    n_steps = sum(r.n_steps for r in measurement.rounds)
    assert len(measurement.step_event_ns) == n_steps
    assert sum(measurement.step_event_ns) == sum(r.wall_ns for r in measurement.rounds)
    assert measurement.interleaved is True
    assert measurement.n_compilations_while_timed == 0
    assert measurement.warmup_ended_by in ("steady", "ceiling")
    assert measurement.peak_allocated_bytes is None  # a CPU has no such counter
    assert measurement.profiled_peak_allocated_bytes is None


def test_the_pass_with_stacks_follows_memory_too(full):
    assert open_trace(opened(full, "eager").trace_stacks).memory.height > 0


def test_compiling_is_cold_and_again_warm(full, logs_of_second):
    """The compiler itself says what its caches had; how long both took depends on the machine."""
    eager = opened(full, "eager").record.measurement
    compiled = opened(full, "default")
    assert eager.warm_first_call_ns is None
    assert compiled.record.measurement.first_call_ns > 0
    assert compiled.record.measurement.warm_first_call_ns > 0
    first_log = next(run.directory for run in full.runs if run.variant == "default") / "torch_trace"
    assert answers_of_cache(first_log) == {"miss"}
    assert answers_of_cache(logs_of_second / "default") == {"hit"}


def answers_of_cache(folder):
    """What the compiler's cache of graphs answered, by the structured logs in a folder."""
    texts = [
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in folder.iterdir()
    ]
    answers = re.findall(rb'"name": "fx_graph_cache_(\w+)"', b"".join(texts))
    return {answer.decode() for answer in answers}


def test_the_traces_have_as_many_steps_as_asked_for(full):
    for variant in ("eager", "default"):
        trace = open_trace(opened(full, variant).trace)
        n_steps = sum(
            str(name).startswith("ProfilerStep#") for name in trace.annotations["name"].to_list()
        )
        assert n_steps == 2


def test_inductors_cpu_kernels_stand_in_the_trace(full):
    trace = open_trace(opened(full, "default").trace)
    assert any("cpp_fused" in str(name) for name in trace.ops["name"].to_list())


def test_the_attribution_pass_is_a_trace_of_its_own(full):
    run = opened(full, "eager")
    assert run.trace_stacks is not None
    assert run.trace_stacks != run.trace


def test_logs_and_sources_are_there(full):
    run = opened(full, "default")
    assert run.torch_trace, "no structured log"
    sources = json.loads(run.sources.read_text())
    lines = sources["files"][str(TINY)]["lines"]
    assert any("self.first(x)" in line for line in lines.values())
    assert all("site-packages/torch/" not in path for path in sources["files"])
    assert (run.path / names.STDOUT).read_text() == "tiny: building\n"


def test_progress_is_told_from_beginning_to_end(full):
    lines = [
        json.loads(line) for line in (full.directory / "progress.jsonl").read_text().splitlines()
    ]
    assert all(set(line) == {"t", "phase", "variant", "done", "total", "text"} for line in lines)
    phases = [line["phase"] for line in lines]
    for phase in ("starting", "compiling", "warm-up", "timing", "profiling", "stacks", "numerics"):
        assert phase in phases
    assert phases[-1] == "finished"
    assert any(line["phase"] == "warm compile" for line in lines)
    assert [line["done"] for line in lines if line["phase"] == "timing"] == [0, 1, 2, 3]


def test_what_was_asked_is_kept(full):
    asked = json.loads((full.directory / "capture.json").read_text())
    assert asked["capture_id"] == full.capture_id
    assert asked["variants"][:2] == ["eager", "default"]


def test_nothing_is_left_behind(full, capture_tiny_alone):
    assert processes_with(str(capture_tiny_alone.home)) == []
    for run in full.runs:
        assert not (run.directory / names.HEARTBEAT).exists()
        assert not list(run.directory.glob("child-*.json"))


def test_the_process_is_sampled_while_it_is_timed_and_a_cpu_run_says_why_no_gpu_is(full):
    run = open_run(full.runs[0].directory)
    assert run.nvml is None
    assert run.record.measurement.telemetry_missing == "The variants ran on the CPU."
    samples = read_host_samples(run.host).samples
    assert {sample.pid for sample in samples} == {run.record.measurement.child_pid}
    assert all(sample.rss_bytes > 0 and sample.n_threads > 0 for sample in samples)
    known = phases(run.record.measurement)
    assert [phase.kind for phase in known] == ["timing"] * 3 + ["profiled"]
    assert run_telemetry(run.record, None, read_host_samples(run.host)).host is not None
