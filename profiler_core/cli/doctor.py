"""`doctor`: what this machine and this interpreter can capture, and what is missing."""

import argparse
import shutil
import textwrap
from collections.abc import Mapping
from typing import Annotated, Any

from profiler_core.analysis.wording.sentence import clause, counted
from profiler_core.answers.encoding import write_json
from profiler_core.answers.record import Answer, means
from profiler_core.capture.child.accelerator import KINDS
from profiler_core.capture.counters.tool import INSTALL, NOT_HERE, find_tool
from profiler_core.capture.interpreter import Interpreter, default_python, probe
from profiler_core.capture.spec import BUILT_IN_WORKLOADS
from profiler_core.capture.telemetry.host import host_or_reason
from profiler_core.capture.telemetry.sources import Gpus, find_gpus
from profiler_core.cli.diagnosis.backends import backends
from profiler_core.cli.diagnosis.finding import Finding
from profiler_core.cli.diagnosis.offers import offers
from profiler_core.cli.table import table
from profiler_core.errors import CaptureFailed
from profiler_core.units import format_bytes

# Workloads that need a package beside torch.
_NEEDS = {"resnet50": "torchvision", "bert": "transformers"}

# Columns of the table: where there is no terminal, and of the answers at least.
_WIDTH = 120
_NARROWEST = 40

_LIBRARIES = {"nvml": "NVML", "amdsmi": "amdsmi"}


