"""The style rules of the capture page's own pieces."""

import streamlit as st


def write_capture_style() -> None:
    """Put the rules into the page; once a run, and never inside a fragment.

    Streamlit 1.67 keeps HTML that is only a style outside of the place where it is written; from
    a fragment that reruns, the browser then loses count ("Bad delta path") and the page stops.
    """
    st.html(f"<style>{_RULES}</style>")


# Titles in the list are buttons that look like links, and wrap like text.
_RULES = """
.fs-job-head .fs-state { margin:0 6px; }
.fs-job-head .fs-state:first-child { margin-left:0; }
.fs-phases { width:auto; }
.fs-t.fs-phases th, .fs-t.fs-phases td { text-align:left; font-size:13px; padding:4px 22px 4px 0; }
.fs-t.fs-phases thead th { color:var(--fs-ink); }
.fs-phases td { min-width:17em; }
.fs-tick { color:var(--fs-better); display:inline-block; width:18px; }
.fs-tick.fs-w { color:var(--fs-worse); }
.fs-took { display:inline-block; min-width:5em; }
.fs-bar { display:inline-block; width:84px; height:6px; border-radius:3px; overflow:hidden;
  background:var(--fs-line); margin-right:10px; vertical-align:2px; }
.fs-bar i { display:block; height:100%; background:var(--fs-accent); }
.fs-log { display:flex; flex-direction:column-reverse; max-height:250px; overflow:auto;
  background:var(--fs-raised); border:1px solid var(--fs-line); border-radius:8px; }
.fs-log pre { margin:0; padding:10px 14px; background:none; color:var(--fs-ink);
  font:12px/1.55 'JetBrains Mono',monospace; white-space:pre-wrap; overflow-wrap:anywhere; }
.fs-lost summary { cursor:pointer; }
:is([class*=st-key-fs_job_row_],[class*=st-key-fs_try_row_]) button { text-align:left; min-height:0;
  padding:0; }
:is([class*=st-key-fs_job_row_],[class*=st-key-fs_try_row_]) button p { font-size:13.5px; }
:is([class*=st-key-fs_job_row_],[class*=st-key-fs_try_row_]) button:not(:disabled) p {
  color:var(--fs-accent); }
"""
