"""The style sheet of a report: light, one column, made to be read on paper too."""

from profiler_core.figures.theme import LIGHT


def style_sheet() -> str:
    """The rules, in the colours of the light mode on screen and on paper."""
    p = LIGHT
    return (
        f":root {{ --ink:{p.ink}; --muted:{p.muted}; --line:{p.line}; --accent:{p.accent}; "
        f"--better:{p.better}; --worse:{p.worse}; --raised:{p.raised}; }}\n{_RULES}"
    )


_RULES = """
* { box-sizing:border-box; }
html { color-scheme:light; -webkit-text-size-adjust:100%; }
body { margin:0; background:#fff; color:var(--ink); font:14px/1.5 Inter,system-ui,-apple-system,
  "Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif; }
main { max-width:1080px; margin:0 auto; padding:44px 36px 60px; }
header.top { display:flex; justify-content:space-between; gap:20px; color:var(--muted);
  font-size:12.5px; border-bottom:1px solid var(--line); padding-bottom:10px; margin-bottom:26px; }
header.top b { color:var(--ink); font-weight:600; }
h1 { font-size:30px; line-height:1.2; letter-spacing:-.015em; font-weight:650; margin:6px 0 8px;
  overflow-wrap:anywhere; }
h1 em { font-style:normal; color:var(--accent); } h1.bad em { color:var(--worse); }
h2 { font-size:20px; letter-spacing:-.01em; font-weight:650; margin:0 0 4px; }
h3 { font-size:15px; font-weight:600; margin:28px 0 4px; overflow-wrap:anywhere; }
p { margin:0 0 6px; max-width:86ch; overflow-wrap:anywhere; }
.lead { font-size:15.5px; color:var(--muted); }
.eyebrow, .muted { color:var(--muted); } .eyebrow { font-size:13px; }
.bad-text { color:var(--worse); }
section { margin-top:56px; padding-top:22px; border-top:1px solid var(--line); }
section.summary { margin-top:0; padding-top:0; border-top:0; }
nav { margin:34px 0 0; font-size:13px; color:var(--muted); columns:2; column-gap:40px; }
nav a { display:block; padding:3px 0; color:var(--accent); text-decoration:none; }
a { color:var(--accent); text-decoration:none; } a:hover { text-decoration:underline; }
.scroll { overflow-x:auto; }
table { width:100%; border-collapse:collapse; margin:10px 0 4px; font-size:13.5px; }
th, td { text-align:right; padding:6px 10px; border-bottom:1px solid var(--line);
  vertical-align:top; font-variant-numeric:tabular-nums; }
thead th { color:var(--muted); font-weight:500; font-size:12.5px; vertical-align:bottom; }
tbody th { font-weight:400; color:var(--muted); }
th:first-child, td:first-child, .text td, .text th { text-align:left; }
th:first-child, td:first-child { padding-left:0; } th:last-child, td:last-child { padding-right:0; }
tbody tr:last-child > * { border-bottom:0; }
td.n { white-space:nowrap; text-align:right; } .text td.n, .text th.n { text-align:right; }
td small, th small { color:var(--muted); font-size:12px; }
.change { color:var(--muted); font-size:12px; display:inline-block; min-width:3.4em;
  margin-left:8px; }
.better { color:var(--better); font-weight:600; } .worse { color:var(--worse); font-weight:600; }
.mono { font-family:ui-monospace,"JetBrains Mono",SFMono-Regular,Menlo,Consolas,monospace;
  font-size:12px; overflow-wrap:anywhere; word-break:break-word; }
.swatch { display:inline-block; width:10px; height:10px; border-radius:2px; margin-right:7px;
  box-shadow:inset 0 0 0 1px rgba(127,127,127,.35); -webkit-print-color-adjust:exact;
  print-color-adjust:exact; }
.legend { font-size:12.5px; margin:2px 0 0; max-width:none; }
.legend span.key { display:inline-block; margin-right:16px; white-space:nowrap; }
.finding { display:grid; grid-template-columns:124px minmax(0,1fr); gap:18px; padding:11px 0;
  border-top:1px solid var(--line); break-inside:avoid; }
.finding:first-of-type { border-top:0; } .finding.brief { padding:4px 0; border-top:0; }
.brief .stake { white-space:nowrap; color:var(--muted); font-size:12px; }
.brief .stake b { color:var(--ink); }
.text td { min-width:9ch; } .text th:first-child { min-width:14ch; }
.finding p { color:var(--muted); margin:2px 0 0; } .finding p span { color:var(--ink); }
.stake { text-align:right; font-variant-numeric:tabular-nums; }
.stake b { font-size:15px; } .stake small { display:block; color:var(--muted); font-size:12px; }
.chart { width:100%; margin:8px 0 0; break-inside:avoid; }
pre { margin:4px 0 8px; padding:8px 12px; background:var(--raised); border-radius:6px;
  white-space:pre-wrap; overflow-wrap:anywhere; }
dl { margin:8px 0 0; } dt { font-weight:600; margin-top:8px; }
dd { margin:0; color:var(--muted); max-width:100ch; overflow-wrap:anywhere; }
ul { margin:6px 0; padding-left:1.2em; } li { margin:2px 0; max-width:100ch;
  overflow-wrap:anywhere; }
footer { margin-top:56px; padding-top:12px; border-top:1px solid var(--line); color:var(--muted);
  font-size:12.5px; }
@media (max-width:640px) { main { padding:24px 16px; } h1 { font-size:23px; } nav { columns:1; }
  .change { display:block; margin:0; } header.top { display:block; }
  header.top span { display:block; } }
@page { size:A4; margin:13mm 14mm 14mm; }
@media print {
  body { font-size:9.6pt; line-height:1.42; } main { max-width:none; padding:0; }
  header.top { margin-bottom:12px; padding-bottom:6px; font-size:8.5pt; }
  h1 { font-size:19pt; margin:2px 0 5px; } h2 { font-size:14pt; } .lead { font-size:10pt; }
  h3 { margin-top:15px; font-size:11pt; }
  h2, h3, section > p.muted, .keep > p.muted { break-after:avoid; }
  section { break-before:page; border-top:0; margin-top:0; padding-top:0; }
  section.summary, section.flow { break-before:auto; }
  section.flow { margin-top:30px; padding-top:0; }
  tr, .chart, .keep, dt + dd { break-inside:avoid; } dt { break-after:avoid; }
  thead { display:table-header-group; }
  .scroll { overflow:visible; } table { font-size:8.8pt; margin:6px 0 2px; }
  th, td { padding:2.6px 6px; } thead th { font-size:8.3pt; } .mono { font-size:7.8pt; }
  td small, th small, .change { font-size:7.8pt; } .legend { font-size:8.3pt; }
  .finding { padding:5px 0; } .stake b { font-size:10.5pt; }
  dl { columns:2; column-gap:26px; font-size:8.8pt; } dt { margin-top:5px; }
  footer { margin-top:24px; }
  nav { display:none; } a { color:inherit; }
  .swatch, .chart * { -webkit-print-color-adjust:exact; print-color-adjust:exact; }
}
"""
