"""What a sweep is asked for: options, values, and the captures that come of them."""

import argparse

import pytest

from profiler_core.capture.spec import CaptureSpec, Sweep, parse_sweep, parse_variants
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
from profiler_core.capture.sweep.parameters import PARAMETERS
from profiler_core.capture.sweep.points import points_of
from profiler_core.errors import BadInput


def swept(text, **more):
    return points_of(CaptureSpec("resnet50", sweep=parse_sweep(text), **more))


def from_words(*words):
    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    return spec_from_namespace(parser.parse_args(["resnet50", *words]))


@pytest.mark.parametrize("name", ["batch", "batch_size", "batch-size", "Batch-Size"])
def test_the_batch_size_goes_by_several_names(name):
    assert parse_sweep(f"{name}=1, 8,32") == Sweep("batch-size", ("1", "8", "32"))


def test_each_value_is_a_capture_of_its_own():
    points = swept("batch=1,8,32")
    assert [point.spec.batch_size for point in points] == [1, 8, 32]
    assert [point.value for point in points] == [1, 8, 32]
    assert [point.text for point in points] == ["batch size 1", "batch size 8", "batch size 32"]
    assert {point.spec.sweep for point in points} == {None}
    assert len({point.spec.title for point in points}) == 3
    assert points_of(CaptureSpec("resnet50")) == ()


@pytest.mark.parametrize(
    ("text", "field", "values"),
    [
        ("shape=1x3x8x8,2x3x8x8", "shapes", [((1, 3, 8, 8),), ((2, 3, 8, 8),)]),
        ("ranks=1,2", "ranks", [1, 2]),
        ("device=cpu,cuda:0", "device", ["cpu", "cuda:0"]),
        ("python=/a/python,/b/python", "python", ["/a/python", "/b/python"]),
        ("step=inference,training", "training", [False, True]),
        ("option.layers=2,4", "options", [(("layers", "2"),), (("layers", "4"),)]),
    ],
)
def test_an_option_of_the_capture_is_set(text, field, values):
    assert [getattr(point.spec, field) for point in swept(text)] == values


@pytest.mark.parametrize(
    ("text", "labels", "series"),
    [
        ("dtype=fp32,bf16", ["eager,default", "eager+bf16,default+bf16"], ("eager", "default")),
        ("mode=default,max-autotune", ["eager,default", "eager,max-autotune"],
         ("eager", "torch.compile")),
        ("backend=inductor,aot_eager,foo", ["eager,default", "eager,aot_eager",
         "eager,backend:foo"], ("eager", "torch.compile")),
        ("dynamic=automatic,static", ["eager,default", "eager,default+static"],
         ("eager", "default")),
        ("layout=contiguous,channels_last",
         ["eager,default", "eager+channels_last,default+channels_last"], ("eager", "default")),
        ("fullgraph=no,yes", ["eager,default", "eager,default+fullgraph"], ("eager", "default")),
    ],
)  # fmt: skip
def test_an_option_of_the_variants_is_set_where_it_applies(text, labels, series):
    points = swept(text)
    assert [",".join(v.label for v in point.spec.variants) for point in points] == labels
    assert {point.series for point in points} == {series}


def test_the_record_of_a_point_says_where_it_stands():
    point = swept("batch=1,8")[1]
    assert point.record("the-sweep", 1) == {
        "id": "the-sweep", "name": "batch-size", "label": "batch size", "value": 8, "index": 1,
        "values": [1, 8], "series": "default",
    }  # fmt: skip


@pytest.mark.parametrize("name", [*PARAMETERS, "option.layers"])
def test_every_option_survives_the_command_line(name):
    example = PARAMETERS[name].example if name in PARAMETERS else "2,4"
    spec = from_words(f"--sweep={name}={example}")
    assert spec.sweep == parse_sweep(f"{name}={example}")
    assert from_words(*spec.to_argv()[1:]) == spec
    assert points_of(spec)[0].spec.sweep is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sweep=batch"], "Sweep 'batch' cannot be read"),
        (["--sweep=batch=8"], "needs at least two values"),
        (["--sweep=batch=8,8"], "has the value '8' twice"),
        (["--sweep=batch=8,08"], "has the same value twice"),
        (["--sweep=batch=0,8"], "--batch-size is 0"),
        (["--sweep=batch=a,b"], "'a' is not a batch size"),
        (["--sweep=speed=1,2"], "sweep of 'speed' is unknown"),
        (["--sweep=precision=fp32,fp31"], "'fp31' is not a precision"),
        (["--sweep=shape=1x2,3x"], "cannot be read"),
        (["--sweep=option.a-b=1,2"], "names no option"),
        (["--sweep=batch=1,2", "--batch-size=8"], "--batch-size is given together with a sweep"),
        (["--sweep=batch=1,2", "--shapes=8x3x8x8"], "Both a batch size and whole input shapes"),
        (["--sweep=option.layers=1,2", "--option=layers=3"], "--option layers is given together"),
        (["--sweep=precision=fp32,bf16", "--variants=eager+bf16,default"],
         "sets precision, which is swept too"),
        (["--sweep=mode=default,max-autotune", "--variants=eager,default,reduce-overhead"],
         "needs one compiled variant, not 2"),
        (["--sweep=step=inference,training", "--training"], "always trains"),
        (["--sweep=batch=1,2", "--sweep=ranks=1,2"], "2 sweeps are given"),
        (["--sweep=batch=" + ",".join(map(str, range(1, 60)))], "has 59 values"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_anything_starts(words, said):
    with pytest.raises(BadInput, match=said):
        from_words(*words)


def test_a_sweep_has_a_title():
    spec = from_words("--sweep=batch=1,8", "--variants=eager,default")
    assert spec.title == "resnet50, sweep of batch-size"
    assert spec.variants == parse_variants("eager,default")