class DoctorAnswer(Answer, frozen=True):
    """`doctor`."""

    can_capture: Annotated[bool, means("true or false")]
    interpreter: Annotated[str, means("its path; what was asked for where there is none")]
    findings: Annotated[
        tuple[Finding, ...],
        means(
            "one a question: {keys}",
            key="for scripts",
            what="the same in words",
            state="`yes`, `partly`, `no`",
            remedy="null where there is nothing to do",
        ),
    ]
    facts: Annotated[
        Mapping[str, Any],
        means(
            "what the interpreter said of itself: `torch`, `python`, `python_executable`, `cuda` "
            "(null: built without), `triton`, `torchvision`, `transformers` (versions, null where "
            "absent), `cpu`, `gpus` (`gpu`, `gpu_index`, `gpu_uuid`, `gpu_memory_bytes`, "
            "`gpu_capability`, …), `other_devices` (how many of xpu and mps), `cxx` (the C++ "
            "compiler, null where there is none), "
            "`log_names` (what TORCH_LOGS may name), `backends`, `engines` (backends of other "
            "packages: `version`, `problem`, `install`), `torchvision_found` (`models`: names, "
            "`problem`: why an installed one is of no use), `abilities`; only `error` and "
            "`remedy` where torch cannot be used"
        ),
    ]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "doctor", help="what this machine can capture, and what is missing"
    )
    parser.add_argument(
        "--python",
        help="the interpreter whose environment holds the model, or that environment's folder",
    )
    parser.add_argument("--json", action="store_true", help="the findings as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the findings. 0 when captures are possible, 3 when not."""
    try:
        interpreter = probe(arguments.python, with_backends=True)
    except CaptureFailed as error:
        interpreter = Interpreter(
            arguments.python or default_python(),
            {"error": clause(error.problem), "remedy": error.remedy},
        )
    findings = diagnose(interpreter, find_gpus())
    possible = interpreter.error is None
    if arguments.json:
        write_json(
            DoctorAnswer(possible, interpreter.executable, tuple(findings), interpreter.facts)
        )
    else:
        print(table(["", "what", "found"], _rows(findings), n_text=3))
        for finding in findings:
            if finding.remedy:
                print(f"\n{finding.what}: {finding.remedy}")
    return 0 if possible else 3


def _rows(findings: list[Finding]) -> list[list[str]]:
    """One row a finding, and further ones where what was found is longer than the terminal."""
    other_columns = len("partly") + max(len(finding.what) for finding in findings) + 4
    width = max(_NARROWEST, shutil.get_terminal_size((_WIDTH, 24)).columns - other_columns)
    rows = []
    for finding in findings:
        lines = textwrap.wrap(finding.detail, width) or [""]
        rows.append([finding.state, finding.what, lines[0]])
        rows += [["", "", line] for line in lines[1:]]
    return rows


def diagnose(interpreter: Interpreter, gpus: Gpus) -> list[Finding]:
    """Facts -> findings.

    Args:
        interpreter: what its probe found.
        gpus: those that can be sampled.
    """
    facts = interpreter.facts
    if interpreter.error is not None:
        return [Finding("torch", "no", interpreter.error, interpreter.remedy)]
    findings = [
        Finding("torch", "yes", f"{facts['torch']}, Python {facts['python']}"),
        Finding("interpreter", "yes", facts["python_executable"]),
    ]
    if interpreter.gpus:
        names = ", ".join(
            f"{gpu['gpu']} ({format_bytes(gpu['gpu_memory_bytes'])})" for gpu in interpreter.gpus
        )
        findings.append(Finding("GPU", "yes", names))
        findings.append(
            Finding("Triton", "yes", str(facts["triton"]))
            if facts["triton"]
            else Finding("Triton", "no", "not installed", "Install triton: inductor needs it.")
        )
    elif others := [kind for kind in KINDS if interpreter.n_devices(kind)]:
        kind = others[0]
        n = counted(interpreter.n_devices(kind), f"{kind.upper()} device")
        lacks = "no trace of kernels, no peaks of memory" if kind == "mps" else "no memory snapshot"
        findings.append(Finding("GPU", "partly", f"{n}: no telemetry and {lacks}"))
    else:
        why = (
            f"torch {facts['torch']} sees no CUDA device"
            if facts["cuda"]
            else "this torch is built without CUDA"
        )
        findings.append(Finding("GPU", "no", f"{why}: captures run on the CPU ({facts['cpu']})"))
    findings.append(
        Finding("C++ compiler", "yes", facts["cxx"])
        if facts["cxx"]
        else Finding(
            "C++ compiler", "no", "neither g++ nor clang++",
            "Install g++: inductor compiles for the CPU with it.",
        )
    )  # fmt: skip
    findings += [_gpu_telemetry(gpus, bool(interpreter.gpus)), _host_telemetry()]
    findings.append(_counters(bool(interpreter.gpus)))
    findings += offers(interpreter)
    findings += backends(facts)
    findings.extend(_workloads(facts))
    return findings


def _gpu_telemetry(gpus: Gpus, has_gpu: bool) -> Finding:
    """Power, clocks, utilisation: NVIDIA's through NVML, AMD's through amdsmi."""
    if gpus.devices:
        drivers = {str(device.facts().get("driver") or "unknown") for device in gpus.devices}
        library = _LIBRARIES.get(gpus.source or "", str(gpus.source))
        version = f"{library}, driver {', '.join(sorted(drivers))}"
        return Finding("telemetry of the GPU", "yes", version)
    remedy = (
        "Install beside Fusionscope nvidia-ml-py for NVIDIA's GPUs, or for AMD's the amdsmi that "
        "comes with ROCm."
        if has_gpu
        else None
    )
    return Finding("telemetry of the GPU", "no", clause(gpus.reason), remedy)


def _host_telemetry() -> Finding:
    """CPU time, threads and memory of the process that runs the model."""
    missing = host_or_reason()
    if missing:
        return Finding("telemetry of the process", "no", missing)
    return Finding("telemetry of the process", "yes", "CPU time, threads and memory from /proc")


def _counters(has_gpu: bool) -> Finding:
    """Whether `capture --counters` can measure what kernels move."""
    tool = find_tool()
    if tool is None:
        return Finding("hardware counters", "no", NOT_HERE, INSTALL if has_gpu else None)
    if not has_gpu:
        return Finding("hardware counters", "no", f"{tool.title} is here, and no NVIDIA GPU")
    return Finding("hardware counters", "yes", f"{tool.title}: {tool.path}")


def _workloads(facts: dict[str, Any]) -> list[Finding]:
    findings = []
    for name, description in BUILT_IN_WORKLOADS.items():
        package = _NEEDS.get(name)
        if name == "fsdp" and not (facts.get("abilities") or {}).get("fully_shard", True):
            findings.append(
                Finding(
                    f"workload {name}", "no", "this torch has no fully_shard (FSDP2)",
                    "Use torch 2.4 or newer, or the workload ddp.",
                )
            )  # fmt: skip
        elif package == "torchvision" and (problem := _torchvision_problem(facts)):
            findings.append(
                Finding(
                    f"workload {name}", "no", f"torchvision cannot be imported: {problem}",
                    "Install the torchvision that fits that torch.",
                )
            )  # fmt: skip
        elif package is None or facts[package]:
            findings.append(Finding(f"workload {name}", "yes", description))
        else:
            findings.append(
                Finding(
                    f"workload {name}", "no", f"{package} is not installed",
                    f"Install it into that environment: pip install {package}.",
                )
            )  # fmt: skip
    return findings


def _torchvision_problem(facts: dict[str, Any]) -> str | None:
    """Why an installed torchvision is of no use: most often it is built for another torch."""
    torchvision: dict[str, Any] = facts.get("torchvision_found") or {}
    return torchvision.get("problem")
