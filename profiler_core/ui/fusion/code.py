"""The code behind a group: the user's lines with their context, and what Inductor made of them."""

from html import escape

import streamlit as st

from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.source_paths import source_paths
from profiler_core.model.compilation import Frame
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, InductorLog
from profiler_core.session.pair import Pair
from profiler_core.ui.compilation.breaks import code_html
from profiler_core.ui.compilation.code import all_kernels, readable

_MOST_LINES, _MOST_KERNELS, _MOST_CALLS = 4, 4, 12
_CODE_PX = 420


def show_source(pair: Pair, group: FusionGroup) -> None:
    """The lines that the operators come from, with what the capture kept around them."""
    st.html("<h3 class=fs-h>Source</h3>")
    if not group.sources:
        st.html(
            "<p class=fs-note>Which line this comes from is not known: that needs the compiled "
            "run's structured log (TORCH_TRACE).</p>"
        )
        return
    files = source_paths(pair.candidate.code)
    html = ""
    for label, code in group.sources[:_MOST_LINES]:
        file = files.get(label, "")
        line = label.rpartition(":")[2]
        number = int(line) if line.isdecimal() and len(line) < 10 else 0
        frame = Frame(file=file, line=number, function="", code=code)
        lines = pair.candidate.kept_sources.get(file, {}) if file else {}
        html += f"<p class='fs-note fs-mono'>{escape(label)}</p>{code_html(frame, lines)}"
    n_more = len(group.sources) - _MOST_LINES
    if n_more > 0:
        html += f"<p class=fs-note>and {n_more} more lines</p>"
    st.html(html)


def show_generated(pair: Pair, group: FusionGroup) -> None:
    """The generated kernels and library calls of the candidate's side."""
    st.html("<h3 class=fs-h>Generated code</h3>")
    calls = generated_calls(pair.candidate.code, group) if pair.candidate.code else []
    if not calls:
        reason = (
            "the log names no call for it"
            if pair.candidate.code
            else "that needs the compiled run's structured log (TORCH_TRACE)"
        )
        st.html(f"<p class=fs-note>What was generated for this is not known: {reason}.</p>")
        return
    lines = [_line(graph, call) for graph, call in calls if call.name not in graph.kernels]
    if lines:
        st.html("<p class=fs-note>Calls of a library:</p>")
        st.code("\n".join(dict.fromkeys(lines[:_MOST_CALLS])), language="python")
    sources = {
        kernel.name: kernel.source
        for kernel in (all_kernels(pair.candidate.code) if pair.candidate.code else [])
        if any(graph is kernel.graph and call.name == kernel.name for graph, call in calls)
    }
    for position, (name, source) in enumerate(list(sources.items())[:_MOST_KERNELS]):
        language, text = readable(source)
        with st.expander(name, expanded=position == 0):
            n_lines = text.count("\n") + 2
            st.code(text, language=language, height=min(_CODE_PX, 24 * n_lines + 20))
    n_more = len(sources) - _MOST_KERNELS
    if n_more > 0:
        st.html(f"<p class=fs-note>and {n_more} more kernels, see the page Compilation</p>")


def generated_calls(
    log: InductorLog, group: FusionGroup
) -> list[tuple[CompiledGraph, GeneratedCall]]:
    """The calls of the generated code that are the candidate's side of a group."""
    call_numbers = set(group.candidate.calls)
    calls = [
        (graph, call)
        for graph in log.graphs
        for call in graph.calls
        if (f"{graph.compile_id} {_half(graph)}", call.index) in call_numbers
    ]
    if calls:
        return calls
    names = {operator.op for operator in group.candidate.operators}
    return [(g, call) for g in log.graphs for call in g.calls if call.name in names]


def _half(graph: CompiledGraph) -> str:
    """As the trace's regions say it: they do not tell inference from forward."""
    return "backward" if graph.direction == "backward" else "forward"


def _line(graph: CompiledGraph, call: GeneratedCall) -> str:
    """The call as it stands in the generated module; its name where that was not logged."""
    lines = graph.code.splitlines()
    return lines[call.line - 1].strip() if 0 < call.line <= len(lines) else call.name
