"""The style rules of the page of sweeps."""

import streamlit as st


def write_sweep_style() -> None:
    """Put the rules into the page; once a run."""
    st.html(f"<style>{_RULES}</style>")


# Two pictures in a row where both have room, else one below the other.
_RULES = """
[class*=st-key-fs_sweep_row_] { flex-wrap:wrap; }
[class*=st-key-fs_sweep_row_] > div { flex:1 1 400px; min-width:min(400px,100%); }
.fs-sweep td:first-child a { font-size:14px; }
.fs-t.fs-sweep td, .fs-t.fs-sweep thead th { padding-left:5px; padding-right:7px; }
.fs-t.fs-sweep td:first-child, .fs-t.fs-sweep thead th:first-child { padding-left:0; }
.fs-t.fs-trials tbody tr > :nth-child(-n+2) { white-space:normal; overflow-wrap:anywhere;
  min-width:110px; }
.fs-t.fs-trials tbody tr > :first-child { min-width:156px; } /* default+freezing=true in a line */
.fs-t.fs-trials td:last-child:not(:nth-child(-n+3)) { white-space:normal; overflow-wrap:anywhere;
  min-width:130px; }
@media (max-width:1500px) {
  .fs-t.fs-trials td, .fs-t.fs-trials tbody tr > :first-child { font-size:13px; }
  .fs-t.fs-trials td { white-space:normal; } /* a quantity stays on its line */
  .fs-t.fs-trials thead th { min-width:0; font-size:12.5px; }
  .fs-t.fs-trials tbody tr > :first-child { min-width:118px; }
  .fs-t.fs-trials tbody tr > :nth-child(2) { min-width:86px; }
}
.fs-t.fs-realised tbody tr > :first-child { white-space:normal; overflow-wrap:anywhere;
  min-width:110px; }
.fs-t.fs-of-candidates th:nth-child(2), .fs-t.fs-of-candidates td:nth-child(2) { text-align:left; }
"""
