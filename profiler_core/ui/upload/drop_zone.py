"""The drop zone as a function: draws it, and returns what arrived whole."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from profiler_core.ingest.kinds import accepted_sentence
from profiler_core.settings import settings
from profiler_core.store.incoming import MOST_FILES
from profiler_core.ui.routes.signing import signed
from profiler_core.ui.upload.route import SCOPE

_HERE = Path(__file__).parent

_component = st.components.v2.component(
    "fusionscope_drop_zone",
    html=(_HERE / "drop_zone.html").read_text("utf-8"),
    css=(_HERE / "drop_zone.css").read_text("utf-8"),
    js=(_HERE / "drop_zone.js").read_text("utf-8"),
)


@dataclass(frozen=True)
class Arrived:
    """Files that were received whole, by their places in the upload."""

    upload_id: str
    places: tuple[int, ...]


def drop_zone(upload_id: str, *, key: str) -> Arrived | None:
    """Draw the zone for this upload. Not None in the one run after the user pressed Open."""
    result = _component(
        key=key,
        data={
            "upload_id": upload_id,
            "token": signed(SCOPE, upload_id),
            "largest_bytes": settings().largest_upload_bytes,
            "most_files": MOST_FILES,
            "kinds": accepted_sentence(),
        },
        on_done_change=lambda: None,
    )
    return _arrived(result.done, upload_id)


def _arrived(message: Any, upload_id: str) -> Arrived | None:
    """What the browser says is input: it may only speak of its own upload."""
    if not isinstance(message, dict) or message.get("upload_id") != upload_id:
        return None
    numbers = message.get("places")
    if not isinstance(numbers, list):
        return None
    return Arrived(upload_id, tuple(p for p in numbers if isinstance(p, int)))
