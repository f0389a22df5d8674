"""The environment variables that a child gets: logs, structured trace, cache folders.

Traps, all seen: an empty TORCH_LOGS or an unknown name in it makes `import torch` raise (2.1 to
2.13); TORCH_LOGS_FORMAT destroys the prefix by which a log is read; TORCH_LOGS_OUT doubles it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

# Wanted, in this order; each only where the target interpreter knows the name.
_WANTED_LOGS = ("recompiles", "graph_breaks", "perf_hints", "cudagraphs", "dynamic")
_WANTED_VERBOSE = ("recompiles_verbose",)
_IN_FULL = ("recompiles", "recompiles_verbose")  # with a plus

# Further ones, on request only: each makes the log of a large model many times longer.
OPTIONAL_LOGS: dict[str, str] = {
    "fusion": "why Inductor did not fuse two nodes",
    "output_code": "the generated code, in the text log too",
    "guards": "every guard of every compilation",
    "schedule": "Inductor's order of the kernels",
    "post_grad_graphs": "the graphs that Inductor gets",
}

# Variables of the user's shell that a capture must not inherit.
_REMOVED = (
    "TORCH_LOGS",
    "TORCH_LOGS_FORMAT",
    "TORCH_LOGS_OUT",
    "TORCH_LOGS_TRACE_ID_FILTER",
    "TORCH_TRACE",
    "TORCH_COMPILE_DEBUG",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "FUSIONSCOPE_TOKEN",  # of CI, to push what was captured: not for the code that is captured
)

# Every process of a capture carries this variable: by it the launcher finds whatever a child
# started, even where that process left the child's session.
MARKER = "FUSIONSCOPE_CHILD"


def wanted_logs(known_logs: tuple[str, ...], further: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What is collected of the names that a torch knows."""
    return tuple(n for n in (*_WANTED_LOGS, *_WANTED_VERBOSE, *further) if n in known_logs)


def torch_logs(known_logs: tuple[str, ...], further: tuple[str, ...] = ()) -> str | None:
    """The value of TORCH_LOGS for an interpreter that knows these names; None: do not set it."""
    log_names = [f"+{n}" if n in _IN_FULL else n for n in wanted_logs(known_logs, further)]
    return ",".join(log_names) or None


def child_environment(
    known_logs: tuple[str, ...],
    cache: Path,
    torch_trace: Path | None,
    inherited: Mapping[str, str] = os.environ,
    further_logs: tuple[str, ...] = (),
) -> dict[str, str]:
    """The whole environment of one child.

    Args:
        known_logs: what TORCH_LOGS may name in that interpreter.
        cache: a folder for inductor's and Triton's caches; empty for a cold compilation.
        torch_trace: where the structured log goes; None leaves it out.
        inherited: what the launcher has itself.
        further_logs: names of OPTIONAL_LOGS; left out where the interpreter does not know them.
    """
    variables = {key: value for key, value in inherited.items() if key not in _REMOVED}
    variables["PYTHONUNBUFFERED"] = "1"  # what the user prints is on disk when the child is killed
    variables["TORCHINDUCTOR_CACHE_DIR"] = str(cache / "inductor")
    variables["TRITON_CACHE_DIR"] = str(cache / "triton")
    if torch_trace is not None:
        variables["TORCH_TRACE"] = str(torch_trace)  # 2.3 on, unknown before
        variables["INDUCTOR_PROVENANCE"] = "1"  # kernel -> source line, 2.8 on
        logs = torch_logs(known_logs, further_logs)
        if logs is not None:
            variables["TORCH_LOGS"] = logs
    return variables
