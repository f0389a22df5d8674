"""The first thing on the page about compiling: what stands between this run and one graph."""

from html import escape

import streamlit as st

from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.ui.address import in_address
from profiler_core.ui.compilation.data import Compiled
from profiler_core.ui.overview.headline import entry_facts
from profiler_core.units import format_count, format_duration


def choose_compiled(runs: tuple[Compiled, ...]) -> Compiled:
    """The run that the page is about; a choice only where there is one. Kept in the URL."""
    labels = [run.label for run in runs]
    if len(runs) == 1:
        return runs[0]
    label = st.pills("Run", labels, default=labels[0], **in_address("run", labels[0]))
    return runs[labels.index(label)] if label in labels else runs[0]


def show_headline(compiled: Compiled) -> None:
    """Facts, one sentence, and what it rests on."""
    report = compiled.report
    facts = " · ".join(escape(fact) for fact in (*entry_facts(compiled.entry), compiled.label))
    bad = " fs-worse" if report.skips or report.log.limit_hits else ""
    html = f"<p class=fs-eyebrow>{facts}</p><h1 class='fs-verdict{bad}'>{_sentence(report)}</h1>"
    for text in _evidence(report, compiled.without_trace):
        html += f"<p class=fs-sub>{escape(text)}</p>"
    st.html(html)


def _sentence(report: CompilationReport) -> str:
    eager = len({skip.event.function for skip in report.skips})
    limited = len({(hit.function, hit.file, hit.line) for hit in report.log.limit_hits})
    if report.eager_only:
        return "<em>Everything runs eager</em>: a break in a loop made Dynamo give up"
    parts = []
    if eager:
        parts.append(f"<em>{_n(eager, 'function')} eager</em> because of a break inside")
    if limited:
        parts.append(f"<em>{_n(limited, 'function')} eager</em> since the recompile limit")
    if report.breaks:
        cost = report.break_cost
        price = ""
        if cost is not None and cost.n:
            price = (
                f" {'costs' if len(report.breaks) == 1 else 'cost'} "
                f"<em>{format_duration(cost.cost_ns)} per step</em>"
                if cost.cost_ns
                else ", which cost nothing here"
            )
        parts.append(f"{_n(len(report.breaks), 'graph break')}{price}")
    if report.recompiles:
        took = f" took {format_duration(report.recompile_ns)}" if report.recompile_ns else ""
        parts.append(f"{_n(len(report.recompiles), 'recompile')}{took}")
    if parts:
        sentence = ", ".join(parts)
        return sentence[0].upper() + sentence[1:]
    if report.log.failures:
        return "The compiler <em>gave up with an error</em>"
    return "One graph, compiled once: <em>no break, no recompile</em>"


def _evidence(report: CompilationReport, without_trace: str | None) -> list[str]:
    lines = []
    cost = report.break_cost
    if cost is not None and report.breaks:
        if cost.cost_ns:
            low, high = (format_duration(ns) for ns in cost.range_ns)
            lines.append(
                f"Without the breaks a step would take {format_duration(cost.without_ns)} instead "
                f"of {format_duration(cost.step_ns)} ({cost.clock} clock; the saving lies between "
                f"{low} and {high}). Costs of single breaks do not add up: the first costs most."
            )
            if cost.n_replayed_steps < cost.n_steps:
                lines.append(
                    f"Judged by {format_count(cost.n_replayed_steps)} of "
                    f"{format_count(cost.n_steps)} steps, spread evenly."
                )
        elif not cost.n:
            lines.append(
                "In the profiled steps no compiled call follows a break: what comes after it runs "
                "eager, so what the break costs cannot be told."
            )
        elif cost.bound == "device":
            lines.append(
                f"The device needs {format_duration(cost.step_ns)} per step and hides the host's "
                f"{format_duration(cost.host_work_ns)} between the compiled calls."
            )
    compile_time = report.compile_time
    if compile_time is not None:
        subject = "Compiling" if report.engine is None else "Tracing the graphs"
        text = f"{subject} took {format_duration(compile_time.seconds * 1e9)}"
        if compile_time.runtime_seconds > 0.001:
            autotuning = format_duration(compile_time.runtime_seconds * 1e9)
            text += f", autotuning at the first calls {autotuning}"
        if report.break_even_steps is not None and report.engine is None:
            text += f"; paid back after {format_count(report.break_even_steps)} steps"
        if report.engine is not None:
            text += (
                f"; {report.engine} itself compiles when it is first called, of which no log "
                "tells: the overview has the first call"
            )
        lines.append(text + ".")
    if report.lost is not None and report.lost.ns:
        bound = "up to " if report.lost.source == "estimated" else ""
        lines.insert(
            0, f"The skipped functions lose {bound}{format_duration(report.lost.ns)} in every step."
        )
    if without_trace:
        lines.append(without_trace)
    return lines


def _n(count: int, word: str) -> str:
    verb = " runs" if word == "function" and count == 1 else " run" if word == "function" else ""
    return f"{count} {word}{'' if count == 1 else 's'}{verb}"
