"""What the child says of itself: threads as the user left them, and an engine's own reasons."""

import sys
from types import SimpleNamespace

import pytest

from profiler_core.capture.child import environment
from profiler_core.capture.child.backends import openvino

# OpenVINO 2026.4.1 on aten::linalg_vector_norm without a dimension, its middle left out.
UNCONVERTED = (
    "Check 'false' failed at src/frontends/common_translators/src/unconverted_ops_report.cpp:151:\n"
    "FrontEnd API failed with OpConversionFailure:\n"
    "Model wasn't fully converted. Failed operations detailed log:\n"
    "Got less inputs 2 than expected 3\n\n"
    "Summary:\n-- Conversion is failed for: aten.linalg_vector_norm.default\n"
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (UNCONVERTED, "Conversion is failed for: aten.linalg_vector_norm.default"),
        (
            UNCONVERTED + "-- No conversion rule found for operations: aten.x\n",
            "Conversion is failed for: aten.linalg_vector_norm.default; "
            "No conversion rule found for operations: aten.x",
        ),
        ("the device is gone\nin detail: 7", "the device is gone"),
        ("", "RuntimeError"),
    ],
)
def test_an_engines_reason_names_the_operator_where_it_can(text, line):
    assert openvino._line(RuntimeError(text)) == line


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_threads_are_those_that_the_users_code_asked_for():
    """set_num_threads in it is the usual way to too many: MKL caps the environment variable."""
    import torch

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(before + 3)
        assert environment.settings()["n_threads"] == before + 3
    finally:
        torch.set_num_threads(before)


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("config", "settings"), [
    (SimpleNamespace(numerics="strict"), {"inductor_numerics": "strict"}),
    (SimpleNamespace(), {}),
    (None, {}),
])  # fmt: skip
def test_inductors_strict_numerics_are_recorded_where_torch_has_them(config, settings, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch._inductor.config", config)
    recorded = environment.settings()
    assert {key: value for key, value in recorded.items() if key.startswith("inductor")} == settings
