"""What all variants of one capture share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from profiler_core.capture.counters.tool import Tool
from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.progress import ProgressLog
from profiler_core.capture.selection import Selection
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.telemetry.sampling import Telemetry


@dataclass(frozen=True)
class Context:
    """What all variants of one capture share.

    `look` raises Cancelled once the capture is cancelled; `work` is a folder that is deleted
    with the capture.
    """

    spec: CaptureSpec
    interpreter: Interpreter
    device: str
    telemetry: Telemetry
    progress: ProgressLog
    work: Path
    look: Callable[[], None]
    counters: Tool | None = None  # measures what kernels move, where that was asked for
    selection: Selection | None = None  # of a search

    @property
    def is_cuda(self) -> bool:
        """The device is a GPU that torch speaks of as CUDA, ROCm's too."""
        return self.device.startswith("cuda")

    @property
    def is_gpu(self) -> bool:
        """The device is a GPU of any maker."""
        return self.device != "cpu"
