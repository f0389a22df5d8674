"""What the compiler of this process is asked to do while a Recorder runs, and what it counted.

Nothing here imports the compiler: in an eager script that alone would take seconds.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from profiler_core.capture.child.compiled_parts import n_compilations, n_frames

# (where it stands in torch._inductor.config, its variable, its value): Inductor's C++ kernels in
# the trace of a CPU (docs/measuring.md), and from which operators a kernel was made.
_SETTINGS: Tuple[Tuple[str, str, Any], ...] = (
    ("cpp.enable_kernel_profile", "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE", True),
    ("trace.provenance_tracking_level", "INDUCTOR_PROVENANCE", 1),
)


class InductorSettings:
    """Sets Inductor options that the recording needs.

    In torch._inductor.config where that is loaded, else as environment variables that it reads.
    """

    def __init__(self) -> None:
        self._attributes: List[Tuple[str, Any]] = []
        self._variables: List[Tuple[str, str]] = []

    def set(self) -> None:
        """Switch them on; options that the user has switched on are not touched."""
        config = sys.modules.get("torch._inductor.config")
        for path, variable, value in _SETTINGS:
            if config is not None:
                part, name = path.split(".")
                holder = getattr(config, part, None)
                before = getattr(holder, name, None)
                if before is not None and not before:
                    setattr(holder, name, value)
                    self._attributes.append((path, before))
            elif variable not in os.environ:
                os.environ[variable] = "1"
                self._variables.append((variable, path))

    def undo(self) -> None:
        """Restore the values from before `set`."""
        config = sys.modules.get("torch._inductor.config")
        for path, before in self._attributes:
            _put(config, path, before)
        for variable, path in self._variables:
            os.environ.pop(variable, None)
            if config is not None:  # it was loaded meanwhile, with our value
                _put(config, path, 0 if path.startswith("trace.") else False)
        self._attributes, self._variables = [], []


def _put(config: Any, path: str, value: Any) -> None:
    part, name = path.split(".")
    holder = getattr(config, part, None)
    if hasattr(holder, name):
        setattr(holder, name, value)


class Counts(NamedTuple):
    """What Dynamo and Inductor counted in this process so far."""

    compilations: int = 0
    frames: int = 0
    cache_hits: int = 0
    cache_misses: int = 0


def counts() -> Counts:
    """Compilations, cache hits and cache misses so far; zeros where the compiler is not loaded."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is None:
        return Counts()
    inductor: Dict[str, int] = dynamo.counters["inductor"]
    return Counts(
        n_compilations(),
        n_frames(),
        inductor.get("fxgraph_cache_hit", 0),
        inductor.get("fxgraph_cache_miss", 0),
    )


def did_compile(before: Counts, after: Counts) -> Optional[bool]:
    """Whether torch.compile compiled between the two; None: unknown, compiled code may have run."""
    if after.compilations > before.compilations:
        return True
    return None if after.compilations else False
