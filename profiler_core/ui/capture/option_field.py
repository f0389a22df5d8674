"""The field of one declared option: its label, help, default, choices and bounds."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profiler_core.capture.option import declared
from profiler_core.capture.spec import CaptureSpec

OPTIONS = declared(CaptureSpec)


def option_field(name: str, inside: DeltaGenerator | None = None, **layout: Any) -> Any:
    """Draw it; what was chosen, or typed as text where `Declared.value` has yet to read it.

    Args:
        name: of the field of CaptureSpec.
        inside: where it is drawn; None: here.
        layout: further arguments of the widget (width, disabled …), or other ones than declared.
    """
    entry = OPTIONS[name]
    column = inside if inside is not None else st
    common = {
        "label": entry.label,
        "key": f"fs_c_{name}",
        "help": entry.sentence,
        "persist_state": "session",
    }
    if entry.kind == "switch":
        return column.checkbox(**{**common, "value": entry.default, **layout})
    common["placeholder"] = entry.about.placeholder
    if entry.kind in ("whole number", "number"):
        number = int if entry.kind == "whole number" else float
        bounds = {
            "min_value": None if entry.about.least is None else number(entry.about.least),
            "max_value": None if entry.about.most is None else number(entry.about.most),
            "value": entry.default,
            "step": entry.about.step or number(1),
        }
        return column.number_input(**{**common, **bounds, **layout})
    if entry.kind == "choices":
        return tuple(
            column.multiselect(**{**common, "options": list(entry.about.choices or ()), **layout})
        )
    if entry.kind == "texts":
        common["help"] = f"{entry.sentence} One on each line."
        return column.text_area(**{**common, "height": 68, **layout}) or ""
    return column.text_input(**{**common, **layout}) or ""
