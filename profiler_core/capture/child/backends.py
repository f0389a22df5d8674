"""Backends of torch.compile from other packages: what each needs, its words, is it there.

Tried on 2026-11-21: openvino 2026.4.1 with torch 2.15.0, torch_xla 2.9.0 with torch 2.9.0.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Dict, List, NamedTuple, Optional

from .failures import CannotRunError


class Package(NamedTuple):
    """What a backend needs beside torch.

    module: imported first; it registers the backend, or torch's own entry imports it later.
    distribution: whose version is told.
    install: the end of the sentence "Install …".
    options: given to it where the variant does not say otherwise.
    """

    module: str
    distribution: str
    install: str
    options: Optional[Dict[str, Any]] = None


_XLA = Package(
    "torch_xla",
    "torch_xla",
    "torch_xla of the same version as torch (2.9 is the last one) into an environment of its own, "
    "and pass its --python",
)
_TENSORRT = Package(
    "torch_tensorrt",
    "torch-tensorrt",
    "torch-tensorrt of the same version as torch, which needs an NVIDIA GPU",
)

PACKAGES: Dict[str, Package] = {
    # Without AOTAutograd it traces the graph a second time in Dynamo's own context; torch 2.15 then
    # guards on names that are not there ("name 'input1' is not defined") and fails.
    "openvino": Package("openvino.torch", "openvino", "openvino", {"aot_autograd": True}),
    "openxla": _XLA,
    "openxla_eval": _XLA,
    "tensorrt": _TENSORRT,
    "torch_tensorrt": _TENSORRT,
    "onnxrt": Package(
        "onnxruntime",
        "onnxruntime",
        "onnxruntime, onnx and onnxscript beside torch 2.8 or older: torch 2.9 dropped it",
    ),
    "tvm": Package("tvm", "apache-tvm", "apache-tvm"),
    "ipex": Package(
        "intel_extension_for_pytorch", "intel-extension-for-pytorch", "intel-extension-for-pytorch"
    ),
    "hpu_backend": Package(
        "habana_frameworks.torch", "habana-torch-plugin", "habana-torch-plugin"
    ),
}  # fmt: skip


def known_backends() -> List[str]:
    """What `torch.compile(backend=…)` takes here, debugging backends included.

    Those of other packages are among them once these are imported.
    """
    dynamo = importlib.import_module("torch._dynamo")
    return list(dynamo.list_backends(None))


def check_backend(name: Optional[str], device_type: str = "cpu") -> None:
    """Import what registers the backend.

    Raises:
        CannotRunError: it is not here; says what to install.
    """
    if name in (None, "inductor"):
        return
    missing = problem(str(name), device_type)
    if missing is None:
        return
    package = PACKAGES.get(str(name))
    remedy = (
        "Install {}.".format(package.install)
        if package is not None
        else "Use one of: {}.".format(
            ", ".join(known for known in known_backends() if known not in PACKAGES)
        )
    )
    raise CannotRunError(
        "torch.compile has no backend '{}' in this interpreter{}.".format(
            name, ": " + missing if missing else ""
        ),
        remedy,
    )


def problem(name: str, device_type: str = "cpu") -> Optional[str]:
    """Why a backend cannot be used, "" for a plain absence; None: it can."""
    package = PACKAGES.get(name)
    if package is not None:
        if package is _XLA:
            # Asked for before torch_xla looks for a TPU by itself.
            os.environ.setdefault("PJRT_DEVICE", "CUDA" if device_type == "cuda" else "CPU")
        try:
            importlib.import_module(package.module)
        except ModuleNotFoundError as error:
            if str(error.name or "") in _parents(package.module):
                return ""
            return "{} cannot be imported: {}".format(package.module, _line(error))
        except Exception as error:  # a package for another torch fails in ways of its own
            return "{} cannot be imported: {}".format(package.module, _line(error))
    if name in known_backends():
        return None
    if package is None:
        return ""
    return "{} is imported, but registers none of this name".format(package.module)


def remedy(name: Optional[str], training: bool) -> Optional[str]:
    """What to do where a backend's own compiler failed; None: nothing is known."""
    if name == "openvino" and training:
        # 2026.4: "ConvolutionBackward0 returned an invalid gradient" from its decompositions.
        return "Leave --training out: openvino is made for inference."
    return None


def found() -> Dict[str, Dict[str, Optional[str]]]:
    """Backends of other packages: version here, or why it cannot be used and what to install."""
    answer: Dict[str, Dict[str, Optional[str]]] = {}
    for name in ("openvino", "openxla", "tensorrt", "onnxrt", "tvm"):
        why = problem(name)
        answer[name] = {
            "version": version(name),
            "problem": why,
            "install": None if why is None else PACKAGES[name].install,
        }
    return answer


def version(name: str) -> Optional[str]:
    """Of the package that a backend is from, as far as it says it."""
    from .environment import version_of

    package = PACKAGES.get(name)
    return version_of(package.distribution) if package is not None else None


def options_for(name: Optional[str], options: Dict[str, Any]) -> Dict[str, Any]:
    """The variant's options as the backend takes them: "torch.float16" becomes the dtype."""
    package = PACKAGES.get(str(name))
    given = {**((package.options if package is not None else None) or {}), **options}
    converted = {key: _value(value) for key, value in given.items()}
    if name in ("tensorrt", "torch_tensorrt") and "enabled_precisions" in converted:
        wanted = converted["enabled_precisions"]
        converted["enabled_precisions"] = set(wanted if isinstance(wanted, list) else [wanted])
    return converted


def _value(value: Any) -> Any:
    import torch

    if isinstance(value, dict):
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, str) and value.startswith("torch."):
        dtype = getattr(torch, value[len("torch.") :], None)
        if not isinstance(dtype, torch.dtype):
            raise CannotRunError(
                "Option value '{}' is no dtype of torch.".format(value),
                "Write it like torch.float16.",
            )
        return dtype
    return value


def _parents(module: str) -> List[str]:
    parts = module.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
