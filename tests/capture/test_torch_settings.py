"""The traps of TORCH_LOGS: never empty, never a name that the interpreter does not know."""

from pathlib import Path

from profiler_core.capture.torch_settings import child_environment, torch_logs

# torch 2.2 knows no "cudagraphs"; naming it makes `import torch` fail there.
KNOWN_BY_2_2 = ("dynamic", "graph_breaks", "perf_hints", "recompiles", "recompiles_verbose")


def test_only_known_names_are_used():
    value = torch_logs(KNOWN_BY_2_2)
    assert value == "+recompiles,graph_breaks,perf_hints,dynamic,+recompiles_verbose"


def test_further_logs_are_added_where_the_interpreter_knows_them():
    value = torch_logs(("recompiles", "fusion"), ("fusion", "output_code"))
    assert value == "+recompiles,fusion"


def test_without_known_names_the_variable_is_not_set():
    assert torch_logs(()) is None
    variables = child_environment((), Path("/c"), Path("/t"), {"TORCH_LOGS": ""})
    assert "TORCH_LOGS" not in variables


def test_what_a_shell_holds_does_not_reach_the_logs_or_the_caches():
    shell = {
        "TORCH_LOGS": "nonsense",
        "TORCH_LOGS_FORMAT": "short",
        "TORCH_LOGS_OUT": "/x",
        "TORCHINDUCTOR_CACHE_DIR": "/warm",
        "PATH": "/bin",
        "FUSIONSCOPE_TOKEN": "fsc_secret",
    }
    variables = child_environment(KNOWN_BY_2_2, Path("/c"), Path("/t"), shell)
    assert variables["TORCH_LOGS"].startswith("+recompiles")
    assert "TORCH_LOGS_FORMAT" not in variables
    assert "TORCH_LOGS_OUT" not in variables
    assert variables["TORCHINDUCTOR_CACHE_DIR"] == "/c/inductor"
    assert variables["TRITON_CACHE_DIR"] == "/c/triton"
    assert variables["TORCH_TRACE"] == "/t"
    assert variables["PATH"] == "/bin"
    assert "FUSIONSCOPE_TOKEN" not in variables
