"""The canvas as a Streamlit component: what goes in; that something changed comes back.

What the user chose is in the URL, which the canvas writes before it asks for a rerun.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from profiler_core.timeline.event import Event
from profiler_core.timeline.layout import TABLES

_HERE = Path(__file__).parent
_CANVAS = st.components.v2.component(
    "fusionscope_timeline",
    html=(_HERE / "timeline.html").read_text("utf-8"),
    css=(_HERE / "timeline.css").read_text("utf-8"),
    js=(_HERE / "loader.js").read_text("utf-8"),
)


@dataclass(frozen=True)
class Picked:
    """The selected event and the number of the run that it is of: 0 is the baseline."""

    run: int
    event: Event


def draw_canvas(scene: dict[str, Any], picked: Picked | None) -> None:
    """Draw the timeline. A click, a measured span or an expired token causes a rerun."""
    _CANVAS(
        key="fs_timeline",
        data={
            "scene": scene,
            "tables": TABLES,
            "selected": None if picked is None else _selected(picked),
        },
        on_changed_change=_nothing,
    )


def _selected(picked: Picked) -> dict[str, Any]:
    event = picked.event
    return {
        "run": picked.run,
        "table": TABLES.index(event.table),
        "row": event.row,
        "name": event.name,
        "lane": event.lane,
        "ts_ns": event.ts_ns,
        "dur_ns": event.dur_ns,
        "links": [[k.from_lane, k.from_ns, k.to_lane, k.to_ns] for k in event.links],
    }


def _nothing() -> None:
    """The trigger exists for Python only if it has a callback."""
