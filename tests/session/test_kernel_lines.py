"""The source lines of kernels and operators in dossiers, held against the compiler's log."""

import gzip
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from profiler_core.analysis.item import kernel_item, module_item, operator_item, source_item
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.ui.dossier.draw import dossier_html
from profiler_core.units import format_duration

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
    [("bert", "default"), ("resnet50", "reduce-overhead")],
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
        if "max_pool2d" in name or "convolution_relu" in name:
            continue  # listed with all that came before: see the next test
        assert told == expected[name], name


@pytest.mark.parametrize(
    ("sample", "lines"),
    [
        # By what the code of each kernel loads and computes: Inductor's comments list all that
        # came before it, so that the last two had lines 26 to 29.
        (
            "customcnn",
            {
                "convolution_0": "26",
                "convolution_1": "26",
                "convolution_relu_2": "26",
                "relu_3": "26",
                "relu_4": "27",  # copies the second convolution's weight
                "relu_5": "27",
                "relu_6": "27",
                "relu_7": "28",
                "relu_8": "28 29",  # bias, relu and the first part of the mean
                "relu_9": "29",  # the mean's second part
            },
        ),
        # The second copies convolutions' weights, arg11_1 the first of them.
        ("resnet50", {"max_pool2d_with_indices_relu_3": "271", "convolution_relu_5": "150"}),
    ],
)
def test_a_kernel_has_no_lines_of_what_came_before_it(sample: str, lines: dict[str, str]) -> None:
    run = SAMPLES / sample / "default"
    comparison = Comparison.open([SAMPLES / sample / "eager", run])
    kernels = [row.name for row in comparison.kernels if row.name.startswith("triton_")]
    for ending, expected in lines.items():
        (name,) = (kernel for kernel in kernels if kernel.endswith(ending))
        sources = dossier(comparison, kernel_item(name)).sources
        assert {source.label.rpartition(":")[2] for source in sources} == set(expected.split())


def test_what_kernels_of_a_line_count_for_is_said() -> None:
    """bert's line 168 took 0 ns, and the kernel that names it alone 25.8 µs per step."""
    run = SAMPLES / "bert" / "reduce-overhead"
    comparison = Comparison.open([SAMPLES / "bert" / "eager", run])
    (name,) = (
        row.name for row in comparison.kernels if row.name.endswith("fused_clone_transpose_view_5")
    )
    events = json.loads(gzip.decompress((run / "trace.json.gz").read_bytes()))["traceEvents"]
    steps = [e for e in events if e.get("name", "").startswith("ProfilerStep#")]
    n_steps = len([e for e in steps if e["cat"] == "user_annotation"])
    launched = {
        e["args"]["correlation"] for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})
        and any(s["ts"] <= e["ts"] <= s["ts"] + s["dur"] for s in steps)
    }  # fmt: skip
    took = sum(
        e["dur"]
        for e in events
        if e.get("cat") == "kernel" and e["name"] == name and e["args"]["correlation"] in launched
    )
    made = dossier(comparison, source_item("sdpa_attention.py:168"))
    sentence = next(text for text in made.about if "of this line alone" in text)
    assert f"take {format_duration(1000 * took / n_steps)} per step" in sentence
    assert "count for sdpa_attention.py:158, which did this work in the baseline" in sentence
    other = dossier(comparison, source_item("activations.py:89"))
    assert not any("of this line alone" in text for text in other.about)


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
