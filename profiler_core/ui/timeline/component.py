"""The canvas as a Streamlit component: what goes in, and what it tells.

It tells its address whenever the user has changed something, numbered, with the revision of the
address that it had been given: what it told before a link or the back button led elsewhere has
an older revision and does not count.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from profiler_core.timeline.event import Event
from profiler_core.timeline.layout import TABLES
from profiler_core.ui.timeline.address import Address

_KEY = "fs_timeline"
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


@dataclass(frozen=True)
class Told:
    """The last thing that the canvas told."""

    number: int  # grows with each: ms of the browser's clock
    revision: int
    parameters: dict[str, str]  # as in the URL


def draw_canvas(
    scene: dict[str, Any], address: Address, picked: Picked | None, *, revision: int
) -> None:
    """Draw the timeline. The canvas takes the address over when the revision is a new one."""
    _CANVAS(
        key=_KEY,
        data={
            "scene": scene,
            "tables": TABLES,
            "address": address.parameters(),
            "revision": revision,
            "selected": None if picked is None else _selected(picked),
        },
        on_told_change=_nothing,
        on_expired_change=_nothing,  # a token has: the rerun alone brings a new one
    )


def last_told() -> Told | None:
    """What the canvas told last; None: nothing yet, or nothing that makes sense."""
    state = st.session_state.get(_KEY)
    message = state.get("told") if state is not None else None
    if not isinstance(message, dict):
        return None
    number, revision, parameters = (message.get(k) for k in ("number", "revision", "parameters"))
    if not isinstance(number, int) or not isinstance(revision, int):
        return None
    if not isinstance(parameters, dict):
        return None
    return Told(number, revision, {str(k): str(v) for k, v in parameters.items()})


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
    """A state exists for Python only if it has a callback."""
