"""Several ranks of one variant, on the CPU with gloo: captured whole, or ended whole."""

import json
import time
from dataclasses import replace

import pytest

from profiler_core.capture import launcher, ranks
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.cli.main import main
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.job_of import job_of
from profiler_core.session.run import Run
from tests.capture.conftest import SHORT, processes_with
from tests.quick_python import QUICK_COMPILER

pytestmark = pytest.mark.torch

TINY_DDP = (("width", "64"), ("layers", "1"), ("length", "8"))


@pytest.fixture(scope="module")
def captured(tmp_path_factory, interpreter, quick_python):
    """DDP on two ranks, tiny: eager; aot_eager is checked against it."""
    home = tmp_path_factory.mktemp("home")
    quick = replace(interpreter, executable=str(quick_python))
    spec = CaptureSpec(
        "ddp", variants=parse_variants("eager,backend:aot_eager"), ranks=2, batch_size=1,
        options=TINY_DDP, **{**SHORT, "profile": True, "numerics": True},
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(home))
        for name, value in QUICK_COMPILER.items():
            patch.setenv(name, value)
        patch.setattr(launcher, "probe", lambda python, look: quick)
        run, compiled = launcher.run_capture(spec, tmp_path_factory.mktemp("out")).runs
    assert (run.status, compiled.status) == ("finished", "finished"), (run.error, compiled.error)
    return home, run, compiled


def test_every_rank_leaves_a_run_directory_of_its_own(captured):
    _, run, _ = captured
    found = find_ranks(str(run.directory))
    assert [file.rank for file in found.files] == [0, 1]
    records = [open_run(run.directory / place).record for place in (".", "ranks/1")]
    assert [(r.rank, r.world_size, r.status) for r in records] == [
        (0, 2, "finished"), (1, 2, "finished"),
    ]  # fmt: skip


def test_the_answers_of_every_rank_are_checked(captured):
    _, _, compiled = captured
    job, second = (open_run(compiled.directory / place).record for place in (".", "ranks/1"))
    assert (job.numerics.verdict, job.numerics.n_ranks) == ("right", 2)
    assert (second.numerics.verdict, second.numerics.n_ranks) == ("right", None)


def test_every_rank_keeps_its_logs_and_the_source_lines_they_name(captured):
    _, run, _ = captured
    for place in (".", "ranks/1"):
        assert (run.directory / place / "torch_logs.txt").is_file()
        assert '"schema":' in (run.directory / place / "sources.json").read_text()


@pytest.fixture(scope="module")
def recompiling(capture_tiny):
    """Rank 1 alone compiles again in every profiled step."""
    (run,) = capture_tiny("recompiles_on_rank_1", ranks=2, profile=True).runs
    assert run.status == "finished", run.error
    return run.directory


def test_a_rank_that_compiles_while_the_others_wait_is_told_by_its_own_logs(
    recompiling, capture_tiny, monkeypatch, capsys
):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(capture_tiny.home))
    run = Run.open(recompiling)
    first, second = run.compiling_by_rank
    assert (first.rank, second.rank) == (0, 1)
    assert (len(first.recompiles), first.made_wait_s) == (0, 0)
    assert len(second.recompiles) == 2
    # Each compilation lies inside a wait of rank 0, which the job tells from traces alone.
    again = [c for c in run.of_rank(1).compile_log.compilations if c.compile_id != "0/0"]
    compiled_s = sum(c.dur_ns for c in again) / 1e9
    assert len(again) == 2
    assert second.made_wait_s == pytest.approx(compiled_s, rel=0.15)
    (waiter,) = (row for row in run.job.ranks if row.rank == 0)
    assert second.made_wait_s <= 1.01 * waiter.waited_ns * run.job.n_steps / 1e9
    (finding,) = (f for f in run.alone.findings if f.key == "rank_compiles")
    assert finding.title.startswith("Rank 1 compiled while the others waited ")
    assert "scaled" in finding.evidence
    assert finding.one_off_ns == pytest.approx(second.made_wait_s * 1e9)
    assert main(["ranks", str(recompiling), "--json"]) == 0
    (job,) = json.loads(capsys.readouterr().out)["jobs"]
    assert [row["n_recompiles"] for row in job["compiling"]] == [0, 2]
    assert job["compiling"][1]["made_wait_s"] == pytest.approx(second.made_wait_s)
    assert main(["ranks", str(recompiling)]) == 0
    assert "compiling, by its own logs" in capsys.readouterr().out


def test_structured_logs_are_dropped_from_the_highest_rank_down(tmp_path):
    for rank in (0, 1, 2, 10):
        folder = ranks.directory_of(tmp_path, rank) / "torch_trace"
        folder.mkdir(parents=True)
        (folder / "a.log.gz").write_bytes(b"x" * 100)
    assert ranks.bound_logs(tmp_path, 300) == ""
    said = ranks.bound_logs(tmp_path, 250)
    assert said.startswith("The structured logs of 1 of 4 ranks, from rank 10 on, were not kept")
    kept = sorted(p.parents[1].name for p in tmp_path.rglob("*.log.gz"))
    assert kept == sorted([tmp_path.name, "1", "2"])


