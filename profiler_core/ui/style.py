"""The style sheet of our own HTML pieces (headings, tables, cards), in the colours of the theme.

Classes begin with `fs-`. Everything shown through them is escaped by whoever writes the HTML.
"""

from pathlib import Path

import streamlit as st

from profiler_core.figures.theme import DARK, LIGHT, Palette, palette

_MODE = st.components.v2.component(
    "fusionscope_mode", js=Path(__file__).with_name("mode.js").read_text("utf-8")
)


def is_dark() -> bool:
    """True while the browser shows the dark mode; false where it has not said yet."""
    return st.context.theme.type == "dark"


def colors() -> Palette:
    """The colours of the mode that the browser shows."""
    return palette(dark=is_dark())


def follow_mode() -> None:
    """Run the page again when a person switches the mode: figures and logo have one's colours."""
    with st.container(key="fs_mode"):
        _MODE(
            key="fs_mode_watch",
            data={"mode": "dark" if is_dark() else "light"},
            on_mode_change=lambda: None,
        )


def write_style_sheet() -> None:
    """Put the rules into the page; once a run, before anything that uses them.

    Colours follow the `color-scheme` that Streamlit sets on its app, before `follow_mode` has run
    the page again; what it lays beside the app has that of the run.
    """
    shades = "".join(
        f"--fs-{name}:light-dark({getattr(LIGHT, name)},{getattr(DARK, name)}); "
        for name in _SHADES
    )
    st.html(
        f"""<style>
:root {{ color-scheme:{"dark" if is_dark() else "light"}; {shades}
  --fs-code-filter:{"none" if is_dark() else "brightness(.66)"}; }}
{_RULES}</style>"""
    )


_SHADES = ("ink", "muted", "line", "accent", "better", "worse", "raised", "surface")


