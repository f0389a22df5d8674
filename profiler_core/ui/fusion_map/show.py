"""The fusion map on a page: markup of the server, and a small script that follows the pointer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from profiler_core.figures.fusion_drawing import Drawing
from profiler_core.figures.fusion_svg import fusion_svg
from profiler_core.markup import render

_HERE = Path(__file__).parent
_MAP = st.components.v2.component(
    "fusionscope_fusion_map",
    html="<div class=map></div>",
    css=(_HERE / "map.css").read_text("utf-8"),
    js=(_HERE / "map.js").read_text("utf-8"),
)


def draw_map(
    drawing: Drawing,
    *,
    key: str,
    alt: str,
    in_view: int = 0,
    on_pick: Callable[[int, int], None] | None = None,
) -> None:
    """Draw the map as wide as its place.

    Args:
        drawing: of all candidates.
        key: of the element.
        alt: what it shows, for whoever does not see it.
        in_view: the panel that is seen where there is no room for all.
        on_pick: told the position of a clicked group in its panel, and the panel.
    """
    palette = drawing.palette
    _MAP(
        key=key,
        data={
            "markup": str(render("page/fusion_map.html", map=fusion_svg(drawing), alt=alt)),
            "asks": on_pick is not None,
            "panel": in_view,
            "label": {
                "background": palette.raised,
                "borderColor": palette.line,
                "color": palette.ink,
            },
        },
        height=drawing.height_px,
        on_picked_change=lambda: _tell(key, on_pick),
    )


def _tell(key: str, on_pick: Callable[[int, int], None] | None) -> None:
    state = st.session_state.get(key)
    picked: Any = state.get("picked") if state is not None else None
    if on_pick is None or not isinstance(picked, list | tuple) or len(picked) != 2:
        return
    position, panel = picked
    if isinstance(position, int) and isinstance(panel, int):
        on_pick(position, panel)
