"""How ranks exchange as a variant says it: DDP's buckets, FSDP2's prefetch, NCCL's variables."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from profiler_core.capture import launcher, start_variant
from profiler_core.capture.process_settings import SETTINGS
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.capture.variant_spec import parse_variant
from profiler_core.experiments.levers import LEVERS
from tests.capture.conftest import SHORT
from tests.quick_python import QUICK_COMPILER

pytestmark = pytest.mark.torch

# 4.7 MB of gradients: five buckets of 1 MB, or one.
SMALL_DDP = (("width", "128"), ("layers", "6"), ("length", "4"))
BUCKETS = ("eager", "eager+bucket_cap_mb=1", "eager+bucket_cap_mb=1000")
IN_GRAPH = "aot_eager+dynamo.optimize_ddp=python_reducer+dynamo.compiled_autograd=true"


@pytest.fixture(scope="module")
def captured(tmp_path_factory, interpreter, quick_python):
    """`captured(workload, variants, **spec)` -> the runs, by variant."""
    quick = replace(interpreter, executable=str(quick_python))

    def capture(workload, variants, **more):
        spec = CaptureSpec(
            workload, variants=parse_variants(",".join(variants)), ranks=2, **{**SHORT, **more}
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FUSIONSCOPE_HOME", str(tmp_path_factory.mktemp("home")))
            for name, value in QUICK_COMPILER.items():
                patch.setenv(name, value)
            patch.setattr(launcher, "probe", lambda python, look: quick)
            runs = launcher.run_capture(spec, tmp_path_factory.mktemp("out")).runs
        return dict(zip(variants, runs, strict=True))

    return capture


@pytest.fixture(scope="module")
def ddp(captured):
    return captured(
        "ddp", (*BUCKETS, IN_GRAPH), batch_size=1, options=SMALL_DDP, profile=True, numerics=True
    )


def all_reduces(run):
    """Of rank 0, per profiled step, by plain JSON."""
    (path,) = Path(run.directory).glob("trace.json*")
    events = json.loads(read(path))["traceEvents"]
    names = [event.get("name", "") for event in events if event.get("ph") == "X"]
    n_steps = len({name for name in names if name.startswith("ProfilerStep#")})
    return names.count("gloo:all_reduce") / n_steps


def read(path):
    text = path.read_bytes()
    return (gzip.decompress(text) if path.suffix == ".gz" else text).decode()


def log_of(run):
    """The structured logs of rank 0."""
    return "".join(map(read, sorted((run.directory / "torch_trace").glob("*"))))


def buckets_of_torch(tmp_path, size_mb):
    """How many buckets DDP hands to a hook of the same model in its third backward pass."""
    import torch
    from torch import distributed

    from profiler_core.capture.child import models

    distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path / str(size_mb)}", rank=0, world_size=1
    )
    try:
        model = torch.nn.Sequential(*(models.TransformerBlock(128) for _ in range(6)))
        sizes = {"bucket_cap_mb": size_mb} if size_mb else {}
        wrapped = torch.nn.parallel.DistributedDataParallel(model, **sizes)
        seen = []

        def hook(_, bucket):
            seen.append(bucket.index())
            done = torch.futures.Future()
            done.set_result(bucket.buffer())
            return done

        wrapped.register_comm_hook(None, hook)
        for _ in range(3):
            seen.clear()
            wrapped(torch.randn(1, 4, 128)).mean().backward()
        return len(seen)
    finally:
        distributed.destroy_process_group()


def test_ddp_sums_gradients_in_as_many_buckets_as_torch_makes_of_that_size(ddp, tmp_path):
    sizes = zip(BUCKETS, (0, 1, 1000), strict=True)
    expected = {name: buckets_of_torch(tmp_path, size_mb) for name, size_mb in sizes}
    assert expected["eager+bucket_cap_mb=1000"] == 1
    assert expected["eager+bucket_cap_mb=1"] > expected["eager"] > 1
    for name, n in expected.items():
        assert ddp[name].status == "finished", ddp[name].error
        assert all_reduces(ddp[name]) == n, name


def test_answers_of_other_buckets_are_checked_like_any(ddp):
    for name in BUCKETS[1:]:
        numerics = json.loads((ddp[name].directory / "run.json").read_text())["numerics"]
        assert (numerics["verdict"], numerics["n_ranks"]) == ("right", 2), name


def test_a_compiled_backward_pass_has_the_collectives_in_its_graph(ddp):
    """Its own log holds compiled autograd's graph, and that graph sums gradients."""
    run = ddp[IN_GRAPH]
    assert run.status == "finished", run.error
    graphs = log_of(run).partition("compiled_autograd_graph")[2]
    assert "all_reduce" in graphs
    assert "compiled_autograd_graph" not in log_of(ddp["eager"])


