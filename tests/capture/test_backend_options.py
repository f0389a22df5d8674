"""Options of a backend on the command line, in run.json, and what is refused."""

import pytest

from profiler_core.capture.backend_options import OPTIONS
from profiler_core.capture.variant_spec import parse_variant, parse_variants
from profiler_core.errors import BadInput


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("openvino+device=CPU", {"device": "CPU"}),
        (
            "openvino+config.INFERENCE_PRECISION_HINT=f32+config.NUM_STREAMS=2+model_caching=true",
            {
                "config": {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 2},
                "model_caching": True,
            },
        ),
        (
            "tensorrt+enabled_precisions=torch.float16:torch.float32+min_block_size=3",
            {"enabled_precisions": ["torch.float16", "torch.float32"], "min_block_size": 3},
        ),
        (
            "onnxrt+preferred_execution_providers=CPUExecutionProvider",
            {"preferred_execution_providers": ["CPUExecutionProvider"]},
        ),
        ("default+triton.cudagraphs=true", {"triton.cudagraphs": True}),
        ("backend:mine+rate=0.5+level=none", {"rate": 0.5, "level": None}),
        ("openvino", {}),
    ],
)
def test_words_become_what_torch_compile_takes(text, options):
    assert parse_variant(text).to_dict()["backend_options"] == options


@pytest.mark.parametrize(
    "text",
    [
        "openvino+device=CPU+config.PERFORMANCE_HINT=LATENCY+static+bf16",
        "default+max_autotune=true",
    ],
)
def test_the_label_gives_the_same_variant(text):
    variant = parse_variant(text)
    assert variant.label == text
    assert parse_variant(variant.label) == variant
    assert "=" not in variant.slug


def test_the_same_backend_with_two_options_is_two_variants():
    variants = parse_variants("eager,openvino,openvino+device=CPU,openvino+device=GPU")
    assert len({variant.label for variant in variants}) == len({v.slug for v in variants}) == 4


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("openvino+devise=CPU", "option devise, which it does not know", "device"),
        ("openvino+device=CPU+device=GPU", "gives option device twice", "Keep one"),
        ("openvino+device=", "cannot be read", "INFERENCE_PRECISION_HINT=f32"),
        ("openvino+2x=1", "cannot be read", "INFERENCE_PRECISION_HINT=f32"),
        ("eager+device=CPU", "gives options to eager", "openvino"),
        ("torchscript+device=CPU", "gives options to torchscript", "openvino"),
        ("aot_eager+level=3", "takes no options", "Leave"),
        ("openxla+device=CPU", "takes no options", "Leave"),
        ("openvino+config.A=1+config.A.B=2", "gives config.A both a value", "Keep one"),
    ],
)
def test_what_would_go_unnoticed_is_refused(text, problem, remedy):
    with pytest.raises(BadInput) as refused:
        parse_variant(text)
    assert problem in refused.value.problem
    assert remedy in refused.value.remedy


def test_every_example_can_be_written():
    for backend, options in OPTIONS.items():
        for option in options:
            key = f"{option.key}NAME" if option.key.endswith(".") else option.key
            assert parse_variant(f"{backend}+{key}={option.example}").backend_options
