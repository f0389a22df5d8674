"""What `doctor` says: of telemetry, of what a torch offers, of an interpreter that is none."""

import json

import pytest

from profiler_core.capture.counters.tool import Tool
from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.telemetry.sources import Gpus
from profiler_core.cli import doctor
from profiler_core.cli.main import main

FACTS = {
    "torch": "2.15.0", "python": "3.11", "python_executable": "python", "cuda": None,
    "cpu": "a CPU", "cxx": "g++", "triton": "3.5", "backends": ["inductor"], "log_names": [],
    "torchvision": "1", "transformers": "5",
}  # fmt: skip
ONE_GPU = [{"gpu": "a GPU", "gpu_memory_bytes": 10**9}]


class Card:
    index = 0

    def facts(self):
        return {"driver": "580.1"}


def told(gpus, facts):
    return {
        finding.what: finding for finding in doctor.diagnose(Interpreter("python", facts), gpus)
    }


@pytest.mark.parametrize(
    ("source", "said"), [("nvml", "NVML, driver 580.1"), ("amdsmi", "amdsmi, driver 580.1")]
)
def test_whose_library_reads_the_gpu(source, said):
    finding = told(Gpus((Card(),), source), FACTS | {"gpus": ONE_GPU})["telemetry of the GPU"]
    assert (finding.state, finding.detail, finding.remedy) == ("yes", said, None)


def test_a_gpu_that_cannot_be_sampled_has_a_reason_and_both_remedies():
    findings = told(Gpus(reason="No GPU can be sampled here: none."), FACTS | {"gpus": ONE_GPU})
    gpu = findings["telemetry of the GPU"]
    assert (gpu.state, gpu.detail) == ("no", "No GPU can be sampled here: none")
    assert "nvidia-ml-py" in gpu.remedy and "amdsmi" in gpu.remedy
    without = told(Gpus(reason="No GPU."), FACTS)["telemetry of the GPU"]
    assert without.remedy is None  # there is nothing to sample


@pytest.mark.parametrize("missing", ["", "This system has no /proc."])
def test_the_process_has_a_line_of_its_own(missing, monkeypatch):
    monkeypatch.setattr(doctor, "host_or_reason", lambda: missing)
    finding = told(Gpus(reason="No GPU."), FACTS)["telemetry of the process"]
    assert finding.state == ("no" if missing else "yes")
    assert finding.detail == (missing or "CPU time, threads and memory from /proc")


@pytest.mark.parametrize(
    ("tool", "gpus", "state", "said"),
    [
        (Tool("/opt/ncu", "2025.3.1.0"), ONE_GPU, "yes", "Nsight Compute 2025.3.1.0: /opt/ncu"),
        (Tool("/opt/ncu", None), [], "no", "Nsight Compute is here, and no NVIDIA GPU"),
        (None, ONE_GPU, "no", "Nsight Compute (ncu) is not installed on this machine"),
        (None, [], "no", "Nsight Compute (ncu) is not installed on this machine"),
    ],
)
def test_whether_counters_can_be_measured(tool, gpus, state, said, monkeypatch):
    monkeypatch.setattr(doctor, "find_tool", lambda: tool)
    finding = told(Gpus(reason="No GPU."), FACTS | {"gpus": gpus})["hardware counters"]
    assert (finding.state, finding.detail) == (state, said)
    assert bool(finding.remedy) == (tool is None and bool(gpus))  # nobody installs it for a CPU


# What `child/abilities.py` found in torch 2.1.2 and 2.15.0.
OLD = {
    "compile_error": None, "kineto": True, "cuda_trace": False, "structured_log": False,
    "provenance": False, "cpu_kernel_names": True, "graph_cache": False, "memory_history": True,
    "distributed": True, "fully_shard": False,
}  # fmt: skip
NEW = dict.fromkeys(OLD, True) | {"compile_error": None}
NAMES_OF_2_1 = ["dynamic", "graph_breaks", "perf_hints", "recompiles"]
NAMES_OF_2_15 = [*NAMES_OF_2_1, "cudagraphs", "recompiles_verbose"]


def offered(**facts):
    findings = told(Gpus(reason="No GPU."), FACTS | facts)
    return {finding.key: finding for finding in findings.values()}