def test_the_traces_say_their_rank_and_their_collectives(captured, monkeypatch):
    home, run, _ = captured
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    for rank, file in enumerate(find_ranks(str(run.directory)).files):
        trace = open_trace(run.directory / file.name)
        assert trace.metadata["distributedInfo"]["rank"] == rank
        assert trace.metadata["distributedInfo"]["backend"] == "gloo"
    # Without a GPU the collectives are ranges of gloo's own threads.
    job = job_of(find_ranks(str(run.directory)))
    assert [row.rank for row in job.ranks] == [0, 1]
    assert not job.on_gpu
    assert job.n_steps == 2
    assert [row.kind for row in job.collectives] == ["all_reduce"]
    assert all(row.compute_ns > 0 and row.communication_ns > 0 for row in job.ranks)
    assert job.wait_share is not None
    assert any("ran on CPUs" in note for note in job.notes)


def test_a_rank_that_raises_ends_the_group_with_one_sentence(capture_tiny_alone):
    (run,) = capture_tiny_alone("raises_on_rank_1", ranks=2).runs
    assert run.status == "failed"
    assert run.error.startswith("Rank 1: ValueError in the first call (tiny.py, line ")
    assert "rank 1 has no data" in run.error
    assert "\n" not in run.error
    assert processes_with(str(capture_tiny_alone.home)) == []


def test_tensor_parallel_blocks_compute_what_whole_ones_do(tmp_path):
    """On a mesh of one rank every tensor is whole, and the styles' collectives change nothing."""
    import torch
    from torch import distributed

    from profiler_core.capture.child import models, parallel, training

    torch.manual_seed(0)
    model = torch.nn.Sequential(models.ShardableBlock(16, 4))
    x = torch.randn(2, 3, 16)
    whole = model(x).detach()
    distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1
    )
    try:
        sharded = parallel.wrap(model, "tp", torch.device("cpu"))
        assert type(sharded[0].up.weight.data).__name__ == "DTensor"
        assert torch.equal(sharded(x), whole)
        # Norms stay plain tensors: one group of an optimizer with both fails on a GPU.
        groups = training._by_kind(list(sharded.parameters()))
        assert sorted(len(group["params"]) for group in groups) == [4, 12]
        assert all(len({type(p.data) for p in group["params"]}) == 1 for group in groups)
    finally:
        distributed.destroy_process_group()


def test_a_job_exchanges_as_its_options_say(tmp_path):
    """DDP's buckets, and how far ahead FSDP2 gathers in both directions."""
    import torch
    from torch import distributed

    from profiler_core.capture.child import parallel, workloads

    def built(workload, **options):
        text = {"width": "16", "length": "4", "layers": "3"} | options
        request = workloads.Request(workload, 1, (), text, True, 0)
        return workloads.build(request, lambda target: target)

    def wrapped(workload, **options):
        made = built(workload, **options)
        return parallel.wrap(made.model, made.parallel, torch.device("cpu"), **dict(made.exchange))

    distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1
    )
    try:
        plain, small = wrapped("ddp"), wrapped("ddp", bucket_cap_mb="3")
        assert (plain.bucket_bytes_cap, small.bucket_bytes_cap) == (25 << 20, 3 << 20)
        first, second, third = wrapped("fsdp", prefetch="2").children()
        state = type(first)._get_fsdp_state
        assert state(first)._states_to_forward_prefetch == [state(second), state(third)]
        assert state(third)._states_to_backward_prefetch == [state(second), state(first)]
        assert state(third)._states_to_forward_prefetch == []
        assert not any(state(b)._states_to_forward_prefetch for b in wrapped("fsdp").children())
    finally:
        distributed.destroy_process_group()
    with pytest.raises(workloads.CannotRunError, match="has no option 'bucket_cap_mb'"):
        built("tp", bucket_cap_mb="3")


def test_a_planted_delay_is_that_of_one_rank_alone(monkeypatch):
    import torch

    from profiler_core.capture.child import workloads

    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    options = {"width": "16", "layers": "1", "length": "4", "slow_rank": "1", "slow_sleep_us": "7"}
    for rank in (0, 1):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
        request = workloads.Request("ddp", 1, (), options, True, 0)
        built = workloads.build(request, lambda target: target)
        assert (built.loss is not None) == (rank == 1)
        if built.loss is not None:
            built.loss(torch.ones(2), built.inputs[0])
    assert slept == [7e-6]


def test_fast_and_slow_ranks_run_as_many_steps_in_the_telemetry_phase():
    import torch

    from profiler_core.capture.child.timing import Clock

    class Steps:
        n_shapes = 1

        def __init__(self, seconds):
            self.seconds = seconds

        def ready(self):
            pass

        def __call__(self, index):
            time.sleep(self.seconds)

    clock = Clock(torch.device("cpu"))
    n_steps = {
        clock.steady(Steps(seconds), 0.05, 1_000_000, by_the_clock=False)["n_steps"]
        for seconds in (0.0, 0.003)
    }
    assert n_steps == {100}  # whole batches of 0.1 s
