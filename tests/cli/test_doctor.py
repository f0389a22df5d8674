"""What `doctor` says of telemetry: NVML, amdsmi, and the process beside them."""

import pytest

from profiler_core.capture.counters.tool import Tool
from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.telemetry.sources import Gpus
from profiler_core.cli import doctor

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
    return {one.what: one for one in doctor.diagnose(Interpreter("python", facts), gpus)}


@pytest.mark.parametrize(
    ("source", "said"), [("nvml", "NVML, driver 580.1"), ("amdsmi", "amdsmi, driver 580.1")]
)
def test_whose_library_reads_the_gpu(source, said):
    found = told(Gpus((Card(),), source), FACTS | {"gpus": ONE_GPU})["telemetry of the GPU"]
    assert (found.state, found.detail, found.remedy) == ("yes", said, None)


def test_a_gpu_that_cannot_be_sampled_has_a_reason_and_both_remedies():
    found = told(Gpus(reason="No GPU can be sampled here: none."), FACTS | {"gpus": ONE_GPU})
    gpu = found["telemetry of the GPU"]
    assert (gpu.state, gpu.detail) == ("no", "No GPU can be sampled here: none")
    assert "nvidia-ml-py" in gpu.remedy and "amdsmi" in gpu.remedy
    without = told(Gpus(reason="No GPU."), FACTS)["telemetry of the GPU"]
    assert without.remedy is None  # there is nothing to sample


@pytest.mark.parametrize("missing", ["", "This system has no /proc."])
def test_the_process_has_a_line_of_its_own(missing, monkeypatch):
    monkeypatch.setattr(doctor, "host_or_reason", lambda: missing)
    found = told(Gpus(reason="No GPU."), FACTS)["telemetry of the process"]
    assert found.state == ("no" if missing else "yes")
    assert found.detail == (missing or "CPU time, threads and memory from /proc")


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
    found = told(Gpus(reason="No GPU."), FACTS | {"gpus": gpus})["hardware counters"]
    assert (found.state, found.detail) == (state, said)
    assert bool(found.remedy) == (tool is None and bool(gpus))  # nobody installs it for a CPU
