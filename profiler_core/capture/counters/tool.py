"""Finds Nsight Compute (`ncu`), which comes with CUDA's toolkit or by itself."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from profiler_core.errors import CaptureFailed
from profiler_core.worker.process import DidNotRun, run_program

INSTALL = (
    "Install Nsight Compute (it comes with CUDA's toolkit, or alone from developer.nvidia.com) "
    "and put ncu on the PATH."
)
NOT_HERE = "Nsight Compute (ncu) is not installed on this machine"

# Where installers put it without touching the PATH (manual, "Quickstart").
_ELSEWHERE = (
    "/usr/local/cuda/bin/ncu",
    "/usr/local/cuda-*/bin/ncu",
    "/opt/nvidia/nsight-compute/*/ncu",
    "/usr/local/NVIDIA-Nsight-Compute*/ncu",
)
_VERSION = re.compile(r"Version (\d+(?:\.\d+)+)")
_TIMEOUT_S = 30  # a cold network file system


@dataclass(frozen=True)
class Tool:
    """An ncu that runs. version: as it says itself, for instance 2025.3.1.0; None: it does not."""

    path: str
    version: str | None

    @property
    def title(self) -> str:
        """What people read."""
        return f"Nsight Compute {self.version}" if self.version else "Nsight Compute"


def find_tool() -> Tool | None:
    """The ncu on the PATH, else the newest where installers put it; None: there is none."""
    path_of_ncu = shutil.which("ncu")
    if path_of_ncu is None:
        installed = [path for pattern in _ELSEWHERE for path in Path("/").glob(pattern.lstrip("/"))]
        path_of_ncu = next(
            (str(path) for path in sorted(installed, key=_numbers, reverse=True)), None
        )
    return None if path_of_ncu is None else Tool(path_of_ncu, _version(path_of_ncu))


def _version(path: str) -> str | None:
    try:
        completed = run_program(path, "--version", within_s=_TIMEOUT_S)
    except DidNotRun:
        return None
    match = _VERSION.search(completed.stdout.decode("utf-8", "replace"))
    return match[1] if match else None


def _numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


def counters_tool(device: str) -> Tool:
    """The tool that measures counters on this device.

    Raises:
        CaptureFailed: the device has no counters, or nothing here can read them.
    """
    if not device.startswith("cuda"):
        raise CaptureFailed(
            f"Hardware counters need an NVIDIA GPU, and this capture runs on {device}.",
            remedy="Leave --counters out.",
        )
    tool = find_tool()
    if tool is None:
        raise CaptureFailed(f"{NOT_HERE}.", remedy=f"{INSTALL} Or leave --counters out.")
    return tool
