"""Colours of the timeline's categories: the kernels' from the theme, the host's beside them.

The host's calls stay in quiet tones, so that the eye goes to the device; launches and waits,
which explain idle time, stand out. Legend order is stack order.
"""

from dataclasses import dataclass

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.wording.sentence import capitalised
from profiler_core.figures.theme import palette
from profiler_core.timeline.host_categories import HOST_CATEGORIES

_HOST = {
    #                  light      dark
    "host_step": ("#E3E6EB", "#2B303A"),
    "host_region": ("#BFCBF7", "#37457F"),
    "host_op": ("#C9CFD9", "#454C59"),
    "host_launch": ("#8292AB", "#8796B0"),
    "host_wait": ("#E8A06B", "#B9702F"),
    "host_runtime": ("#B9B3A6", "#6B655A"),
    "host_annotation": ("#DDD6F3", "#4A4368"),
    "host_python": ("#D8E2DC", "#3A4641"),
}


@dataclass(frozen=True)
class LegendEntry:
    """One category as it is drawn and named."""

    key: str
    label: str
    fill: str  # "#RRGGBB"
    ink: str  # of text on the fill
    host: bool  # of the host, not of the device


def legend(present: set[str], *, dark: bool) -> tuple[LegendEntry, ...]:
    """The categories that occur, device first, in the order of every other page."""
    colours = palette(dark=dark)
    entries = [
        LegendEntry(
            key, _capitalised(label), fill := colours.category(key), colours.on(fill), False
        )
        for key, label in CATEGORIES.items()
        if key in present
    ]
    for key, label in HOST_CATEGORIES.items():
        if key in present:
            fill = _HOST[key][dark]
            entries.append(LegendEntry(key, label, fill, colours.on(fill), True))
    return tuple(entries)


def _capitalised(text: str) -> str:
    return capitalised(text)
