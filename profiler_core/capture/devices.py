"""Which devices a capture runs on, as far as its interpreter has them."""

from profiler_core.capture.child.accelerator import KINDS
from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import CaptureFailed


def check_device(spec: CaptureSpec, interpreter: Interpreter) -> None:
    """Refuse a device that the interpreter's torch does not see.

    Raises:
        CaptureFailed: there are fewer.
    """
    kind, _, index = spec.device.partition(":")
    if kind not in KINDS:
        return
    n = interpreter.n_devices(kind)
    if int(index or 0) >= n:
        others = [kind for kind in KINDS if interpreter.n_devices(kind)]
        raise CaptureFailed(
            f"Device {spec.device} is asked for, and the torch of {interpreter.executable} sees "
            f"{n or 'no'} {kind.upper()} {'device' if n == 1 else 'devices'}.",
            remedy=f"Use {kind}:0 to {kind}:{n - 1}."
            if n
            else f"Use --device {' or '.join([*others, 'cpu'])}, or an interpreter whose torch "
            "fits the driver.",
        )


def device_of(spec: CaptureSpec, interpreter: Interpreter) -> str:
    """The device that a spec asks for; where it leaves that open the first GPU, else the CPU."""
    kind, _, index = spec.device.partition(":")
    if kind == "auto":
        kind = next((kind for kind in KINDS if interpreter.n_devices(kind)), "cpu")
    return f"{kind}:{index or 0}" if kind in ("cuda", "xpu") else kind


def devices_of(spec: CaptureSpec, device: str, interpreter: Interpreter) -> list[str]:
    """Every device that the ranks need, in the order in which they are locked.

    Raises:
        CaptureFailed: there are fewer GPUs than ranks.
    """
    if spec.n_ranks > 1 and device.startswith(("xpu", "mps")):
        raise CaptureFailed(
            f"{spec.n_ranks} ranks are asked for on {device}, and ranks run on CUDA devices or the "
            "CPU.",
            remedy="Pass --ranks 1, or --device cpu.",
        )
    if spec.n_ranks == 1 or not device.startswith("cuda"):
        return [device]
    if len(interpreter.gpus) < spec.n_ranks:
        raise CaptureFailed(
            f"{spec.n_ranks} ranks need a GPU each, and {len(interpreter.gpus)} can be seen.",
            remedy=f"Pass --ranks {len(interpreter.gpus)}, or --device cpu.",
        )
    return [f"cuda:{rank}" for rank in range(spec.n_ranks)]
