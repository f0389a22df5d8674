"""A field for the options of each chosen backend that takes some."""

import streamlit as st

from profiler_core.capture.child.backends import BY_NAME


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
        if base in BY_NAME and BY_NAME[base].options
    )


def _example(base: str) -> str:
    backend = BY_NAME[base]
    first = backend.options[0]
    return backend.example or f"{first.shown_key}={first.example}"


def _help(base: str) -> str:
    lines = [
        f"- `{option.shown_key}={option.example}` ({option.kind}): {option.about}"
        for option in BY_NAME[base].options
    ]
    return "KEY=VALUE, separated by spaces; values of a list by colons.\n" + "\n".join(lines)