def test_a_new_torch_loses_nothing_but_the_gpu():
    findings = offered(torch="2.15.0", abilities=NEW, log_names=NAMES_OF_2_15)
    keys = ("torch_compile", "trace", "compile_logs", "structured_log", "source_lines_of_kernels",
            "warm_compile_time", "several_ranks", "workload_fsdp")  # fmt: skip
    assert {key: findings[key].state for key in keys} == dict.fromkeys(keys, "yes")
    assert findings["memory"].state == "partly"
    on_a_gpu = offered(torch="2.15.0", abilities=NEW, log_names=NAMES_OF_2_15, gpus=ONE_GPU)
    assert on_a_gpu["memory"].state == "yes"


def test_an_old_torch_says_what_is_lost_each_with_a_remedy():
    findings = offered(torch="2.1.2+cu121", abilities=OLD, log_names=NAMES_OF_2_1)
    lost = {
        "compile_logs": ("partly", "A data-dependent `if` breaks the graph without a line"),
        "structured_log": ("no", "this torch writes no TORCH_TRACE"),
        "source_lines_of_kernels": ("no", "come from the structured log"),
        "warm_compile_time": ("partly", "kernels and not graphs"),
        "several_ranks": ("partly", "no fully_shard"),
        "workload_fsdp": ("no", "no fully_shard"),
    }
    for key, (state, words) in lost.items():
        assert findings[key].state == state
        assert words in findings[key].detail
        assert findings[key].remedy.startswith("Use ")
    assert "cudagraphs is unknown to it (why CUDA graphs were left out)" in (
        findings["compile_logs"].detail
    )
    assert findings["torch_compile"].state == findings["trace"].state == "yes"


def test_a_structured_log_of_2_5_says_what_it_does_not_hold():
    finding = offered(torch="2.5.1", abilities=NEW, log_names=NAMES_OF_2_15)["structured_log"]
    assert finding.state == "partly"
    assert "Structured logs hold no graph breaks before PyTorch 2.6." in finding.detail


@pytest.mark.parametrize(
    ("facts", "key", "words"),
    [
        ({"compile_error": "Python 3.12+ not yet supported for torch.compile"},
         "torch_compile", "only eager and TorchScript"),
        ({"kineto": False}, "trace", "built without Kineto"),
        ({"provenance": False}, "source_lines_of_kernels", "no provenance tracking"),
        ({"cpu_kernel_names": False}, "trace", "have no names"),
        ({"distributed": False}, "several_ranks", "without torch.distributed"),
    ],
)  # fmt: skip
def test_what_a_build_lacks_is_said(facts, key, words):
    finding = offered(torch="2.15.0", abilities=NEW | facts, log_names=NAMES_OF_2_15)[key]
    assert finding.state in ("no", "partly")
    assert words in finding.detail
    assert finding.remedy


def test_kernels_that_a_profiler_without_cupti_does_not_see_are_said():
    facts = {"abilities": NEW | {"cuda_trace": False}, "gpus": ONE_GPU}
    finding = offered(torch="2.15.0", log_names=NAMES_OF_2_15, **facts)["trace"]
    assert (finding.state, "CUPTI" in finding.remedy) == ("partly", True)


def test_a_torch_without_names_of_logs_says_so():
    finding = offered(torch="2.1.2", abilities=NEW, log_names=[])["compile_logs"]
    assert (finding.state, finding.remedy) == ("no", "Use a newer torch for what is missing.")


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_an_interpreter_that_cannot_be_used_is_one_finding(words, capsys):
    assert main(["doctor", "--python", "/no/python", *words]) == 3
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    if not words:
        assert "The interpreter /no/python does not exist" in " ".join(printed.out.split())
        return
    answer = json.loads(printed.out)
    assert answer["can_capture"] is False
    assert answer["interpreter"] == "/no/python"
    assert answer["findings"] == [
        {
            "key": "torch",
            "what": "torch",
            "state": "no",
            "detail": "The interpreter /no/python does not exist",
            "remedy": "Pass --python path/to/venv/bin/python, or the folder of a virtual "
            "environment.",
        }
    ]


def test_a_long_answer_keeps_to_the_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "90")
    interpreter = Interpreter("python", FACTS | {"abilities": OLD, "torch": "2.1.2"})
    monkeypatch.setattr(doctor, "probe", lambda python, with_backends: interpreter)
    monkeypatch.setattr(doctor, "find_gpus", lambda: Gpus(reason="No GPU."))
    assert main(["doctor"]) == 0
    table = capsys.readouterr().out.partition("\n\n")[0]
    assert max(len(line) for line in table.splitlines()) <= 90
