"""How a capture measures: rounds, passes, further logs, and every option without another place."""

from typing import Any

import streamlit as st

from profiler_core.ui.capture.machine import Machine
from profiler_core.ui.capture.option_field import OPTIONS, option_field

# Drawn by the form and by the field of a sweep.
_ELSEWHERE = {
    *("workload", "variants", "device", "python", "directory", "name"),
    *("training", "compile_target", "batch_size", "shapes", "options", "sweep"),
}
_FIRST = (
    *("rounds", "round_steps", "round_seconds", "telemetry_seconds", "steps", "seed"),
    *("warm_compile", "numerics", "memory", "stacks", "counters", "logs"),
)


def choose_measuring(machine: Machine | None) -> dict[str, Any]:
    """Draw the fields; what was chosen by the name of the field of CaptureSpec.

    Args:
        machine: what it can capture; None: not known yet.
    """
    further = (
        name
        for name, entry in OPTIONS.items()
        if entry.about.on_page and name not in {*_ELSEWHERE, *_FIRST}
    )
    columns = st.columns(2)
    below = st.container()
    chosen: dict[str, Any] = {}
    n_numbers = 0
    for name in (*_FIRST, *further):
        if name == "counters":
            chosen[name] = _counters(below, machine)
        elif OPTIONS[name].kind in ("number", "whole number"):
            chosen[name] = option_field(name, columns[n_numbers % 2])
            n_numbers += 1
        else:
            chosen[name] = option_field(name, below)
    return chosen


def _counters(inside: Any, machine: Machine | None) -> bool:
    """The pass under Nsight Compute, where this machine can; else why it cannot."""
    missing = machine.counters_missing if machine else None
    if missing is None:
        return bool(option_field("counters", inside))
    option_field("counters", inside, disabled=True, help=missing)
    return False
