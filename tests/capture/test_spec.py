"""Variant strings, and that page and command line build the very same spec."""

import argparse

import pytest

from profiler_core.capture.option import declared
from profiler_core.capture.spec import (
    CaptureSpec,
    VariantSpec,
    parse_option,
    parse_shapes,
    parse_variant,
    parse_variants,
)
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
from profiler_core.errors import BadInput

FULL = CaptureSpec(
    "my folder/x.py:build",
    variants=parse_variants("eager,default+amp+cl+dynamic,backend:eager,aot_eager,torchscript"),
    device="cuda:1",
    python="/opt/venv/bin/python",
    training=True,
    shapes=((1, 2), (3, 4)),
    options=(("layers", "-2"), ("path", "a=b c")),
    logs=("fusion", "output_code"),
    name="-a name",
    seed=-1,
    rounds=3,
    round_steps=2,
    round_seconds=0.25,
    telemetry_seconds=0.0,
    profile_wait=0,
    profile_warmup=1,
    steps=7,
    profile=False,
    stacks=True,
    memory=False,
    numerics=False,
    warm_compile=False,
)


@pytest.mark.parametrize("spec", [CaptureSpec("bert"), CaptureSpec("bert", batch_size=4), FULL])
def test_the_words_of_a_spec_give_the_same_spec(spec):
    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    assert spec_from_namespace(parser.parse_args(spec.to_argv())) == spec


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("eager", VariantSpec()),
        ("default", VariantSpec(compile=True, mode="default", backend="inductor")),
        ("inductor", VariantSpec(compile=True, mode="default", backend="inductor")),
        ("backend:inductor", VariantSpec(compile=True, mode="default", backend="inductor")),
        ("backend:eager", VariantSpec(compile=True, backend="eager")),
        ("cudagraphs", VariantSpec(compile=True, backend="cudagraphs")),
        ("torchscript", VariantSpec(torchscript=True)),
        ("eager + amp + cl", VariantSpec(precision="bf16-autocast", channels_last=True)),
        (
            "max-autotune-no-cudagraphs+static+fullgraph+tf32",
            VariantSpec(
                compile=True, mode="max-autotune-no-cudagraphs", backend="inductor",
                dynamic=False, fullgraph=True, precision="tf32",
            ),
        ),
    ],
)  # fmt: skip
def test_a_variant_is_read_and_written_back(text, variant):
    assert parse_variant(text) == variant
    assert parse_variant(variant.label) == variant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fast", "begins with 'fast'"),
        ("default+quick", "unknown word 'quick'"),
        ("default+bf16+fp16", "precision twice"),
        ("eager+dynamic", "without torch.compile"),
        ("", "begins with ''"),
        ("backend:../x", "begins with 'backend:../x'"),
    ],
)
def test_a_variant_that_makes_no_sense_is_refused(text, said):
    with pytest.raises(BadInput, match=said):
        parse_variant(text)


def test_a_variant_is_named_once():
    with pytest.raises(BadInput, match="'default\\+bf16-autocast' is given twice"):
        parse_variants("default+amp,default+bf16-autocast")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"workload": " "}, "No workload"),
        ({"variants": ()}, "No variant"),
        ({"device": "tpu"}, "Device 'tpu'"),
        ({"batch_size": 0}, "--batch-size is 0"),
        ({"batch_size": 2, "shapes": ((1, 2),)}, "Both a batch size"),
        ({"rounds": 0}, "--rounds is 0"),
        ({"shapes": ((1, 0),)}, "size below 1"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_any_process_starts(fields, said):
    with pytest.raises(BadInput, match=said):
        CaptureSpec(**{"workload": "bert", **fields})


LARGEST = {
    "ranks": 256, "rounds": 1_000_000, "round_steps": 1_000_000, "round_seconds": 3600,
    "telemetry_seconds": 3600, "profile_wait": 5000, "profile_warmup": 5000, "steps": 10_000,
}  # fmt: skip


def test_each_option_with_a_largest_value_is_here():
    given = {name: entry.about.most for name, entry in declared(CaptureSpec).items()}
    assert {name: most for name, most in given.items() if most is not None} == LARGEST


@pytest.mark.parametrize("name", LARGEST)
def test_an_option_takes_its_largest_value_and_no_larger_one(name):
    largest, flag = LARGEST[name], f"--{name.replace('_', '-')}"
    assert getattr(CaptureSpec("bert", **{name: largest}), name) == largest
    with pytest.raises(BadInput, match=f"{flag} is {largest + 1}") as told:
        CaptureSpec("bert", **{name: largest + 1})
    assert told.value.remedy.endswith(f" to {largest}.")


def test_shapes_and_options_are_read():
    assert parse_shapes("8x3x32x32, 1*2") == ((8, 3, 32, 32), (1, 2))
    assert parse_option("path=a=b") == ("path", "a=b")
    for broken in ("8xtwo", "8,x"):
        with pytest.raises(BadInput):
            parse_shapes(broken)
    for broken in ("layers", "=2", "a b=2"):
        with pytest.raises(BadInput):
            parse_option(broken)


def test_a_training_loop_trains_unasked():
    assert CaptureSpec("simplecnn").trains
    assert not CaptureSpec("customcnn").trains


@pytest.mark.parametrize(
    ("text", "label", "target"),
    [
        ("default+target=blocks", "default+target=blocks", ("blocks",)),
        ("default+target=a.*:b+amp", "default+bf16-autocast+target=a.*:b", ("a.*", "b")),
        ("as-is", "as-is", ("as-is",)),
        ("default+target=as-is", "as-is", ("as-is",)),
        ("reduce-overhead+target=as-is", "reduce-overhead+target=as-is", ("as-is",)),
        ("openvino+device=CPU+target=blocks", "openvino+device=CPU+target=blocks", ("blocks",)),
    ],
)
def test_a_variant_says_what_it_compiles(text, label, target):
    variant = parse_variant(text)
    assert (variant.label, variant.target) == (label, target)
    assert parse_variant(variant.label) == variant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("eager+target=blocks", "eager compiles nothing"),
        ("torchscript+target=blocks", "torchscript traces the whole model"),
        ("default+target=blocks:whole", "'whole' and 'blocks' cannot both be|'blocks' and 'whole'"),
        ("default+target=blocks:loss", "'blocks' and 'loss' cannot both be"),
        ("default+target=a.*:blocks", "cannot both be"),
        ("default+target=as-is:optimizer", "leaves no optimizer"),
        ("default+target=a b", "cannot be read"),
        ("default+target=a+target=b", "sets target twice"),
        ("openvino+target=optimizer", "compiles models only"),
    ],
)
def test_a_target_that_makes_no_sense_is_refused(text, said):
    with pytest.raises(BadInput, match=said):
        parse_variant(text)


def test_one_target_for_all_compiled_variants_that_have_none():
    variants = parse_variants("eager,torchscript,default,reduce-overhead+target=whole")
    spec = CaptureSpec("bert", variants, compile_target=("blocks", "optimizer"))
    assert [variant.label for variant in spec.variants] == [
        "eager", "torchscript", "default+target=blocks:optimizer", "reduce-overhead+target=whole",
    ]  # fmt: skip
    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    assert spec_from_namespace(parser.parse_args(spec.to_argv())) == spec
    with pytest.raises(BadInput, match="given twice"):
        variants = parse_variants("default,default+target=whole")
        CaptureSpec("bert", variants, compile_target=("whole",))
