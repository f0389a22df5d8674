"""The source lines of kernels and operators in dossiers, held against the compiler's log."""

import gzip
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from profiler_core.analysis.item import kernel_item, module_item, operator_item
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.ui.dossier.draw import dossier_html

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
VIEWS = re.compile(
    r"aten\.(?:view|reshape|permute|expand|slice|unsqueeze|squeeze|select|as_strided|alias|detach|"
    r"empty|transpose|split|split_with_sizes|full|_unsafe_view)\."
)


def lines_of_log(run: Path) -> dict[str, set[str]]:
    """Kernel -> the lines of the nodes that it computes, views left out."""
    (path,) = (run / "torch_trace").iterdir()
    text = gzip.decompress(path.read_bytes()).decode()
    graph = text[text.index('"inductor_post_grad_graph"') :].split("\nV", 1)[0]
    line_of, line = {}, ""
    for row in graph.splitlines():
        if at := re.match(r"\s*# File: \S*?([^/\s]+:\d+) in ", row):
            line = at[1]
        elif (node := re.match(r'\s*(\w+)(?:: "[^"]*")? = ', row)) and not VIEWS.search(row):
            line_of[node[1]] = line
    mappings = text[text.index('"inductor_provenance_tracking_node_mappings"') :].split("\n\t")[1]
    lines: dict[str, set[str]] = defaultdict(set)
    for handle, nodes in json.loads(mappings.split("\nV", 1)[0])["cppCodeToPost"].items():
        lines[handle.rsplit(":", 1)[0]] |= {line_of[node] for node in nodes if node in line_of}
    return lines


@pytest.mark.parametrize(
    ("sample", "candidate"),
    [("bert", "default"), ("customcnn", "default"), ("resnet50", "reduce-overhead")],
)
def test_a_generated_kernel_has_the_lines_that_it_computes(sample: str, candidate: str) -> None:
    """It had those of its groups: of a query's bias and scale those of the attention mask."""
    run = SAMPLES / sample / candidate
    comparison = Comparison.open([SAMPLES / sample / "eager", run])
    expected = lines_of_log(run)
    kernels = [row.name for row in comparison.kernels if row.name.startswith("triton_")]
    assert kernels
    for name in kernels:
        told = {source.label for source in dossier(comparison, kernel_item(name)).sources}
        assert told
        assert told == expected[name], name


def test_a_library_s_kernel_has_the_lines_of_its_own_operators() -> None:
    """Of eager's bert: the layer norms alone, not all that is fused with them."""
    comparison = Comparison.open([SAMPLES / "bert" / "eager", SAMPLES / "bert" / "default"])
    (name,) = (row.name for row in comparison.kernels if "vectorized_layer_norm" in row.name)
    sources = dossier(comparison, kernel_item(name)).sources
    assert {source.label for source in sources} == {
        "modeling_bert.py:106", "modeling_bert.py:292", "modeling_bert.py:350",
    }  # fmt: skip
    assert all("LayerNorm" in source.frame.code for source in sources)


def test_an_operator_has_the_lines_of_its_own_calls() -> None:
    """A layer norm's first six were those of what is fused with it, none of a layer's own."""
    comparison = Comparison.open([SAMPLES / "bert" / "eager", SAMPLES / "bert" / "default"])
    sources = dossier(comparison, operator_item("aten::layer_norm")).sources
    assert [source.label for source in sources] == [
        "modeling_bert.py:292", "modeling_bert.py:350", "modeling_bert.py:106",
    ]  # fmt: skip


def test_the_lines_beyond_the_first_can_be_unfolded() -> None:
    """Of layer3.1 six were shown, without a word of the others, its dearest group's among them."""
    folder = SAMPLES / "resnet50"
    comparison = Comparison.open([folder / "eager", folder / "default"])
    made = dossier(comparison, module_item("layer3.1"))
    html = str(dossier_html(made))
    shown = html[html.index(">Source<") :]
    assert f"<summary>{len(made.sources) - 6} more</summary>" in shown
    labels = [source.label for source in made.sources]
    assert "resnet.py:160" in labels
    assert all(f">{label}</a>" in shown for label in labels)