_RULES = """
[data-testid=stMainBlockContainer] { max-width:1680px; padding-top:4rem; }
[data-testid=stSidebar] input { text-overflow:ellipsis; }
[data-testid=InputInstructions] { display:none; } /* lies upon what is typed in a narrow field */
.st-key-fs_pair { column-gap:3rem; row-gap:1rem; align-items:flex-start; }
.st-key-fs_pair > div { flex:1 1 auto; }
.st-key-fs_pair > div:has(> .st-key-fs_right) { flex:1.2 1 330px; min-width:min(330px,100%); }
[class*=st-key-fs_way_on] { column-gap:1.6rem; row-gap:0; }
[data-testid=stPageLink] p { color:var(--fs-accent); font-size:13px; }
[data-testid=stPageLink] a { padding-left:0; background:none; }
.fs-title { font-size:20px; line-height:1.3; font-weight:650; letter-spacing:-.01em; margin:0;
  padding:0; color:var(--fs-ink); }
.fs-question { color:var(--fs-muted); font-size:14px; margin:.1rem 0 0; }
.fs-eyebrow { color:var(--fs-muted); font-size:13px; margin:0; overflow-wrap:anywhere; }
.fs-verdict { font-size:27px; line-height:1.25; font-weight:650; letter-spacing:-.012em;
  margin:.2rem 0 .3rem; padding:0; color:var(--fs-ink); overflow-wrap:anywhere; }
.fs-sub { color:var(--fs-muted); font-size:15px; line-height:1.5; margin:0 0 .2rem;
  max-width:80ch; overflow-wrap:anywhere; }
.fs-verdict em { font-style:normal; color:var(--fs-accent); }
.fs-verdict.fs-worse em { color:var(--fs-worse); }
.fs-sub.fs-w { color:var(--fs-worse); font-weight:400; }
.fs-legend { margin:0; font-size:12.5px; color:var(--fs-ink); line-height:1.9; }
.fs-key { display:inline-block; margin-right:18px; white-space:nowrap; }
.fs-h { font-size:16px; font-weight:600; margin:.4rem 0 .1rem; padding:0; color:var(--fs-ink); }
/* What is beyond the edge can be scrolled to: there it fades, until its end is in view. */
.fs-scroll, .st-key-fs_map_scroll { overflow-x:auto; animation:fs-more linear both;
  animation-timeline:scroll(self x); }
@keyframes fs-more {
  from, 98% { mask-image:linear-gradient(to left,transparent,#000 36px); }
  to { mask-image:none; }
}
.fs-steps { color:var(--fs-ink); font-size:13px; padding-bottom:.3rem; }
.fs-steps p { color:var(--fs-muted); font-size:12px; margin:.5rem 74px 0 0; text-align:center; }
.fs-steps-line { display:flex; align-items:center; gap:6px; margin:.15rem 0 .8rem; }
.fs-steps-line > b { white-space:nowrap; }
.fs-steps-bar { display:flex; flex:0 0 auto; height:36px; overflow:hidden; }
.fs-steps-bar span { flex:0 1 auto; min-width:0; overflow:hidden; font-size:12px; line-height:36px;
  text-align:center; height:36px; box-shadow:inset -1px 0 0 var(--fs-surface); }
/* A number without room goes to a second line, which is hidden. */
.fs-steps-bar span::before { content:""; display:inline-block; width:1px; }
.fs-t { width:100%; border-collapse:collapse; font-size:14px; color:var(--fs-ink); }
.fs-t th { text-align:right; font-weight:500; color:var(--fs-muted); padding:6px 10px;
  border-bottom:1px solid var(--fs-line); font-size:13px; vertical-align:bottom;
  white-space:nowrap; }
.fs-t thead th { white-space:normal; min-width:7ch; max-width:26ch; }
.fs-t td { text-align:right; padding:7px 10px; border-bottom:1px solid var(--fs-line);
  white-space:nowrap; font-variant-numeric:tabular-nums; }
.fs-t tr:last-child td, .fs-t tr:last-child th { border-bottom:0; }
.fs-t th:first-child, .fs-t td:first-child, .fs-t tbody th { text-align:left; padding-left:0;
  color:var(--fs-muted); font-weight:400; font-size:14px; white-space:nowrap; }
.fs-t tbody th { vertical-align:middle; }
.fs-t td.fs-error { white-space:normal; text-align:left; color:var(--fs-worse); font-size:13px;
  max-width:34ch; vertical-align:top; }
.fs-d { color:var(--fs-muted); font-size:12px; display:inline-block; min-width:3.2em;
  margin-left:8px; }
.fs-b { color:var(--fs-better); font-weight:600; }
.fs-w { color:var(--fs-worse); font-weight:600; }
.fs-def { border-bottom:1px dotted var(--fs-muted); cursor:help; text-decoration:none; }
.fs-swatch { display:inline-block; width:10px; height:10px; border-radius:2px; margin-right:7px;
  box-shadow:inset 0 0 0 1px rgba(127,127,127,.35); }
.fs-share { display:inline-block; height:8px; border-radius:2px; vertical-align:1px; }
.fs-note { color:var(--fs-muted); font-size:13px; line-height:1.5; margin:0; padding:3px 0;
  max-width:100ch; overflow-wrap:anywhere; }
.fs-note b { color:var(--fs-ink); font-weight:600; }
.st-key-fs_sign_in { margin-top:12vh; padding:1.6rem 1.7rem; }
div:has(> .st-key-fs_sign_in) { align-self:center; margin-inline:auto; }
.st-key-fs_map_scroll > div { min-width:var(--fs-map-least,640px); }
.fs-findings { max-width:1000px; }
.fs-finding { display:grid; grid-template-columns:112px minmax(0,1fr) auto; gap:20px;
  padding:12px 0; border-top:1px solid var(--fs-line); font-size:14px; color:var(--fs-ink); }
.fs-finding:first-child { border-top:0; }
.fs-finding p { color:var(--fs-muted); margin:.15rem 0 0; line-height:1.5; max-width:90ch;
  overflow-wrap:anywhere; }
.fs-finding p > span:not(.fs-whole) { color:var(--fs-ink); }
.fs-stake { text-align:right; white-space:nowrap; font-variant-numeric:tabular-nums; }
.fs-stake small { display:block; color:var(--fs-muted); font-size:12px; white-space:normal; }
.fs-stake i { display:none; }
/* Its words stand level with those of the link beside it. */
[class*=st-key-fs_finding_] [class*=st-key-fs_try_] { margin-top:5px; }
.fs-state { font-size:12px; font-weight:500; padding:1px 7px; border-radius:9px;
  border:1px solid var(--fs-line); color:var(--fs-muted); white-space:nowrap; }
.fs-state.fs-bad { color:var(--fs-worse); border-color:var(--fs-worse); }
.fs-state.fs-live { color:var(--fs-accent); border-color:var(--fs-accent); }
.fs-mono { font-family:'JetBrains Mono',monospace; font-size:12.5px; overflow-wrap:anywhere; }
.fs-empty { max-width:72ch; margin:5vh 0 .5rem; }
.fs-empty .fs-verdict { margin-bottom:.5rem; }
.fs-empty ol { color:var(--fs-muted); font-size:15px; line-height:1.6; padding-left:1.2em; }
.fs-empty code { font-family:'JetBrains Mono',monospace; font-size:12.5px; color:var(--fs-ink);
  background:var(--fs-raised); padding:2px 6px; border-radius:5px; overflow-wrap:anywhere; }
:is(.fs-note,.fs-finding) code { font-family:'JetBrains Mono',monospace; font-size:.9em;
  color:inherit; background:none; padding:0; overflow-wrap:anywhere; }
.fs-row { display:grid; grid-template-columns:minmax(0,1fr) auto; gap:14px; padding:10px 0;
  align-items:baseline; }
a.fs-link, .fs-link a { color:var(--fs-accent); text-decoration:none; font-size:13px; }
a.fs-link:hover { text-decoration:underline; }
.fs-counts td.fs-bar-cell { padding-left:0; width:15%; text-align:left; }
.fs-counts th.fs-of-run { text-align:left; padding-left:0; }
.fs-counts td.fs-n { width:4.5em; }
.fs-counts small { color:var(--fs-muted); font-size:12px; margin-left:8px; }
.fs-phone { display:none; }
.fs-counts td { padding-top:5px; padding-bottom:5px; }
.fs-detail td, .fs-detail tbody th { vertical-align:top; white-space:normal; }
.fs-t.fs-parts td:first-child { white-space:normal; overflow-wrap:anywhere; min-width:14ch; }
.fs-parts td:not(:first-child), .fs-parts thead th:not(:first-child) { white-space:nowrap;
  overflow-wrap:normal; }
.fs-detail small { color:var(--fs-muted); }
.fs-opened { max-width:860px; }
.fs-opened thead th:first-child { text-align:left; }
.fs-t.fs-opened tbody th { white-space:normal; overflow-wrap:anywhere; font-size:13.5px; }
.fs-opened small { color:var(--fs-muted); margin-left:8px; }
.fs-opened .fs-sum th, .fs-opened .fs-sum td { font-weight:600; color:var(--fs-ink); }
.fs-t.fs-alike td:nth-child(2) { white-space:normal; min-width:18ch; }
.fs-kernels { table-layout:fixed; }
.fs-t.fs-kernels td:first-child { white-space:normal; color:var(--fs-ink); }
.fs-kernels th:nth-child(2) { width:4.6em; }
.fs-kernels th:nth-child(3) { width:5.6em; }
.fs-told td, .fs-told th, .fs-nodes td, .fs-nodes th { text-align:left; }
.fs-told td:last-child, td.fs-nowrap, .fs-t.fs-buffers th:nth-child(2) { white-space:nowrap;
  overflow-wrap:normal; }
.fs-whole { white-space:nowrap; }
[data-testid=stWidgetLabel] .stTooltipIcon { padding-left:4px; }
input:placeholder-shown { text-overflow:ellipsis; }
[data-testid=stButtonGroup] [role=radiogroup] { flex-wrap:wrap; }
.fs-wide { min-width:20ch; }
.fs-free { overflow-wrap:anywhere; min-width:22ch; }
.fs-t.fs-told th, .fs-t.fs-nodes th { font-size:13px; }
.fs-t.fs-unfused { table-layout:fixed; min-width:760px; }
.fs-t.fs-unfused td { white-space:normal; overflow-wrap:anywhere; }
.fs-unfused th:nth-child(1) { width:31%; }
.fs-unfused th:nth-child(2) { width:13%; }
.fs-unfused th:nth-child(3) { width:27%; }
.fs-told td:first-child, .fs-nodes td:first-child { color:var(--fs-ink); }
.fs-recompiles td:nth-child(2), .fs-recompiles td:nth-child(3) { min-width:22ch; }
/* Streamlit has white on the accent, and the dark mode's accent is light. */
[data-testid=stMultiSelect] [data-tag], [data-testid=stMultiSelect] [data-tag] span,
[data-testid=stMultiSelect] [data-tag] button,
[data-testid^=stBaseButton-primary]:enabled p { color:var(--fs-surface); }
/* Streamlit's own is as dark as that text. */
[data-testid^=stBaseButton-primary]:enabled:is(:hover,:focus,:active) {
  background-color:color-mix(in srgb,var(--fs-accent) 86%,var(--fs-ink)); }
/* Streamlit darkens the accent of what is pointed at or open, which a dark page hides. */
:is([data-testid=stPopoverButton],[data-testid=stBaseButton-tertiary]):is(:hover,
  [aria-expanded=true]) * { color:var(--fs-accent); }
/* On the grey that an open one with a border has, the accent is too dark. */
[data-testid=stPopoverButton][kind=secondary][aria-expanded=true] * { color:var(--fs-ink); }
/* Streamlit's own are fainter: what is chosen, and pointed at, and what cannot be chosen. */
[data-testid=stButtonGroup] [role=radio][aria-checked=true] * { color:var(--fs-ink); }
[data-testid=stCheckbox] label:has(input:disabled) * { color:var(--fs-muted); }
[data-testid=stCode] .comment { color:var(--fs-muted) !important; }
[data-testid=stCode] .token:not(.comment) { filter:var(--fs-code-filter); }
.fs-code { font-family:'JetBrains Mono',monospace; font-size:12.5px; line-height:1.55; margin:4px 0;
  padding:8px 12px; background:var(--fs-raised); border-radius:6px; overflow-x:auto;
  color:var(--fs-muted); }
.fs-code i { font-style:normal; opacity:.6; }
.fs-code b { color:var(--fs-ink); font-weight:600; display:inline-block; min-width:100%;
  background:color-mix(in srgb, var(--fs-worse) 14%, transparent); }
.fs-card-head { display:flex; justify-content:space-between; gap:14px; margin:0; font-size:14px;
  color:var(--fs-ink); overflow-wrap:anywhere; }
.fs-hints { margin:2px 0 0; padding-left:1.2em; }
hr.fs-line { border:0; border-top:1px solid var(--fs-line); margin:0; }
.fs-variants { display:flex; flex-wrap:wrap; gap:6px 28px; }
.fs-variant { font-size:14px; font-variant-numeric:tabular-nums; color:var(--fs-ink); }
.fs-variant small { display:block; color:var(--fs-muted); font-size:12px; }
.fs-note.fs-w { color:var(--fs-worse); font-weight:400; }
.st-key-fs_mode { position:fixed; width:0; height:0; }
.st-key-fs_search { position:fixed; top:.85rem; right:4rem; width:auto; z-index:999991; }
/* While a page runs Streamlit fades what may change, and says so where the search stands. */
.st-key-fs_search [data-stale] { opacity:1 !important; }
[data-testid=stStatusWidget] { position:relative; right:9.2rem; }
:root { --fs-dossier:clamp(400px,31vw,600px); }
.st-key-fs_dossier { position:fixed; visibility:hidden; width:0; height:0; overflow:hidden; }
.st-key-fs_dossier:has(.fs-dossier) { visibility:visible; z-index:90; top:3.75rem; right:0;
  bottom:0; height:auto; width:min(var(--fs-dossier),100vw); overflow:hidden auto;
  padding:.9rem 1.1rem 2rem; background:var(--fs-surface); border-left:1px solid var(--fs-line);
  overscroll-behavior:contain; }
.fs-dossier-title { font-size:17px; font-weight:650; line-height:1.35; margin:.1rem 36px .3rem 0;
  padding:0; color:var(--fs-ink); overflow-wrap:anywhere; }
.fs-dossier-title.fs-mono { font-size:13.5px; font-weight:600; }
.fs-dossier-answer { font-size:15px; font-weight:600; color:var(--fs-ink); margin:.2rem 0 .3rem; }
.fs-dossier .fs-h { margin:1.1rem 0 .2rem; font-size:14px; }
.fs-dossier .fs-t { font-size:13px; }
.fs-dossier .fs-t td, .fs-dossier .fs-t th { padding:4px 8px; font-size:12.5px; }
.fs-dossier .fs-t th:first-child { padding-left:0; white-space:normal; overflow-wrap:anywhere; }
.fs-dossier .fs-t thead th { overflow-wrap:normal; min-width:0; padding:4px 5px; }
.fs-dossier .fs-times thead th { white-space:nowrap; }
.fs-dossier .fs-detail:not(.fs-told) td { white-space:nowrap; padding:4px 5px; }
.fs-dossier .fs-told td { white-space:normal; overflow-wrap:anywhere; }
.fs-dossier .fs-told th:first-child { overflow-wrap:normal; min-width:8ch; }
.fs-related td { width:1%; white-space:nowrap !important; }
.fs-related .fs-now th { border-left:3px solid var(--fs-accent); padding-left:6px !important; }
.fs-more summary { cursor:pointer; font-size:12.5px; color:var(--fs-muted); margin:.3rem 0;
  overflow-wrap:anywhere; }
.fs-code.fs-tall { max-height:420px; overflow:auto; }
.fs-dossier .fs-tall b { background:color-mix(in srgb, var(--fs-accent) 14%, transparent); }
a.fs-link.fs-quiet { color:inherit; font-size:inherit; text-decoration:underline;
  text-decoration-color:var(--fs-line); text-underline-offset:3px; }
a.fs-link.fs-here { text-decoration:underline; font-weight:600; }
.fs-dossier dl.fs-facts { padding:0; display:grid; grid-template-columns:max-content 1fr;
  gap:3px 16px; margin:.3rem 0; font-size:12.5px; color:var(--fs-ink); }
.fs-facts dt { color:var(--fs-muted); }
.fs-facts dd { margin:0; overflow-wrap:anywhere; font-variant-numeric:tabular-nums; }
@media (min-width:1280px) {
  [data-testid=stMainBlockContainer]:has(.fs-dossier) {
    padding-right:calc(var(--fs-dossier) + 2rem); }
  /* Beside a dossier the maps of all candidates fit into a window of 1280 px. */
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .st-key-fs_map_scroll > div {
    min-width:500px; }
}
/* Beside a dossier the words of a finding take the width, and its amount a line above them; what
stands in a column for each run stands one below another. */
@media (max-width:1700px) {
  [data-testid=stMainBlockContainer]:has(.fs-dossier) [class*=st-key-fs_sides_]
    [data-testid=stHorizontalBlock] { flex-direction:column; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) [class*=st-key-fs_sides_]
    [data-testid=stColumn] { width:100%; flex:1 1 auto; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-finding {
    grid-template-columns:minmax(0,1fr) auto; gap:2px 14px; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) [class*=st-key-fs_finding_] {
    flex-direction:column; gap:0; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) [class*=st-key-fs_try_] { margin-top:0; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-stake {
    grid-column:1 / -1; text-align:left; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-stake small { display:inline;
    margin-left:6px; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-stake i { display:inline; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-t:not(.fs-dossier *) :is(td,th) {
    padding-left:6px; padding-right:6px; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-t:not(.fs-dossier *,.fs-counts) td {
    white-space:normal; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-t :is(td,th):first-child {
    padding-left:0; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) :is(.fs-parts thead,.fs-counts tbody) th {
    white-space:normal; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-t.fs-wide:not(.fs-dossier *)
    :is(td,th) { white-space:normal; font-size:12px; padding-left:3px; padding-right:3px;
    min-width:0; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-counts .fs-n { width:2.5em; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) :is(.fs-recompiles td,.fs-free) {
    min-width:0; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-recompiles td:nth-child(n) {
    min-width:0; overflow-wrap:anywhere; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-recompiles td:nth-child(n+4) {
    width:1%; overflow-wrap:normal; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-t.fs-unfused { min-width:0;
    font-size:13px; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-unfused th:nth-child(2) { width:17%; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-counts small { margin-left:2px; }
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-stake br,
  [data-testid=stMainBlockContainer]:has(.fs-dossier) .fs-counts .fs-share { display:none; }
}
@media (max-width:1279px) {
  .st-key-fs_dossier:has(.fs-dossier) { box-shadow:-6px 0 24px rgba(0,0,0,.18); }
}
@media (max-width:640px) {
  .st-key-fs_dossier:has(.fs-dossier) { top:28vh; left:0; width:100vw; border:0;
    border-top:1px solid var(--fs-line); border-radius:14px 14px 0 0;
    box-shadow:0 -6px 24px rgba(0,0,0,.22); }
  [data-testid=stMainBlockContainer] { padding-left:1rem; padding-right:1rem; }
  [data-testid=stStatusWidget] { right:3.6rem; }
  .fs-verdict { font-size:22px; }
  .fs-t td, .fs-t th { padding:6px; }
  .fs-d { display:block; min-width:0; margin:0; }
  .fs-counts .fs-n, .fs-counts .fs-share { display:none; }
  .fs-phone { display:inline; }
  .fs-t tbody th:first-child { white-space:normal; min-width:9ch; }
  .fs-t.fs-told td:first-child { white-space:normal; }
  .fs-t.fs-counts tbody th { padding-right:4px; min-width:0; }
  .fs-counts td.fs-bar-cell { width:auto; padding-left:6px; }
  .fs-t.fs-counts th.fs-of-run { padding-left:6px; }
  .fs-counts small { margin:0; }
  .fs-finding { grid-template-columns:66px minmax(0,1fr); gap:12px; }
  .fs-finding > div:last-child { grid-column:2; }
  .st-key-fs_map_scroll > div { min-width:var(--fs-map-least-phone,0); }
  /* The cells of a row below each other, numbers beside each other. */
  .fs-t:is(.fs-unfused,.fs-recompiles), :is(.fs-unfused,.fs-recompiles) :is(thead,tbody) {
    display:block; min-width:0; }
  :is(.fs-unfused,.fs-recompiles) tr { display:grid; grid-template-columns:minmax(0,1fr) 38%;
    column-gap:12px; padding:4px 0; border-bottom:1px solid var(--fs-line); }
  .fs-recompiles tr { grid-template-columns:repeat(3,minmax(0,1fr)); }
  :is(.fs-unfused,.fs-recompiles) tbody tr:last-child { border-bottom:0; }
  .fs-t:is(.fs-unfused,.fs-recompiles) :is(td,th):nth-child(n) { width:auto; min-width:0;
    max-width:none; padding:2px 0; border:0; }
  .fs-unfused :is(td,th):nth-child(n+3), .fs-recompiles :is(td,th):nth-child(-n+3) {
    grid-column:1 / -1; }
  [class*=st-key-fs_finding_] { flex-direction:column; }
  [class*=st-key-fs_finding_] [class*=st-key-fs_try_] { margin:0 0 0 78px; }
}
"""
