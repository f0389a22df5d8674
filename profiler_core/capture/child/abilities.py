"""What this torch supports of a capture; each is tested, not derived from the version."""

from __future__ import annotations

import importlib
import inspect
from typing import Any, Dict, Optional

from .failures import CannotRunError
from .parallel import fully_shard


def abilities() -> Dict[str, Any]:
    """Feature -> True, False or the reason why not; imports Dynamo, which takes seconds."""
    import torch

    return {
        "compile_error": _compile_error(),
        "kineto": bool(torch.profiler.kineto_available()),
        "cuda_trace": torch.profiler.ProfilerActivity.CUDA in torch.profiler.supported_activities(),
        "structured_log": _has("torch._logging._internal", "trace_structured"),
        "provenance": _has("torch._inductor.config", "trace.provenance_tracking_level")
        or _has("torch._inductor.config", "trace.provenance_tracking"),
        "cpu_kernel_names": _has("torch._inductor.config", "cpp.enable_kernel_profile"),
        "graph_cache": _has("torch._inductor.config", "fx_graph_cache"),
        "memory_history": _memory_history(),
        "distributed": bool(torch.distributed.is_available()),
        "fully_shard": _fully_shard(),
    }


def torchvision() -> Dict[str, Any]:
    """The classification models of torchvision, and the error where it cannot be imported.

    problem is None where torchvision works or is not installed.
    """
    try:
        models: Any = importlib.import_module("torchvision.models")
        names = models.list_models(module=models)
    except ImportError as error:
        absent = error.name == "torchvision"
        return {"models": [], "problem": None if absent else _first_line(error)}
    except Exception as error:  # built for another torch, it raises whatever it meets first
        return {"models": [], "problem": _first_line(error)}
    return {"models": sorted(names), "problem": None}


def _first_line(error: Exception) -> str:
    text = (str(error).splitlines() or [""])[0].rstrip(".")
    return "{}: {}".format(type(error).__name__, text)


def _compile_error() -> Optional[str]:
    """Why torch.compile refuses this Python or this system; None where it does not."""
    try:
        frame = importlib.import_module("torch._dynamo.eval_frame")
        frame.check_if_dynamo_supported()
    except Exception as error:  # an import of Dynamo may fail in any way; it is the answer
        return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return None


def _has(module: str, path: str) -> bool:
    try:
        value = importlib.import_module(module)
        for name in path.split("."):
            value = getattr(value, name)
    except (ImportError, AttributeError):
        return False
    return True


def _memory_history() -> bool:
    """Are Python's frames alone kept on demand? Since 2.1; to name C++ ones takes minutes."""
    record = getattr(importlib.import_module("torch.cuda.memory"), "_record_memory_history", None)
    return record is not None and "stacks" in inspect.signature(record).parameters


def _fully_shard() -> bool:
    try:
        fully_shard()
    except CannotRunError:
        return False
    return True
