"""Versions, devices and settings of this interpreter: the child's part of `environment`."""

from __future__ import annotations

import importlib
import os
import platform
import socket
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

from .accelerator import KINDS, Accelerator, n_devices

# Variables that change what torch compiles or how fast it runs. Their values are recorded.
_PREFIXES = ("TORCH", "PYTORCH", "INDUCTOR_", "TRITON_", "CUDA_", "CUBLAS", "CUDNN_", "NVIDIA_TF32")
_NAMES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "MKL_DYNAMIC", "KMP_AFFINITY", "LD_PRELOAD")


def environment(device: Any) -> Dict[str, Any]:
    """Versions, devices and settings. `device` is the torch.device of the run."""
    import torch

    facts: Dict[str, Any] = {
        "torch": str(torch.__version__),
        "torch_git": getattr(torch.version, "git_version", None),
        "cuda": torch.version.cuda,
        "hip": getattr(torch.version, "hip", None),
        "cudnn": _cudnn(),
        "triton": version_of("triton"),
        "torchvision": version_of("torchvision"),
        "transformers": version_of("transformers"),
        "python": platform.python_version(),
        "python_executable": sys.executable,
        "os": platform.platform(),
        "host": socket.gethostname(),
        "cpu": cpu_name(),
        "cpu_count": os.cpu_count(),
        "n_threads": torch.get_num_threads(),
        "device": str(device),
        "gpu": None,
        "gpu_index": None,
        "gpu_count": sum(n_devices(torch, kind) for kind in KINDS),
        "variables": variables(),
    }
    if device.type == "cuda":
        facts.update(gpu(device.index or 0))
    elif device.type in KINDS:
        facts.update(Accelerator(device).facts())
    return facts


def settings() -> Dict[str, Any]:
    """Numeric settings and threads, read after the variant and the user's code have set them.

    MKL keeps OMP_NUM_THREADS down to the processors (MKL_DYNAMIC), torch.set_num_threads does not.
    """
    import torch

    inductor = sys.modules.get("torch._inductor.config")  # not for its second in eager
    numerics = getattr(inductor, "numerics", None)  # torch 2.15: TORCHINDUCTOR_NUMERICS
    return {
        **({} if numerics is None else {"inductor_numerics": numerics}),
        "n_threads": torch.get_num_threads(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_allow_tf32": _read(lambda: bool(torch.backends.cudnn.allow_tf32)),
        "cudnn_benchmark": _read(lambda: bool(torch.backends.cudnn.benchmark)),
        "deterministic_algorithms": _read(torch.are_deterministic_algorithms_enabled),
    }


def gpu(index: int) -> Dict[str, Any]:
    """Name, memory, capability and identity of one CUDA device."""
    import torch

    properties = torch.cuda.get_device_properties(index)
    uuid = getattr(properties, "uuid", None)  # torch 2.4 on
    return {
        "gpu": properties.name,
        "gpu_index": index,
        "gpu_uuid": None if uuid is None else "GPU-" + str(uuid),
        "gpu_memory_bytes": properties.total_memory,
        "gpu_capability": "{}.{}".format(properties.major, properties.minor),
        "gpu_multiprocessors": properties.multi_processor_count,
        "gpu_l2_bytes": getattr(properties, "L2_cache_size", None),
    }


def variables() -> Dict[str, str]:
    """The environment variables that bear on the measurement, sorted."""
    return {
        key: value
        for key, value in sorted(os.environ.items())
        if key.startswith(_PREFIXES) or key in _NAMES
    }


def version_of(module: str) -> Optional[str]:
    """The version of a module, without importing a heavy one: None when it is not installed."""
    from importlib import metadata

    for name in {"triton": ("triton", "pytorch-triton", "triton-windows")}.get(module, (module,)):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def log_names() -> List[str]:
    """The names TORCH_LOGS may carry here; an unknown one makes `import torch` fail."""
    try:
        internal = importlib.import_module("torch._logging._internal")
        registry = internal.log_registry
        names = set(registry.artifact_names)
    except (ImportError, AttributeError):  # before 2.0
        return []
    for field in ("log_alias_to_log_qnames", "log_alias_to_log_qname"):  # the second in 2.1
        names.update(getattr(registry, field, ()))
    return sorted(names)


def cpu_name() -> Optional[str]:
    """The processor's own name, from /proc/cpuinfo where there is one."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or None


def _cudnn() -> Optional[int]:
    import torch

    return _read(torch.backends.cudnn.version) if torch.cuda.is_available() else None


def _read(getter: Any) -> Any:
    try:
        return getter()
    except RuntimeError:  # 2.9 on raises where the old and the new TF32 settings were mixed
        return None
