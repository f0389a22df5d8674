"""A field for the options of each chosen backend that takes some."""

import streamlit as st

from profiler_core.capture.backend_options import OPTIONS


def backend_fields(bases: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Draw them; (base, what was typed) of each."""
    return tuple(
        (
            base,
            st.text_input(
                f"Options of {base}",
                key=f"fs_c_options_{base}",
                placeholder=_example(base),
                help=_help(base),
                persist_state="session",
            )
            or "",
        )
        for base in bases
        if base in OPTIONS
    )


def _example(base: str) -> str:
    if base == "openvino":
        return "config.INFERENCE_PRECISION_HINT=f32"
    first = OPTIONS[base][0]
    return f"{first.key}={first.example}"


def _help(base: str) -> str:
    lines = [
        f"- `{option.key}{'NAME' if option.key.endswith('.') else ''}={option.example}`: "
        f"{option.about}"
        for option in OPTIONS[base]
    ]
    return "KEY=VALUE, parted by spaces; values of a list by colons.\n" + "\n".join(lines)
