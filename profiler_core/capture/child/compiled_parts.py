"""What the user's own code compiles: modules of the model, and how often Dynamo compiled.

Nothing here imports the compiler: in an eager process that alone would take seconds.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional

_MOST_NAMES = 50  # in run.json; their number is exact


def n_compilations() -> int:
    """A number that grows with each frame that Dynamo compiles; 0 where it is not loaded."""
    counters = _counters()
    if counters is None:
        return 0
    return int(sum(counters["frames"].values()) + sum(counters["stats"].values()))


def n_frames() -> int:
    """How many frames Dynamo has compiled into code in this process; 0 where it is not loaded."""
    counters = _counters()
    return 0 if counters is None else int(counters["frames"].get("ok", 0))


def compiled_by_script(target: Any, n_frames_before: int) -> Optional[Dict[str, Any]]:
    """What of a step that the capture does not compile ran compiled.

    Args:
        target: the user's model, or the user's own step; None where neither is at hand.
        n_frames_before: what `n_frames` said before the first step.

    Returns:
        The keys of `model.run.CompiledByScript`; None: no step compiled anything, and no part of
        the target was compiled before, so that it is eager whatever is wrapped for compiling.
    """
    names = _compiled_modules(target)
    is_whole = "" in names or _is_compiled_function(target)
    n_compiled = n_frames()
    if not n_compiled or (n_compiled == n_frames_before and not names and not is_whole):
        return None
    return {
        "n_frames": n_compiled,
        "n_modules": len(names),
        "modules": names[:_MOST_NAMES],
        "is_whole": is_whole,
    }


def _counters() -> Any:
    dynamo = sys.modules.get("torch._dynamo.utils")
    return getattr(dynamo, "counters", None)


def _compiled_modules(target: Any) -> List[str]:
    """Names of the modules that are compiled, outermost only; "" is the model itself."""
    named_modules = getattr(target, "named_modules", None)
    names: List[str] = []
    for name, module in named_modules() if named_modules is not None else ():
        # What is inside a compiled module is compiled with it.
        if any(outer == "" or name.startswith(outer + ".") for outer in names):
            continue
        # `torch.compile(module)` wraps it; `module.compile()` sets the attribute (2.2 on).
        if type(module).__name__ == "OptimizedModule" or (
            getattr(module, "_compiled_call_impl", None) is not None
        ):
            names.append(name)
    return names


def _is_compiled_function(target: Any) -> bool:
    return getattr(target, "_torchdynamo_orig_callable", None) is not None and not hasattr(
        target, "named_modules"
    )
