"""What torch offers of a device: its waiting, events, memory and generators, and what it lacks.

CUDA (and ROCm) has all of it. XPU has no snapshot of the allocator that can be read here. MPS has
neither peaks of the allocator, nor fp64, and torch's profiler records no kernel of it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional

KINDS = ("cuda", "xpu", "mps")  # in the order in which `auto` takes them

_NO_KERNELS = (
    "The profiler of torch records no kernels of {}: the trace shows what the host did, and "
    "nothing of the device."
)
_NO_PEAKS = "torch keeps no peak of memory for {}."


class Accelerator:
    """A device of one of these kinds, as far as this torch knows it; a CPU has nothing to ask.

    Args:
        device: the torch.device.
    """

    def __init__(self, device: Any) -> None:
        import torch

        self._torch = torch
        self._device = device
        self._kind = str(device.type)
        self._module: Any = getattr(torch, self._kind, None) if self._kind in KINDS else None
        self._takes_device = self._kind != "mps"  # of which there is one

    def select(self) -> None:
        """Make it the device of this process."""
        if self._module is not None and self._takes_device:
            self._module.set_device(self._device)

    def synchronize(self) -> None:
        """Wait for it; on the CPU nothing is pending."""
        if self._module is not None:
            self._call("synchronize")

    @property
    def has_events(self) -> bool:
        """Can single steps be timed on the device itself?"""
        return hasattr(self._module, "Event")

    def event(self) -> Any:
        """A mark on its queue: `record()`, and `elapsed_time(later)` in ms."""
        return self._module.Event(enable_timing=True)

    def activities(self) -> List[Any]:
        """What the profiler has to record beside the host."""
        activity = getattr(self._torch.profiler.ProfilerActivity, self._kind.upper(), None)
        return [activity] if self._module is not None and activity is not None else []

    @property
    def has_peaks(self) -> bool:
        """Does its allocator keep the most that it ever held?"""
        return hasattr(self._module, "max_memory_allocated")

    def empty_cache(self) -> None:
        """Give back what the allocator holds and nobody uses."""
        if hasattr(self._module, "empty_cache"):
            self._module.empty_cache()

    def reset_peaks(self) -> None:
        """Reset the allocator's peaks."""
        if self.has_peaks:
            self._module.reset_peak_memory_stats(self._device)

    def peaks(self) -> Dict[str, Any]:
        """Both peaks since the last reset, bytes; null where the allocator keeps none."""
        if not self.has_peaks:
            return {"peak_allocated_bytes": None, "peak_reserved_bytes": None}
        return {
            "peak_allocated_bytes": self._module.max_memory_allocated(self._device),
            "peak_reserved_bytes": self._module.max_memory_reserved(self._device),
        }

    @property
    def has_fp64(self) -> bool:
        """Can it compute a reference in double precision?"""
        return self._kind != "mps"

    def lacks(self) -> List[str]:
        """A sentence for each thing that cannot be measured on it."""
        if self._module is None:
            return []
        sentences = [] if self.activities() else [_NO_KERNELS.format(self._kind)]
        return sentences + ([] if self.has_peaks else [_NO_PEAKS.format(self._kind)])

    def facts(self) -> Dict[str, Any]:
        """`gpu` and its like for run.json; of CUDA `environment.gpu` has more."""
        index = self._device.index or 0
        if self._kind == "xpu":
            properties = self._module.get_device_properties(index)
            return {
                "gpu": properties.name,
                "gpu_index": index,
                "gpu_memory_bytes": properties.total_memory,
            }
        name = getattr(self._torch.backends.mps, "get_name", None)  # 2.9 on
        return {"gpu": name() if name is not None else "Apple GPU", "gpu_index": index}

    def _call(self, name: str) -> Any:
        function = getattr(self._module, name)
        return function(self._device) if self._takes_device else function()


def n_devices(torch: Any, kind: str) -> int:
    """How many devices of a kind this torch sees; 0 where it does not know the kind."""
    if kind == "mps":
        backend = getattr(torch.backends, "mps", None)
        return int(backend is not None and backend.is_available())
    module = getattr(torch, kind, None)
    return int(module.device_count()) if module is not None and module.is_available() else 0


def generator_states() -> List[Any]:
    """States of torch's generators: of the CPU, and of each device that is in use."""
    import torch

    states = [torch.get_rng_state()]
    for kind in ("cuda", "xpu"):
        module: Optional[Any] = getattr(torch, kind, None)
        if module is not None and module.is_initialized():
            states += module.get_rng_state_all()
    return states + ([torch.mps.get_rng_state()] if n_devices(torch, "mps") else [])
