"""The pasted code of every lever, and of every two, run: it does what the capture of them did."""

import contextlib
import itertools
import os
from dataclasses import replace

import msgspec
import pytest

from profiler_core.capture.child.settings import regions_of
from profiler_core.capture.child.variants import _arguments, variant_from
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.variant_spec import parse_variant
from profiler_core.errors import BadInput
from profiler_core.experiments.levers import LEVERS, setting_of
from profiler_core.experiments.machine import Machine
from profiler_core.experiments.pasted import code_of, pasted
from profiler_core.experiments.request import new_experiment
from profiler_core.model.experiment import Batch, Trial
from profiler_core.model.run import Compiled
from tests.lazily import Lazily

torch = Lazily("torch")
dynamo = Lazily("torch._dynamo")
pytestmark = pytest.mark.torch

CPU = min(os.sched_getaffinity(0))
MACHINE = Machine(True, True, "2.15.0", {}, n_cores=3, first_threads=(CPU,))
JOB = replace(MACHINE, n_ranks=2)
WORDS = list(
    dict.fromkeys(word for lever in LEVERS for at in (MACHINE, JOB) for word in lever.values(at))
)
TWO = ["+".join(pair) for pair in itertools.combinations(WORDS, 2)]


def label_of(words):
    """A variant of these words; None where they do not go together."""
    base = [word for word in words.split("+") if word in LEVERS[0].words]
    rest = [word for word in words.split("+") if word not in base]
    with contextlib.suppress(BadInput):
        return parse_variant("+".join([*(base or ["default"]), *rest])).label
    return None


def script():
    """What the user has: a model that writes down in what its forward runs, and the rest."""
    nn = torch.nn

    class Block(nn.Module):
        def forward(self, x):
            return x

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Conv2d(3, 4, 1)
            self.layers = nn.ModuleList([Block(), Block()])
            self.ran_in = None

        def forward(self, x):
            cuda = torch.backends.cuda
            self.ran_in = {
                "autocast": torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu")
                else None,
                "grad": torch.is_grad_enabled(),
                "channels_last": x.is_contiguous(memory_format=torch.channels_last),
                "sdpa": {
                    name for name, is_on in (
                        ("flash", cuda.flash_sdp_enabled()), ("math", cuda.math_sdp_enabled()),
                        ("efficient", cuda.mem_efficient_sdp_enabled()),
                        ("cudnn", cuda.cudnn_sdp_enabled()),
                    ) if is_on
                },
            }  # fmt: skip
            return x

    model = Model()
    optimizer = torch.optim.AdamW(model.parameters())
    return {"model": model, "inputs": (torch.randn(2, 3, 4, 4),), "optimizer": optimizer}


@pytest.fixture
def compiled(monkeypatch):
    """What was given to torch.compile, each time: what, and its arguments; nothing is compiled."""
    calls = []

    def compile_(target, **arguments):
        calls.append((target, arguments))
        return target

    def region(function):
        calls.append(("region", function))
        return function

    def in_buckets(model, bucket_cap_mb):
        model.bucket_cap_mb = bucket_cap_mb
        return model

    monkeypatch.setattr(torch.nn.parallel, "DistributedDataParallel", in_buckets)
    monkeypatch.setattr(torch.nn.Module, "compile", compile_)
    monkeypatch.setattr(torch.compiler, "nested_compile_region", region)
    monkeypatch.setattr(__import__("torch"), "compile", compile_)
    config = dynamo.config
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    tf32, cpus = torch.backends.cudnn.allow_tf32, os.sched_getaffinity(0)
    with config.patch():
        yield calls
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(precision)
    torch.backends.cudnn.allow_tf32 = tf32
    os.sched_setaffinity(0, cpus)


def given(arguments):
    """Without what torch.compile has by itself."""
    return {k: v for k, v in arguments.items() if v is not None and v is not False}


@pytest.mark.parametrize(
    ("tried", "trains", "n"), [(WORDS, True, len(WORDS)), ((*WORDS, *TWO), False, 700)]
)
def test_the_code_of_every_lever_and_of_every_two_does_what_the_capture_does(
    compiled, tried, trains, n
):
    labels = list(filter(None, map(label_of, tried)))
    assert len(labels) >= n
    for label in labels:
        check(label, compiled, trains)


