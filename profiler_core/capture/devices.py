"""Which devices a capture runs on, as far as its interpreter has them."""

from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import CaptureFailed


def check_device(spec: CaptureSpec, interpreter: Interpreter) -> None:
    """Refuse a GPU that the interpreter's torch does not see.

    Raises:
        CaptureFailed: there are fewer.
    """
    if not spec.device.startswith("cuda"):
        return
    number = int(spec.device.partition(":")[2] or 0)
    n_gpus = len(interpreter.gpus)
    if number >= n_gpus:
        raise CaptureFailed(
            f"Device {spec.device} is asked for, and the torch of {interpreter.executable} sees "
            f"{n_gpus or 'no'} CUDA {'device' if n_gpus == 1 else 'devices'}.",
            remedy=f"Use cuda:0 to cuda:{n_gpus - 1}."
            if n_gpus
            else "Use --device cpu, or an interpreter whose torch fits the driver.",
        )


def device_of(spec: CaptureSpec, interpreter: Interpreter) -> str:
    """The device that a spec asks for; the first GPU, else the CPU, where it leaves that open."""
    if spec.device != "auto":
        return "cuda:0" if spec.device == "cuda" else spec.device
    return "cuda:0" if interpreter.gpus else "cpu"


def devices_of(spec: CaptureSpec, device: str, interpreter: Interpreter) -> list[str]:
    """Every device that the ranks need, in the order in which they are locked.

    Raises:
        CaptureFailed: there are fewer GPUs than ranks.
    """
    if spec.n_ranks == 1 or not device.startswith("cuda"):
        return [device]
    if len(interpreter.gpus) < spec.n_ranks:
        raise CaptureFailed(
            f"{spec.n_ranks} ranks need a GPU each, and {len(interpreter.gpus)} can be seen.",
            remedy=f"Pass --ranks {len(interpreter.gpus)}, or --device cpu.",
        )
    return [f"cuda:{rank}" for rank in range(spec.n_ranks)]
