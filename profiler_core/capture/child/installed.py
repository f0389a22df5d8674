"""Which declared backends this interpreter has, and their options as they take them."""

from __future__ import annotations

import importlib
from typing import Any, Dict, List, Optional

from .backends import BACKENDS, declared
from .failures import CannotRunError


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
    backend = declared(name)
    remedy = (
        "Install {}.".format(backend.package.install)
        if backend is not None and backend.package is not None
        else "Use one of: {}.".format(", ".join(filter(_is_torchs, known_backends())))
    )
    raise CannotRunError(
        "torch.compile has no backend '{}' in this interpreter{}.".format(
            name, ": " + missing if missing else ""
        ),
        remedy,
    )


def problem(name: str, device_type: str = "cpu") -> Optional[str]:
    """Why a backend cannot be used, "" for a plain absence; None: it can."""
    backend = declared(name)
    package = backend.package if backend is not None else None
    if backend is not None and package is not None:
        try:
            backend.load(device_type)
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


def engines() -> Dict[str, Dict[str, Optional[str]]]:
    """Backends of other packages: version here, or why it cannot be used and what to install."""
    answer: Dict[str, Dict[str, Optional[str]]] = {}
    for backend in BACKENDS:
        if not backend.has_line or backend.package is None:
            continue
        why = problem(backend.name)
        answer[backend.name] = {
            "version": version(backend.name),
            "problem": why,
            "install": None if why is None else backend.package.install,
        }
    return answer


def version(name: str) -> Optional[str]:
    """Of the package that a backend is from, as far as it says it."""
    from .environment import version_of

    backend = declared(name)
    if backend is None or backend.package is None:
        return None
    return version_of(backend.package.distribution)


def options_for(name: Optional[str], options: Dict[str, Any]) -> Dict[str, Any]:
    """The variant's options as the backend takes them: "torch.float16" becomes the dtype."""
    backend = declared(name)
    if backend is None:
        return {key: _value(value) for key, value in options.items()}
    with_defaults = {**backend.defaults, **options}
    return backend.converted({key: _value(value) for key, value in with_defaults.items()})


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
                "Option value '{}' is not a torch dtype.".format(value),
                "Write it like torch.float16.",
            )
        return dtype
    return value


def _is_torchs(name: str) -> bool:
    backend = declared(name)
    return backend is None or backend.package is None


def _parents(module: str) -> List[str]:
    parts = module.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