def check(label, compiled, trains):
    spec = parse_variant(label)
    variant = variant_from(spec.to_dict())
    settings = dict(spec.settings)
    compiled.clear()
    before = {k: getattr(dynamo.config, k[7:]) for k in settings if k.startswith("dynamo.")}
    cpus = os.sched_getaffinity(0)
    measured = Compiled(
        where="modules" if "blocks" in spec.target else "whole", regions=("layers.0",),
        modules=("layers.0", "layers.1") if "blocks" in spec.target else (),
    )  # fmt: skip
    code = code_of(setting_of(label), on_gpu=False, trains=trains, compiled=measured)
    names = script()
    model, optimizer = names["model"], names["optimizer"]
    with contextlib.suppress(OSError) if "cpus" not in settings else contextlib.nullcontext():
        exec(compile(code, label, "exec"), names)

    # torch.compile, of what and with what
    asked = given(_arguments(variant))
    expected = list(model.layers) if "blocks" in spec.target else [model]
    expected += ["region"] * ("regions" in settings)
    expected += [optimizer.step] * ("optimizer" in spec.target)
    assert len(compiled) == len(expected), label
    for target, arguments in compiled:
        assert target in expected, label
        if target == "region":
            assert arguments.__qualname__.endswith("Block.forward"), label
        else:
            assert given(arguments) == asked, label
    # the process
    for key, was in before.items():
        now = getattr(dynamo.config, key[7:])
        assert str(now).lower() == settings[key], label
        setattr(dynamo.config, key[7:], was)
    if "threads" in settings:
        assert torch.get_num_threads() == int(settings["threads"]), label
    if "cpus" in settings:
        assert os.sched_getaffinity(0) == {CPU}, label
        os.sched_setaffinity(0, cpus)
    is_tf32 = spec.precision == "tf32"
    assert (torch.get_float32_matmul_precision() == "high") == is_tf32, label
    assert is_tf32 <= torch.backends.cudnn.allow_tf32, label
    torch.set_float32_matmul_precision("highest")
    for name in [name for name in os.environ if name.startswith("NCCL_")]:
        assert os.environ.pop(name) == settings[name], label
    assert str(getattr(model, "bucket_cap_mb", None)) == settings.get("bucket_cap_mb", "None"), (
        label
    )
    # the backward pass
    has_graph = settings.get("dynamo.compiled_autograd") == "true" and trains
    assert ("compiled_backward" in names) == has_graph, label
    if has_graph:
        with names["compiled_backward"]():
            torch.ones(1, requires_grad=True).sum().backward()
        assert given(compiled[-1][1]) == asked, label
    # what the forward runs in
    ran = model.ran_in
    autocast = torch.bfloat16 if spec.precision == "bf16-autocast" else None
    assert (ran["autocast"], ran["grad"]) == (autocast, trains), label
    assert ran["channels_last"] == spec.channels_last, label
    assert ran["sdpa"] == ({settings["sdpa"]} if "sdpa" in settings else ran["sdpa"]), label
    assert len(ran["sdpa"]) > 1 or "sdpa" in settings
    # the optimizer
    is_fused = settings.get("optimizer") == "fused"
    assert {bool(group["fused"]) for group in optimizer.param_groups} == {is_fused}, label


def test_the_target_of_the_whole_experiment_is_in_the_code():
    """`try --compile-target optimizer` compiled the optimizer's step; the code left that out."""
    spec = CaptureSpec(workload="customcnn", training=True, compile_target=("optimizer",))
    trial = Trial(setting=(), variant="default", status="measured", step_ns=1.0)
    batch = Batch(phase="start", capture_id="c", seconds=1.0, trials=(trial,))
    experiment = msgspec.structs.replace(new_experiment(spec, budget_s=60.0), batches=(batch,))
    lines = pasted(experiment).splitlines()
    assert "optimizer.step = torch.compile(optimizer.step)" in lines


@pytest.mark.parametrize("target", [("layers.*",), ("layers.?", "first"), ("layers.[01]",)])
def test_a_pattern_of_paths_finds_its_modules_where_no_list_of_them_was_kept(compiled, target):
    """`get_submodule("layers.*")` raised AttributeError."""
    names = script()
    code = code_of((), on_gpu=False, trains=False, target=target)
    exec(compile(code, "pasted", "exec"), names)
    model = names["model"]
    expected = [*([model.first] if "first" in target else []), *model.layers]
    assert [module for module, _ in compiled] == expected


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("loss", "loss = loss_of(*inputs)"), ("step", "step = torch.compile(step)"),
        ("as-is", "# compiled is nothing but what the script compiles itself"),
    ],
)  # fmt: skip
def test_of_an_older_experiment_the_words_of_its_target_say_what_was_compiled(word, line):
    """It compiled the model, with a comment; `tests/experiments/test_pasted_runs.py` runs it."""
    trial = Trial(setting=(), variant="default", status="measured", step_ns=1.0)
    batch = Batch(phase="start", capture_id="c", seconds=1.0, trials=(trial,))
    spec = CaptureSpec(workload="customcnn", training=True, compile_target=(word,))
    experiment = msgspec.structs.replace(new_experiment(spec, budget_s=60.0), batches=(batch,))
    lines = pasted(experiment).splitlines()
    assert line in lines
    assert "model = torch.compile(model)" not in lines


def test_a_loop_of_the_users_own_that_trains_is_not_pasted_as_inference():
    """The capture of it knows; whoever asked for it need not have said --training."""
    trial = Trial(
        setting=(), variant="default", status="measured", step_ns=1.0,
        where="whole", calls="training_step", trains=True,
    )  # fmt: skip
    batch = Batch(phase="start", capture_id="c", seconds=1.0, trials=(trial,))
    spec = CaptureSpec(workload="file.py:build")
    experiment = msgspec.structs.replace(new_experiment(spec, budget_s=60.0), batches=(batch,))
    assert pasted(experiment).splitlines()[-3:] == [
        "model.compile()", "", "loss = training_step(batch)",
    ]  # fmt: skip


def test_of_each_class_of_repeated_blocks_one_is_named():
    names = script()
    assert regions_of(names["model"], {"regions": "nested"}) == ["layers.0"]
    assert regions_of(names["model"], {}) == []
