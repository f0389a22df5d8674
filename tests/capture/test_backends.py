"""Backends that need a package: absent, broken, there; with stand-ins where it cannot be had."""

from pathlib import Path

import pytest

from profiler_core import run_directory as names
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run

pytestmark = pytest.mark.torch

PACKAGES = Path(__file__).resolve().parent / "packages"


@pytest.fixture(scope="module")
def absent(capture_tiny):
    return _by_variant(capture_tiny("model", "eager,tensorrt,onnxrt,openxla,backend:nonsense"))


@pytest.fixture(scope="module")
def stand_ins(capture_tiny):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PACKAGES))
        return _by_variant(
            capture_tiny(
                "model",
                "eager,tensorrt+enabled_precisions=torch.float16:torch.float32+min_block_size=3,"
                "tensorrt+optimization_level=9,"
                "onnxrt+preferred_execution_providers=CPUExecutionProvider",
                profile=True,
            )
        )


def _by_variant(finished):
    return {run.variant.partition("+")[0] if "level" not in run.variant else "refused": run
            for run in finished.runs}  # fmt: skip


@pytest.mark.parametrize(
    ("variant", "install"),
    [
        ("tensorrt", "Install torch-tensorrt of the same version as torch"),
        ("onnxrt", "Install onnxruntime, onnx and onnxscript beside torch 2.8 or older"),
        ("openxla", "Install torch_xla of the same version as torch"),
        ("backend:nonsense", "Use one of: "),
    ],
)
def test_what_is_not_there_says_what_to_install(absent, variant, install):
    name = variant.removeprefix("backend:")
    assert absent[variant].status == "failed"
    assert absent[variant].error.startswith(
        f"torch.compile has no backend '{name}' in this interpreter. {install}"
    )
    assert absent["eager"].status == "finished"


def test_a_package_that_cannot_be_imported_says_why(capture_tiny):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PACKAGES))
        patch.setenv("BROKEN_TENSORRT", "1")
        broken = _by_variant(capture_tiny("model", "eager,tensorrt"))["tensorrt"]
    assert "torch_tensorrt cannot be imported: libnvinfer.so.10: cannot open" in broken.error
    assert "Install torch-tensorrt" in broken.error
    assert "Traceback" not in broken.error


def test_options_arrive_as_the_backend_takes_them(stand_ins):
    printed = (stand_ins["tensorrt"].directory / names.STDOUT).read_text()
    assert (
        "tensorrt was given {'enabled_precisions': [torch.float16, torch.float32], "
        "'min_block_size': 3}" in printed
    )
    printed = (stand_ins["onnxrt"].directory / names.STDOUT).read_text()
    assert "onnxrt was given {'preferred_execution_providers': ['CPUExecutionProvider']}" in printed


def test_they_are_kept_in_run_json(stand_ins):
    record = open_run(stand_ins["tensorrt"].directory).record
    assert record.spec["backend_options"] == {
        "enabled_precisions": ["torch.float16", "torch.float32"],
        "min_block_size": 3,
    }
    engine = record.measurement.engine
    assert (engine.backend, engine.n_graphs, engine.n_fell_back) == ("tensorrt", 1, 0)
    assert engine.options["min_block_size"] == "3"


def test_a_value_that_the_backend_refuses_fails_in_one_sentence(stand_ins):
    refused = stand_ins["refused"]
    assert refused.status == "failed"
    assert "optimization_level is between 0 and 5" in refused.error
    assert "Traceback" not in refused.error


def test_its_graphs_are_ranges_in_the_trace(stand_ins):
    for name in ("tensorrt", "onnxrt"):
        trace = open_trace(open_run(stand_ins[name].directory).trace)
        ranges = [str(n) for n in trace.annotations["name"] if "CompiledFxGraph" in str(n)]
        assert ranges == [f"## Call CompiledFxGraph {name}_0 ##"] * 2
    operators = [str(n) for n in trace.ops["name"]]
    assert operators.count("engine::onnxrt") == 2


def test_operators_of_torch_inside_tensorrt_stay_visible(stand_ins):
    trace = open_trace(open_run(stand_ins["tensorrt"].directory).trace)
    operators = {str(n) for n in trace.ops["name"]}
    assert "aten::linear" in operators
    assert not any(name.startswith("engine::") for name in operators)
