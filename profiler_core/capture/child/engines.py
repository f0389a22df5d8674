"""What the engine of this variant's backend did, and what the backend needs of step and model.

Some backends fall back silently, so what ran is counted, and a variant whose engine never ran is
refused. Which backend does what is declared in `backends/`.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, Dict, List, Optional

from . import engine_calls, installed
from .backends import declared
from .engine_calls import RAN
from .failures import CannotRunError


def watched(name: str, options: Optional[Dict[str, Any]] = None) -> Any:
    """The backend for torch.compile: its name where torch brings it, else wrapped.

    Args:
        name: registered in this interpreter.
        options: what it will be given; kept for `facts`.
    """
    registry = importlib.import_module("torch._dynamo.backends.registry")
    original = registry.lookup_backend(name)
    backend = declared(name)
    if (backend is None or backend.package is None) and _is_torchs(original):
        return name
    RAN.backend = name
    RAN.options = {key: repr(value) for key, value in (options or {}).items()}
    if backend is None:
        around = engine_calls.counted(name, is_known=False)
        return engine_calls.ranged(name, original, around)
    return backend.set_up(name, original)


def facts() -> Optional[Dict[str, Any]]:
    """`engine` of run.json's measurement; None where the backend is torch's own."""
    if RAN.backend is None:
        return None
    return {
        "backend": RAN.backend,
        "version": installed.version(RAN.backend),
        "options": dict(RAN.options),
        "n_graphs": RAN.n_graphs,
        "n_calls": RAN.n_calls,
        "n_fell_back": RAN.n_failed,
        "reasons": list(RAN.reasons),
        "precision": RAN.precision,
    }


def check_ran() -> None:
    """Refuse a run whose engine was never called, since its label would be false.

    Raises:
        CannotRunError: after the first call, when the engine was never called.
    """
    if RAN.backend is None or not RAN.counts or RAN.n_calls:
        return
    why = "; ".join(RAN.reasons) or "it gave no reason"
    remedy = "Try it with +static, another model or precision, or leave it out."
    raise CannotRunError(
        "{} ran no part of the model: all of it fell back to another compiler or to eager "
        "({}).".format(RAN.backend, why),
        remedy,
    )


def device_for(name: Optional[str], device: Any) -> Any:
    """The device that model and inputs of a variant with this backend must be on."""
    backend = declared(name)
    return device if backend is None else backend.device(str(name), device)


def end_of_step(name: Optional[str], training: bool) -> Callable[[], Any]:
    """What a step of a variant with this backend ends with."""
    backend = declared(name)
    return _nothing if backend is None else backend.end_of_step(str(name), training)


def draws_otherwise(name: Optional[str]) -> bool:
    """Has the backend a random generator of its own, so that dropout differs from eager's?"""
    backend = declared(name)
    return backend is not None and backend.draws_otherwise


def rounding(name: Optional[str], precision: str) -> List[str]:
    """Sentences on why an output may differ although the engine works as configured."""
    backend = declared(name)
    return [] if backend is None else backend.rounding(precision)


def remedy(name: Optional[str], training: bool) -> Optional[str]:
    """The remedy where the backend's own compiler failed; None: there is none."""
    backend = declared(name)
    return None if backend is None else backend.remedy(training)


def _nothing() -> None:
    pass


def _is_torchs(backend: Any) -> bool:
    return str(getattr(backend, "__module__", "")).split(".")[0] in ("torch", "functorch")