def gathered_before_blocks(run):
    """In the forward pass of the last profiled step: all-gathers begun before each attention."""
    (path,) = Path(run.directory).glob("trace.json*")
    events = [event for event in json.loads(read(path))["traceEvents"] if event.get("ph") == "X"]
    last = max((e for e in events if e["name"].startswith("ProfilerStep#")), key=lambda e: e["ts"])
    ordered = [e["name"] for e in sorted(events, key=lambda e: e["ts"]) if e["ts"] >= last["ts"]]
    gathered, before = 0, []
    for name in ordered:
        gathered += name.startswith("FSDP::all_gather (")
        if name == "aten::scaled_dot_product_attention":
            before.append(gathered)
    return before


def test_fsdp2_gathers_the_weights_of_the_next_blocks_before_a_block_computes(captured):
    options = (("width", "64"), ("layers", "5"), ("length", "8"))
    plain, ahead = captured(
        "fsdp", ("eager", "eager+prefetch=2"), batch_size=1, options=options, profile=True,
        numerics=True,
    ).values()  # fmt: skip
    assert (plain.status, ahead.status) == ("finished", "finished"), (plain.error, ahead.error)
    assert gathered_before_blocks(plain) == [1, 2, 3, 4, 5]
    assert gathered_before_blocks(ahead) == [3, 4, 5, 5, 5]
    numerics = json.loads((ahead.directory / "run.json").read_text())["numerics"]
    assert (numerics["verdict"], numerics["n_ranks"]) == ("right", 2)


def test_what_torch_has_is_asked_of_it(monkeypatch):
    import torch

    from profiler_core.capture.child import exchange

    asked = [lever.config for lever in LEVERS if lever.config.startswith(("ddp.", "fsdp."))]
    assert len(asked) == 2
    for key in asked:
        assert exchange.known(key) == {key: None}
    assert exchange.known("ddp.nothing") == {}
    limits = [lever.config for lever in LEVERS if lever.config.startswith("nccl.")]
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
    for version, n in (((2, 16, 5), 0), ((2, 17, 1), 2)):
        monkeypatch.setattr(torch.cuda.nccl, "version", lambda version=version: version)
        assert sum(bool(exchange.known(key)) for key in limits) == n
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: False)
    assert not any(map(exchange.known, limits))


def test_a_word_that_nothing_here_can_obey_says_so(captured):
    runs = captured(
        "ddp", ("eager+prefetch=2", "eager+NCCL_MAX_CTAS=4"), batch_size=1, options=SMALL_DDP
    )
    prefetch, nccl = (run.error for run in runs.values())
    assert "prefetch is of blocks that FSDP2 shards (fully_shard), and there are 0 here" in prefetch
    assert "NCCL_MAX_CTAS is NCCL's, and ranks talk by gloo here" in nccl


def test_blocks_of_fsdp2_gather_as_far_ahead_as_the_variant_says(tmp_path):
    import torch
    from torch import distributed

    from profiler_core.capture.child import parallel, workloads
    from profiler_core.capture.child.failures import CannotRunError

    options = {"width": "16", "length": "4", "layers": "3"}

    def blocks(workload, settings):
        request = workloads.Request(workload, 1, (), options, True, 0)
        built = workloads.build(request, lambda target: target)
        return list(parallel.wrapped(built, torch.device("cpu"), settings).model.children())

    distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1
    )
    try:
        first, second, third = blocks("fsdp", {"prefetch": "2"})
        state = type(first)._get_fsdp_state
        assert state(first)._states_to_forward_prefetch == [state(second), state(third)]
        assert state(third)._states_to_backward_prefetch == [state(second), state(first)]
        assert not any(state(b)._states_to_forward_prefetch for b in blocks("fsdp", {}))
        with pytest.raises(CannotRunError, match="bucket_cap_mb is of DistributedDataParallel"):
            blocks("fsdp", {"bucket_cap_mb": "3"})
    finally:
        distributed.destroy_process_group()


def test_nccl_variables_stand_in_the_environment_of_each_rank(tmp_path, monkeypatch, interpreter):
    environments = []

    def child(python, spec, environment, *_):
        environments.append(environment)

    monkeypatch.setattr(start_variant, "Child", child)
    monkeypatch.setattr(start_variant, "RankGroup", lambda children, *_: children)
    monkeypatch.delenv("NCCL_MAX_CTAS", raising=False)
    context = SimpleNamespace(
        spec=CaptureSpec("ddp", ranks=2), interpreter=interpreter, is_cuda=True, selection=None,
        look=None,
    )  # fmt: skip
    paths = start_variant.ProcessPaths(
        tmp_path, tmp_path / "work", tmp_path / "trace", tmp_path / "out", tmp_path / "err"
    )
    for variant in ("default+NCCL_MAX_CTAS=4+threads=2", "default"):
        start_variant.start_variant(context, parse_variant(variant), paths)
    assert [each.get("NCCL_MAX_CTAS") for each in environments] == ["4", "4", None, None]
    assert not any("threads" in each for each in environments)
    assert {key for key, setting in SETTINGS.items() if setting.in_environment} == {
        f"NCCL_{most}_{what}" for most in ("MAX", "MIN") for what in ("CTAS", "NCHANNELS")
    }
