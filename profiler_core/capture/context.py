"""What all variants of one capture share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.nvml import Gpu
from profiler_core.capture.progress import ProgressLog
from profiler_core.capture.spec import CaptureSpec


@dataclass(frozen=True)
class Context:
    """What all variants of one capture share.

    `look` raises Cancelled when somebody asked for the end; `gpu` is None on the CPU and where
    NVML is absent; `work` is a folder that goes away with the capture.
    """

    spec: CaptureSpec
    interpreter: Interpreter
    device: str
    gpu: Gpu | None
    progress: ProgressLog
    work: Path
    look: Callable[[], None]

    @property
    def is_cuda(self) -> bool:
        """The device is a GPU."""
        return self.device.startswith("cuda")
