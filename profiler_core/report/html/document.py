"""One HTML file that needs no network, and may not use one: the contents put into the templates."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from profiler_core import __version__
from profiler_core.analysis.compilation.phases import compile_phases
from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.analysis.measures import step_bars_of
from profiler_core.analysis.rows.compilation import (
    TRACED,
    break_table,
    cudagraph_table,
    eager_table,
    fact_table,
    failure_table,
    recompile_table,
    traced_table,
)
from profiler_core.analysis.rows.findings import finding_rows
from profiler_core.analysis.rows.measures import measure_rows, result_rows
from profiler_core.analysis.rows.table import Table
from profiler_core.analysis.run_labels import run_facts
from profiler_core.analysis.wording.comparison import NO_NUMBERS, step_bars_alt, why_no_step_bars
from profiler_core.analysis.wording.difference import task_words
from profiler_core.analysis.wording.findings import amounts_text
from profiler_core.analysis.wording.verdict import headline
from profiler_core.figures.compilation_icicle import STAGE_LABELS, compilation_icicle, stage_colors
from profiler_core.figures.step_bars import step_bars, step_legend
from profiler_core.figures.theme import LIGHT
from profiler_core.markup import render
from profiler_core.report.contents import Contents
from profiler_core.report.html.candidate import candidate
from profiler_core.report.html.charts import PRINT_SCRIPT, Chart, Charts, plotly_script
from profiler_core.report.html.kernels import kernels
from profiler_core.report.html.method import method
from profiler_core.units import format_duration

_MOST = 12  # rows of one kind; `logs --json` and --tables have all


def html_report(contents: Contents) -> str:
    """The whole report. Equal contents give an equal file."""
    charts = Charts()
    is_web = urlsplit(contents.review_url).scheme in ("http", "https")
    return render(
        "report/document.html",
        contents=contents,
        title=contents.title,
        version=__version__,
        palette=LIGHT,
        plotly=plotly_script(),
        print_script=PRINT_SCRIPT,
        review_url=contents.review_url if is_web else "",
        task_words=task_words,
        summary=_summary(contents, charts),
        candidates=[candidate(contents, number, charts) for number in contents.order],
        alone=_alone(contents),
        compilation=_compilation(contents, charts),
        kernels=kernels(contents, charts),
        method=method(contents),
    )


def _summary(contents: Contents, charts: Charts) -> Mapping[str, Any]:
    comparison = contents.comparison
    labels, parts = step_bars_of(contents.sides)
    bars = None
    if parts:
        figure, legend = step_bars(labels, parts, LIGHT), step_legend(parts, LIGHT)
        bars = charts.chart(figure, step_bars_alt(labels, parts), legend)
    rows = (*measure_rows(comparison), *result_rows(comparison))
    return {
        "facts": run_facts(comparison.baseline.run.record),
        "headline": headline(comparison),
        "measures": Table(("", *contents.labels), rows),
        "bars": bars,
        "no_measures": NO_NUMBERS if any(side.is_cut for side in contents.sides) else "",
        "no_bars": why_no_step_bars(contents.sides),
    }


def _alone(contents: Contents) -> Mapping[str, Any] | None:
    """What stands out in the only run; None where runs are compared."""
    if contents.alone is None:
        return None
    return {
        "label": contents.labels[0],
        "findings": finding_rows(contents.alone.findings),
        "amounts": amounts_text(contents.alone.findings or ()),
        "notes": contents.alone.notes,
    }


def _compilation(contents: Contents, charts: Charts) -> Mapping[str, Any] | None:
    """None where no run has logs of the compiler."""
    runs = [
        (label, report)
        for label, report in zip(contents.labels, contents.compilations, strict=True)
        if report is not None
    ]
    if not runs:
        return None
    warnings = [warning for _, report in runs for warning in report.log.warnings]
    bounds = [bound.sentence for _, report in runs for bound in report.log.lower_bound]
    return {
        "facts": fact_table(runs),
        "runs": [_run(label, report, charts) for label, report in runs],
        "traced": TRACED,
        "notes": [*warnings, *bounds],
    }


def _run(label: str, report: CompilationReport, charts: Charts) -> Mapping[str, Any]:
    return {
        "label": label,
        "report": report,
        "eager": eager_table(report, _MOST),
        "breaks": break_table(report, _MOST),
        "recompiles": recompile_table(report, _MOST),
        "cudagraphs": cudagraph_table(report, _MOST),
        "failures": failure_table(report, _MOST),
        "phases": _phases(report, charts),
        "traced": traced_table(report, _MOST),
    }


def _phases(report: CompilationReport, charts: Charts) -> Chart | None:
    nodes = compile_phases(report.log)
    if len(nodes) < 2:
        return None
    colors = stage_colors(LIGHT)
    stages = dict.fromkeys(node.stage for node in nodes if node.parent)
    alt = f"{len(nodes) - 1} phases of {format_duration(nodes[0].dur_ns)} of compile time."
    legend = [(STAGE_LABELS[stage], colors[stage]) for stage in stages]
    return charts.chart(compilation_icicle(nodes, LIGHT), alt, legend)
