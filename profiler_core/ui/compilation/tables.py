"""Recompiles, CUDA graphs, guards and errors as tables."""

from collections import defaultdict
from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.compilation.compiled_calls import RegionTax
from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.analysis.rows.compilation import (
    TRACED,
    cudagraph_table,
    failure_table,
    recompile_table,
    traced_table,
)
from profiler_core.analysis.rows.table import Cell, Table, text_row
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.analysis.wording.traced_frames import traced_sentences, traced_title
from profiler_core.figures.compilation_steps import recompile_steps, recompile_times
from profiler_core.model.compilation import Compilation
from profiler_core.ui.charts import show_figure
from profiler_core.ui.choice import Choice
from profiler_core.ui.compilation.data import Compiled
from profiler_core.ui.page import section
from profiler_core.ui.style import colors
from profiler_core.ui.table import show_table
from profiler_core.units import format_count, format_duration, format_share

_MOST = 30
_TOLD = "fs-detail fs-told"


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
    show_table(recompile_table(compiled.report, _MOST), f"{_TOLD} fs-recompiles")


def show_tracing(report: CompilationReport) -> None:
    """The functions that Dynamo traced longest; nothing where torch did not time it."""
    if report.tracing is None:
        return
    section("Where Dynamo traced", TRACED)
    show_table(traced_table(report, _MOST), _TOLD)


def show_cudagraphs(report: CompilationReport) -> None:
    """How much is replayed, and each reason why the rest is not."""
    coverage = report.coverage
    if coverage is None or not (coverage.n_replayed or report.cudagraphs):
        return
    section(
        "CUDA graphs",
        f"{format_share(coverage.kernel_share)} of the kernels and "
        f"{format_share(coverage.time_share)} of their time are replayed: "
        f"{format_count(coverage.n_launches)} launch{'' if coverage.n_launches == 1 else 'es'} "
        f"per step ({format_count(coverage.n_graph_launches)} of a graph) instead of "
        f"{format_count(coverage.n_launches_without)}.",
    )
    if report.cudagraphs:
        show_table(cudagraph_table(report, _MOST), _TOLD)


_AROUND = (
    "What the host does around compiled code in every step; on the profiled clock, which is "
    "slower than without the profiler."
)
_MISSED = Cell("none", below=("no compiled code fitted: ran eager",))
_BACKWARD = Cell("backward")
_UNNAMED = Cell("unnamed", below=("torch names regions from 2.6 on",))
_OUTSIDE = Cell("outside of a region", below=("such as servers call without Dynamo",))


def show_regions(report: CompilationReport) -> None:
    """What each compiled region costs the host around its kernels."""
    if report.regions:
        section("Guards and wrappers", _AROUND)
        _region_table(report.regions, report.log.compilations)


def show_traced_regions(choice: Choice) -> None:
    """What the traces of runs without a log show of compiled code; nothing without any."""
    for label, run in zip(choice.labels, choice.comparison.runs, strict=True):
        traced = run.traced_frames if run.compile_log is None and run.regions else None
        if traced is not None:
            n = sum(1 for tax in run.regions if tax.n)
            section(
                f"{traced_title(traced, n)} in the trace of {label}",
                " ".join((*traced_sentences(traced, n), _AROUND)),
            )
            _region_table(run.regions, ())


def _region_table(regions: Sequence[RegionTax], compilations: Sequence[Compilation]) -> None:
    by_id = {c.compile_id: c for c in compilations if c.direction == "forward"}
    rows = []
    for tax in regions[:_MOST]:
        compilation = by_id.get(tax.compile_id or "")
        function = compilation.function if compilation else None
        rows.append(
            (
                _region(tax, function),
                *text_row(
                    format_count(tax.n) if tax.n else "–",
                    format_count(compilation.guard_count if compilation else None),
                    format_duration(tax.lookup_ns or None),
                    format_duration(tax.pregraph_ns + tax.prologue_ns or None),
                    format_duration(tax.call_entry_ns),
                    format_duration(tax.total_ns),
                ),
            )
        )
    heads = ("region", "entries", "guards", "guards and lookup", "prologue", "entry", "together")
    show_table(Table(heads, tuple(rows)), _TOLD)


def _region(tax: RegionTax, function: str | None) -> Cell:
    """What a row is called: its id and function, or what it is instead of a region."""
    if tax.compile_id:
        return Cell(tax.compile_id, below=(function,) if function else ())
    if tax.is_missed:
        return _MISSED
    if tax.is_backward:
        return _BACKWARD
    return _UNNAMED if tax.n else _OUTSIDE


def show_failures(report: CompilationReport) -> None:
    """Errors of the compiler itself."""
    if not report.log.failures:
        return
    section("Compiler errors")
    show_table(failure_table(report, _MOST), _TOLD)


def show_hints(report: CompilationReport) -> None:
    """Inductor's hints and refused fusions, folded: they are for the curious."""
    hints, refused = report.log.perf_hints, report.log.fusion_decisions
    if hints:
        with st.expander(f"Inductor's hints about performance ({len(hints)})"):
            rows = tuple(text_row(clipped(h.text, 400), format_count(h.n)) for h in hints[:_MOST])
            show_table(Table(("hint", "times"), rows), _TOLD)
    if refused:
        by_reason: defaultdict[str, int] = defaultdict(int)
        for decision in refused:
            by_reason[decision.reason] += decision.n
        with st.expander(f"Fusions that Inductor refused ({len(refused)})"):
            ordered = sorted(by_reason.items(), key=lambda item: -item[1])
            rows = tuple(text_row(reason, format_count(n)) for reason, n in ordered)
            show_table(Table(("why", "times"), rows), _TOLD)
