"""The part of the capture form that asks for several values of one option."""

from typing import Any

import streamlit as st

from profiler_core.capture.sweep.parameters import PARAMETERS
from profiler_core.ui.capture.option_field import OPTIONS

_ONCE = ""
OPTION = "option."


def sweep_field() -> dict[str, Any]:
    """Ask which option gets several values, and for these; fields of `Answers`."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = st.selectbox(
            OPTIONS["sweep"].label,
            [_ONCE, *PARAMETERS, OPTION],
            format_func=_label,
            key="fs_c_sweep",
            width=190,
            help=f"A sweep: {OPTIONS['sweep'].about.help}. The field of the option itself stays "
            "empty.",
            persist_state="session",
        )
        if not name:
            return {}
        values = st.text_input(
            "Values",
            key="fs_c_sweep_values",
            placeholder=_example(name),
            width=330,
            help="Comma-separated. What fails at one value (out of memory, say) is kept as such, "
            "and the next one is tried.",
            persist_state="session",
        )
    # The argument's own name is typed in front of its values: layers=2,4,8.
    key, equals, rest = (values or "").partition("=")
    if name == OPTION and equals:
        return {"sweep": OPTION + key.strip(), "sweep_values": rest}
    return {"sweep": name, "sweep_values": values or ""}


def _label(name: str) -> str:
    if name == _ONCE:
        return "no, once"
    return "argument of the workload" if name == OPTION else PARAMETERS[name].label


def _example(name: str) -> str:
    return "layers=2,4,8" if name == OPTION else PARAMETERS[name].example
