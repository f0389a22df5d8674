"""The code that Inductor generated for a kernel, with the part of the graph it was made from."""

from dataclasses import dataclass
from html import escape

import streamlit as st

from profiler_core.analysis.dossier.generated import nodes_of_kernel, readable, whole_source
from profiler_core.markup import breakable
from profiler_core.model.inductor import CompiledGraph, GraphNode, InductorLog
from profiler_core.ui.address import in_address
from profiler_core.ui.compilation.data import Compiled
from profiler_core.ui.page import section

_HEIGHT_PX = 520
_MOST = 400  # kernels in the list


@dataclass(frozen=True)
class Kernel:
    """One generated kernel of one graph."""

    graph: CompiledGraph
    name: str
    source: str

    @property
    def label(self) -> str:
        """Distinct within a log."""
        return f"{self.name} · {self.graph.compile_id} {self.graph.direction}"


def show_code(compiled: Compiled) -> None:
    """A search over all generated kernels, and the chosen one beside its graph."""
    log = compiled.run.code
    kernels = all_kernels(log) if log else []
    if not kernels:
        return
    section("Generated code", "What Inductor wrote for each kernel, and the graph it came from.")
    search, choose = st.columns([1, 2])
    with search:
        words = st.text_input(
            "Search",
            placeholder="in names and code",
            max_chars=200,
            **in_address("code"),
        )
    matches = matching(kernels, words)
    if not matches:
        st.html("<p class=fs-note>No kernel matches all of these words.</p>")
        return
    labels = {kernel.label: kernel for kernel in matches[:_MOST]}
    with choose:
        chosen = st.selectbox(f"Kernel ({len(matches)} of {len(kernels)})", list(labels))
    kernel = labels.get(chosen or "", matches[0])
    with st.container(key="fs_sides_code"):  # one below the other beside a dossier
        code, graph = st.columns([3, 2])
    with code:
        language, text = readable(kernel.source)
        st.code(text, language=language, line_numbers=True, height=_HEIGHT_PX)
    # A kernel may come from dozens of nodes: they scroll beside the code, not far below it.
    with graph, st.container(height=_HEIGHT_PX, border=False):
        st.html(_graph_html(kernel))


def all_kernels(log: InductorLog) -> list[Kernel]:
    """Every generated kernel, in the order of the log."""
    return [
        Kernel(graph, name, whole_source(graph, name, kernel.source))
        for graph in log.graphs
        for name, kernel in graph.kernels.items()
    ]


def matching(kernels: list[Kernel], words: str) -> list[Kernel]:
    """Kernels whose name, code or source lines hold all words, in any order."""
    needles = words.lower().split()
    return [k for k in kernels if all(word in _text(k) for word in needles)] if needles else kernels


def nodes_of(kernel: Kernel) -> tuple[GraphNode, ...]:
    """Post-grad nodes that the kernel's calls compute."""
    return nodes_of_kernel(kernel.graph, kernel.name)


def _text(kernel: Kernel) -> str:
    lines = " ".join(f"{node.file}:{node.line} {node.code}" for node in nodes_of(kernel))
    return f"{kernel.label} {kernel.source} {lines}".lower()


def _graph_html(kernel: Kernel) -> str:
    nodes = nodes_of(kernel)
    calls = sum(call.name == kernel.name for call in kernel.graph.calls)
    often = "once" if calls == 1 else f"{calls} times"
    head = f"<p class=fs-note>Called {often} in graph {escape(kernel.graph.compile_id)}"
    if not nodes:
        return head + ". The log does not say from which nodes it was made.</p>"
    rows = "".join(
        f"<tr><td class=fs-mono>{breakable(node.name)}<br><small>{breakable(_target(node))}<br>"
        f"{escape(_shape(node))}</small></td>"
        f"<td><span class=fs-mono>{breakable(node.code)}</span><br>"
        f"<small>{breakable(node.source)}</small></td></tr>"
        for node in nodes[:60]
    )
    return (
        f"{head}, made from {len(nodes)} node{'' if len(nodes) == 1 else 's'}:</p>"
        "<div class=fs-scroll>"
        '<table class="fs-t fs-detail fs-nodes"><thead><tr><th>node of the graph</th>'
        f"<th>your code</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _target(node: GraphNode) -> str:
    return node.target.removeprefix("torch.ops.")


def _shape(node: GraphNode) -> str:
    if node.shape is None:
        return ""
    return f"{node.dtype or ''}{list(node.shape)}"
