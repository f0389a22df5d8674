"""Recompiles, CUDA graphs, guards and errors as tables."""

from collections import defaultdict
from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.compilation.recompiles import RecompileReport, recompile_groups
from profiler_core.analysis.compilation.report import CompilationReport, place_text
from profiler_core.figures.compilation_steps import recompile_steps, recompile_times
from profiler_core.ui.charts import show_figure
from profiler_core.ui.compilation.data import Compiled
from profiler_core.ui.page import section
from profiler_core.ui.style import colors
from profiler_core.units import format_count, format_duration, format_share

_MOST = 30


def show_recompiles(compiled: Compiled) -> None:
    """The steps that compiled again, then one row for each function and cause."""
    reports = compiled.report.recompiles
    if not reports:
        return
    measurement = compiled.entry.run.measurement
    steps: tuple[int, ...] = ()
    if measurement and measurement.first_call_ns and any(r.step is not None for r in reports):
        steps = (measurement.first_call_ns, *measurement.warmup_step_ns)
    reason = "A guard failed, so the function was compiled once more"
    section("Recompiles", f"{reason}: in the coloured steps." if steps else f"{reason}.")
    if steps:
        show_figure(
            recompile_steps(reports, steps, colors()),
            key="recompile_steps",
            alt="Time of the first call and of the warm-up steps; those that recompiled stand out.",
        )
    elif any(r.start_ns is not None for r in reports):
        show_figure(
            recompile_times(reports, colors()),
            key="recompile_times",
            alt="When each recompile began and how long it took.",
        )
    st.html(_recompile_table(reports))


def show_cudagraphs(report: CompilationReport) -> None:
    """How much is replayed, and each reason why the rest is not."""
    coverage = report.coverage
    if coverage is None or not (coverage.n_replayed or report.cudagraphs):
        return
    section(
        "CUDA graphs",
        f"{format_share(coverage.kernel_share)} of the kernels and "
        f"{format_share(coverage.time_share)} of their time are replayed: "
        f"{format_count(coverage.n_graph_launches)} "
        f"launch{'' if coverage.n_graph_launches == 1 else 'es'} per step instead of "
        f"{format_count(coverage.n_graph_launches + coverage.launches_saved)}.",
    )
    stakes = {stake.event: stake.at_stake_ns for stake in coverage.stakes}
    rows = [
        [
            escape(event.kind),
            f"{escape(event.reason)}<br><small>{escape(cause.change)}</small>",
            escape(place_text(event.file, event.line)) if event.file else "",
            format_count(event.n),
            format_duration(stakes.get(event)),
        ]
        for event, cause in report.cudagraphs[:_MOST]
    ]
    if rows:
        st.html(_table(["what", "why", "place", "times", "at stake per step"], rows))


def show_regions(report: CompilationReport) -> None:
    """What each compiled region costs the host around its kernels."""
    if not report.regions:
        return
    section(
        "Guards and wrappers",
        "What the host does around each compiled region in every step; on the profiled clock, "
        "about twice as long as without the profiler.",
    )
    by_id = {c.compile_id: c for c in report.log.compilations if c.direction == "forward"}
    rows = []
    for tax in report.regions[:_MOST]:
        compilation = by_id.get(tax.compile_id or "")
        name = escape(compilation.function or "") if compilation else ""
        rows.append(
            [
                f"{escape(tax.compile_id or 'backward')} <small>{name}</small>",
                format_count(tax.n) if tax.n else "–",
                format_count(compilation.guard_count if compilation else None),
                format_duration(tax.lookup_ns or None),
                format_duration(tax.pregraph_ns + tax.prologue_ns or None),
                format_duration(tax.call_entry_ns),
                format_duration(tax.total_ns),
            ]
        )
    heads = ["region", "entries", "guards", "guards and lookup", "prologue", "entry", "together"]
    st.html(_table(heads, rows))


def show_failures(report: CompilationReport) -> None:
    """Errors of the compiler itself."""
    if not report.log.failures:
        return
    section("Compiler errors")
    outcome = {True: "ran eager", False: "ended the program", None: "not told"}
    rows = [
        [
            escape(failure.error),
            escape(failure.reason[:300]),
            escape(place_text(failure.file, failure.line)),
            outcome[failure.suppressed],
        ]
        for failure in report.log.failures[:_MOST]
    ]
    st.html(_table(["error", "reason", "place", "then"], rows))


def show_hints(report: CompilationReport) -> None:
    """Inductor's hints and refused fusions, folded: they are for the curious."""
    hints, refused = report.log.perf_hints, report.log.fusion_decisions
    if hints:
        with st.expander(f"Inductor's hints about performance ({len(hints)})"):
            rows = [[escape(h.text[:400]), format_count(h.n)] for h in hints[:_MOST]]
            st.html(_table(["hint", "times"], rows))
    if refused:
        by_reason: defaultdict[str, int] = defaultdict(int)
        for decision in refused:
            by_reason[decision.reason] += decision.n
        with st.expander(f"Fusions that Inductor refused ({len(refused)})"):
            ordered = sorted(by_reason.items(), key=lambda item: -item[1])
            st.html(_table(["why", "times"], [[escape(r), format_count(n)] for r, n in ordered]))


def _recompile_table(reports: Sequence[RecompileReport]) -> str:
    rows = [
        [
            f"{escape(group.function)}<br>"
            f"<small>{escape(place_text(group.file, group.line))}</small>",
            f"<div class=fs-wide>{escape(group.cause.label)}<br>"
            f"<small class=fs-mono>{_guards(group.guards)}</small></div>",
            f"<div class=fs-free>{escape(group.cause.change)} <a class=fs-link "
            f"href='{escape(group.cause.url)}' target=_blank rel=noopener>more</a></div>",
            format_count(len(group.recompiles)),
            _span(group.steps),
            format_duration(group.cost_ns),
        ]
        for group in recompile_groups(reports)[:_MOST]
    ]
    return _table(["function", "because of", "what to change", "times", "steps", "took"], rows)


def _guards(guards: Sequence[str]) -> str:
    first_guards = "<br>".join(escape(guard[:120]) for guard in guards[:2])
    return first_guards + (f"<br>… {len(guards) - 2} more" if len(guards) > 2 else "")


def _span(steps: Sequence[int]) -> str:
    if not steps:
        return "–"
    return str(steps[0]) if min(steps) == max(steps) else f"{min(steps)}–{max(steps)}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML: whoever makes them escapes."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        '<div class=fs-scroll><table class="fs-t fs-detail fs-told"><thead><tr>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
