"""The style rules of the page of sweeps."""

import streamlit as st


def write_sweep_style() -> None:
    """Put the rules into the page; once a run."""
    st.html(f"<style>{_RULES}</style>")


# Two pictures in a row where both have room, else one below the other.
_RULES = """
[class*=st-key-fs_sweep_cell_] { flex:1 1 420px; min-width:min(420px,100%); }
[class*=st-key-fs_sweep_row_] { flex-wrap:wrap; }
.fs-sweep td:first-child a { font-size:14px; }
.fs-t.fs-sweep th:nth-child(2), .fs-t.fs-sweep td:nth-child(2) { text-align:left; }
"""
