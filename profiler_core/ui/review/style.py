"""Rules of the page of reviews, beside the common ones in ui/style.py."""

import streamlit as st


def write_review_style() -> None:
    """Put the rules into the page."""
    st.html(f"<style>{_RULES}</style>")


_RULES = """
.fs-rv-row { display:grid; grid-template-columns:minmax(0,1fr) 130px 170px; gap:4px 20px;
  padding:11px 0; border-top:1px solid var(--fs-line); align-items:baseline; font-size:14px;
  color:var(--fs-ink); }
.fs-rv-row:first-child { border-top:0; }
.fs-rv-row a { color:var(--fs-accent); text-decoration:none; font-size:14.5px; font-weight:500;
  overflow-wrap:anywhere; }
.fs-rv-row a:hover { text-decoration:underline; }
.fs-rv-row small { display:block; color:var(--fs-muted); font-size:13px; margin-top:2px;
  overflow-wrap:anywhere; }
.fs-rv-row span.fs-when { color:var(--fs-muted); font-size:13px; }
.fs-chip { font-size:12.5px; font-weight:550; padding:2px 9px; border-radius:10px;
  border:1px solid var(--fs-line); color:var(--fs-muted); white-space:nowrap; }
.fs-chip.fs-good { color:var(--fs-better); border-color:var(--fs-better); }
.fs-chip.fs-poor { color:var(--fs-worse); border-color:var(--fs-worse); }
.fs-rv-title { font-size:26px; line-height:1.25; font-weight:650; letter-spacing:-.012em;
  margin:.15rem 0 .3rem; padding:0; color:var(--fs-ink); overflow-wrap:anywhere; }
.fs-rv-summary { font-size:15px; line-height:1.55; color:var(--fs-ink); margin:.3rem 0 0;
  max-width:80ch; white-space:pre-wrap; overflow-wrap:anywhere; }
.fs-rv-side { padding:8px 0; border-top:1px solid var(--fs-line); font-size:14px;
  color:var(--fs-ink); }
.fs-rv-side p { color:var(--fs-muted); margin:.15rem 0 0; line-height:1.5; max-width:90ch;
  overflow-wrap:anywhere; }
.fs-rv-note { border-left:2px solid var(--fs-accent); padding:1px 0 1px 12px; margin:2px 0;
  font-size:14px; line-height:1.5; color:var(--fs-ink); white-space:pre-wrap;
  overflow-wrap:anywhere; max-width:90ch; }
.fs-rv-note small { display:block; color:var(--fs-muted); font-size:12.5px; }
.fs-rv-sign { display:grid; grid-template-columns:minmax(0,1fr) auto; gap:2px 12px; padding:8px 0;
  border-top:1px solid var(--fs-line); font-size:14px; color:var(--fs-ink);
  align-items:baseline; }
.fs-rv-sign:first-child { border-top:0; }
.fs-rv-sign small { grid-column:1 / -1; color:var(--fs-muted); font-size:13px; line-height:1.5;
  overflow-wrap:anywhere; }
.fs-rv-task { font-size:14px; line-height:1.55; color:var(--fs-ink); margin:2px 0;
  max-width:90ch; overflow-wrap:anywhere; }
.fs-rv-task small { color:var(--fs-muted); font-size:13px; }
.fs-rv-task .fs-late { color:var(--fs-worse); font-weight:550; }
[class*=st-key-fs_rv_finding] { border-top:1px solid var(--fs-line); padding:10px 0 4px; }
[class*=st-key-fs_rv_finding] .fs-finding { border-top:0; padding:0; }
[class*=st-key-fs_rv_told] { padding-left:132px; }
@media (max-width:640px) {
  .fs-rv-row { grid-template-columns:minmax(0,1fr) auto; }
  .fs-rv-row > div:first-child { grid-column:1 / -1; }
  [class*=st-key-fs_rv_told] { padding-left:0; }
}
"""
