"""This machine's GPUs now: what they do and who uses them, anew every second."""

import os
import time
from collections import deque
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from profiler_core.analysis.rows.table import Table, text_row
from profiler_core.analysis.telemetry.clock_events import clock_events
from profiler_core.capture.telemetry.sources import Gpus, find_gpus
from profiler_core.figures.telemetry_live import telemetry_live
from profiler_core.ui.charts import show_figure
from profiler_core.ui.fragments import show_fragments
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.server import is_local_server
from profiler_core.ui.sign_in.guard import fragment
from profiler_core.ui.style import colors
from profiler_core.ui.table import show_table
from profiler_core.units import format_bytes

REFRESH_S = 1.0
KEPT_S = 120  # what the small chart shows


@dataclass
class History:
    """The last two minutes of every GPU: (epoch s, utilisation %, power W)."""

    rows: dict[int, deque[tuple[float, float | None, float | None]]] = field(default_factory=dict)

    def add(self, sample: dict[str, Any]) -> None:
        """Keep one sample; a second session that looks in the same second adds nothing."""
        rows = self.rows.setdefault(sample["gpu_index"], deque(maxlen=round(KEPT_S / REFRESH_S)))
        at = sample["t_ns"] / 1e9
        if not rows or at > rows[-1][0]:
            rows.append((at, sample["utilization_gpu_pct"], sample["power_w"]))


def show_live() -> None:
    """A section that refreshes by itself; one sentence where no GPU can be read."""
    section("This machine now")
    gpus = _gpus()
    if not gpus.devices:
        st.html(f"<p class=fs-note>{escape(gpus.reason)}</p>")
        return
    fragment(_look, run_every=REFRESH_S)()


def _look() -> None:
    samples = _samples()
    history = _history()
    for sample in samples:
        history.add(sample)
    facts = _facts()
    show_fragments(_card(sample, facts.get(sample["gpu_index"], {})) for sample in samples)
    for index, rows in sorted(history.rows.items()):
        if len(rows) > 1:
            show_figure(
                telemetry_live(list(rows), colors()),
                key=f"telemetry_live_{index}",
                alt=f"Utilisation and power of GPU {index} in the last two minutes.",
            )
    _show_processes(samples)


@st.cache_resource(ttl=60, show_spinner=False)
def _gpus() -> Gpus:
    return find_gpus()


@st.cache_resource(show_spinner=False)
def _history() -> History:
    return History()


@st.cache_resource(ttl=3600, show_spinner=False)
def _facts() -> dict[int, dict[str, Any]]:
    return {device.index: {"name": device.name, **device.facts()} for device in _gpus().devices}


# All sessions share one reading a second: NVML takes 8 ms a GPU.
@st.cache_data(ttl=REFRESH_S * 0.9, show_spinner=False)
def _samples() -> list[dict[str, Any]]:
    return [device.sample(time.time_ns()) for device in _gpus().devices]


def _card(sample: dict[str, Any], facts: dict[str, Any]) -> str:
    limit = facts.get("power_limit_w")
    power = _number(sample["power_w"], "W")
    values = [
        ("GPU busy", _number(sample["utilization_gpu_pct"], "%")),
        ("Power", f"{power} of {limit:.0f} W" if limit and power != "–" else power),
        ("SM clock", _number(sample["sm_clock_mhz"], "MHz")),
        ("Temperature", _number(sample["temperature_c"], "°C")),
        ("Memory in use", format_bytes(sample["memory_used_bytes"])),
        ("Clocks held back by", _reasons(sample["clocks_event_reasons"])),
    ]
    name = escape(str(facts.get("name") or "GPU"))
    cells = "".join(
        f"<span class=fs-variant><small>{escape(word)}</small>{escape(value)}</span>"
        for word, value in values
    )
    return (
        f"<p class=fs-card-head><b>GPU {sample['gpu_index']} · {name}</b></p>"
        f"<div class=fs-variants>{cells}</div>"
    )


def _reasons(mask: int | None) -> str:
    if mask is None:
        return "–"
    return ", ".join(event.name for event in clock_events([mask])) or "nothing"


def _number(value: float | None, unit: str) -> str:
    return "–" if value is None else f"{value:.0f} {unit}"


def _show_processes(samples: list[dict[str, Any]]) -> None:
    rows = tuple(
        text_row(
            str(sample["gpu_index"]),
            pid,
            process_name(int(pid), is_local=is_local_server()),
            format_bytes(memory),
        )
        for sample in samples
        for pid, memory in sorted((sample["process_memory_bytes"] or {}).items())
    )
    if rows:
        show_table(Table(("GPU", "Process", "Name", "Memory"), rows), "fs-told")
    else:
        show_notes(["No process computes on these GPUs."])


def process_name(pid: int, *, is_local: bool, proc: Path = Path("/proc")) -> str:
    """The program's name, never its command line; on a server for others only this user's own."""
    folder = proc / str(pid)
    try:
        if not is_local and folder.stat().st_uid != os.getuid():
            return "of another user"
        return (folder / "comm").read_text(errors="replace").strip() or "–"
    except OSError:
        return "not on this system"  # of another container, or gone
