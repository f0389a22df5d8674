"""How a capture measures: rounds, passes, further logs."""

from typing import Any

import streamlit as st

from profiler_core.capture import spec as defaults
from profiler_core.ui.capture.machine import Machine


def choose_measuring(machine: Machine | None) -> dict[str, Any]:
    """Draw the fields; returns fields of CaptureSpec by name.

    Args:
        machine: what it can capture; None: not known yet.
    """
    first, second = st.columns(2)
    fresh = defaults.CaptureSpec(workload="defaults")
    said: dict[str, Any] = {}
    for column, name, label, step in (
        (first, "rounds", "Rounds", 1),
        (second, "round_steps", "Steps a round", 1),
        (first, "round_seconds", "Seconds a round", 0.1),
        (second, "telemetry_seconds", "Seconds sampled", 0.5),
        (first, "steps", "Profiled steps", 1),
        (second, "seed", "Seed", 1),
    ):
        least = type(step)(0) if name in ("round_seconds", "telemetry_seconds", "seed") else 1
        said[name] = column.number_input(
            label,
            min_value=least,
            value=getattr(fresh, name),
            step=step,
            key=f"fs_c_{name}",
            persist_state="session",
        )
    for name, label, about in (
        ("warm_compile", "Warm compile time", "A second process with the compiler's cache filled."),
        ("numerics", "Check the answers", "Against an eager reference in fp64."),
        ("memory", "Memory snapshot", "What was allocated, and where, in one step."),
        ("stacks", "Python stacks", "A further pass; its times are not used."),
    ):
        said[name] = st.checkbox(
            label,
            value=getattr(fresh, name),
            key=f"fs_c_{name}",
            help=about,
            persist_state="session",
        )
    said["counters"] = _counters(machine)
    said["logs"] = tuple(
        st.multiselect(
            "Further logs",
            list(defaults.OPTIONAL_LOGS),
            key="fs_c_logs",
            placeholder="none",
            help="Breaks, recompiles and CUDA graphs are always logged. These are large: "
            + "; ".join(f"{name}, {about}" for name, about in defaults.OPTIONAL_LOGS.items())
            + ".",
            persist_state="session",
        )
    )
    return said


def _counters(machine: Machine | None) -> bool:
    """The pass under Nsight Compute, where this machine can; else why it cannot."""
    missing = machine.counters_missing if machine else None
    wanted = st.checkbox(
        "Hardware counters",
        key="fs_c_counters",
        disabled=missing is not None,
        help=missing
        or "What each kernel moves through DRAM and L2, measured by Nsight Compute in a process "
        "of its own: about 0.3 s a kernel.",
        persist_state="session",
    )
    return wanted and missing is None
