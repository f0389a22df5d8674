"""The page about compiling, as a visitor meets it."""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from msgspec import structs
from streamlit.testing.v1 import AppTest

from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.markup import render
from profiler_core.model.compilation import Frame
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, GraphNode, KernelDefinition
from profiler_core.store import library
from profiler_core.ui.code_lines import lines_around
from profiler_core.ui.compilation.code import Kernel, all_kernels, matching, nodes_of, readable
from tests.larger import LARGER
from tests.uploading import accept

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
FIXTURES = ROOT / "tests" / "fixtures"
BREAKY = FIXTURES / "graph_breaks" / "breaky"
LOG = FIXTURES / "torch_logs" / "2.15.0" / "b2_break_places" / "torch_logs.rg.txt.gz"


@pytest.fixture
def home(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    shutil.copytree(BREAKY, tmp_path / "runs" / "breaky" / "default")
    return tmp_path


def opened(**query):
    """The page file alone, as a cold link may run it."""
    app = AppTest.from_file(str(ROOT / "pages" / "compilation.py"), default_timeout=300)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception, [e.value for e in app.exception]
    return app


def html_of(app):
    return "\n".join(element.body for element in app.get("html"))


def test_the_dearest_break_comes_first_with_its_line(home):
    app = opened(baseline="run/breaky/default")
    text = html_of(app)
    assert "2 graph breaks: one costs <em>" in text
    assert "per step</em>, what the other break costs is not known;" in text
    # Of its forward what follows the print: the limit's function is torch_dynamo_resume_in_….
    assert "1 function runs partly eager</em> since the recompile limit" in text
    assert "<b>forward, from line 28 on</b>" in text
    rows = text[text.index("data-item=") :]
    assert rows.index("bench.py:26") < rows.index("bench.py:28")
    link = re.search(r'data-item="(break:0\.\d+)"', text)
    assert link is not None
    text = html_of(opened(baseline="run/breaky/default", item=link[1]))
    assert "per step; what the other break costs is not known" in text
    assert "GB0124 in PyTorch&#39;s registry" in text


def test_breaks_that_cost_nothing_together_cost_nothing_each(home, monkeypatch):
    """The headline and the dossier said so; the list had no number."""
    monkeypatch.setattr(library, "sample_traces_directory", lambda: ROOT / "sample_traces")
    text = html_of(opened(baseline="sample/ddp/eager", candidate="sample/ddp/default"))
    assert "2 graph breaks, which cost nothing here; 1 recompile took" in text
    assert "s.</h1>" in text
    rows = text[text.index("data-item=") :].split("</table>")[0].split("<tr>")
    assert len(rows) == 2
    assert all("<td>0\u00a0ns</td>" in row for row in rows)


def test_the_row_of_a_break_says_why_its_cost_is_not_known(home):
    """The reason stood in its dossier alone, beside another break's 25.5 µs."""
    rows = html_of(opened(baseline="run/breaky/default")).split("<tr>")
    row = next(row for row in rows if "data-item=" in row and "bench.py:28" in row)
    assert "not known" in row
    assert "the trace shows no compiled call after it" in row


def test_source_lines_come_from_what_the_capture_kept(home):
    kept = '{"schema": 1, "files": {"/home/user/project/bench.py": {"lines": {"26": "KEPT <b>"}}}}'
    (home / "runs" / "breaky" / "default" / "sources.json").write_text(kept)
    assert "KEPT &lt;b&gt;" in html_of(opened(baseline="run/breaky/default", item="break:0.0"))


def test_a_log_alone_can_be_dropped_and_read(home):
    accepted = accept({"stderr.txt": gzip.decompress(LOG.read_bytes())})
    text = html_of(opened(baseline=accepted.keys[0]))
    assert "functions run eager" in text and "graph breaks" in text
    assert "This run has no trace, so what breaks and regions cost is not known." in text


def test_a_run_without_logs_says_how_to_get_them(home):
    folder = home / "runs" / "plain" / "eager"
    shutil.copytree(FIXTURES / "graph_breaks" / "d256_b0", folder)
    assert "None of the chosen runs has a log" in html_of(opened(baseline="run/plain/eager"))


def test_a_trace_alone_shows_its_compiled_regions(home):
    """ "None of the chosen runs has a log" was all, of a trace with two regions per step."""
    folder = home / "runs" / "bare" / "default"
    folder.mkdir(parents=True)
    trace = LARGER / "captures" / "breaky.default" / "trace.json.gz"
    shutil.copy(trace, folder / "trace.json.gz")
    events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    names = {e["name"] for e in events if str(e.get("name")).startswith("Torch-Compiled Region: ")}
    text = html_of(opened(baseline="run/bare/default"))
    assert "None of the chosen runs has a log" in text
    assert f"{len(names)} compiled regions in the trace of default" in text
    for name in names:
        assert name.removeprefix("Torch-Compiled Region: ") in text


def test_compiled_code_of_a_server_is_no_region_and_no_backward(home):
    """ "0 compiled regions" and a row "backward" stood there, of vLLM's trace."""
    folder = home / "runs" / "bare" / "default"
    folder.mkdir(parents=True)
    event = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1}
    events = [
        {**event, "name": "Pregraph bytecode", "ts": 1000.0, "dur": 89.7},
        {**event, "name": "aten::mm", "ts": 1200.0, "dur": 30.0},
    ]
    (folder / "trace.json").write_text(json.dumps({"traceEvents": events}))
    text = html_of(opened(baseline="run/bare/default"))
    assert "Compiled code outside of a region in the trace of default" in text
    assert "outside of a region<" in text
    assert "89.7" in text
    assert "0 compiled regions" not in text
    assert "backward" not in text


def test_a_log_without_a_word_on_compiling_is_not_called_missing(home):
    line = b"W1121 08:36:07.150000 12279 torch/_dynamo/variables/tensor.py:1379] [2/0] hello\n"
    text = html_of(opened(baseline=accept({"stderr.txt": line * 20}).keys[0]))
    assert "The logs of the chosen runs say nothing about compiling" in text
    assert "None of the chosen runs has a log" not in text


def test_markup_in_a_log_is_shown_as_text(home):
    folder = home / "runs" / "breaky" / "default"
    log = gzip.decompress((folder / "torch_logs.txt.gz").read_bytes())
    evil = log.replace(b"bench.py", b"<img src=x onerror=alert(1)>.py")
    (folder / "torch_logs.txt.gz").write_bytes(gzip.compress(evil))
    assert "<img src=x" not in html_of(opened(baseline="run/breaky/default"))


def test_the_place_is_marked_within_its_context():
    lines = lines_around(Frame("m.py", 6, "f"), {n: f"line {n}" for n in range(13)})
    assert [number for number, _, _ in lines] == list(range(2, 11))
    assert [number for number, _, is_place in lines if is_place] == [6]
    assert "<b><i>    6</i>  line 6</b>" in render("page/code.html", lines=lines)


def test_without_kept_lines_the_log_s_own_line_is_shown():
    lines = lines_around(Frame("m.py", 3, "f", "x.item()"), {})
    assert "x.item()" in render("page/code.html", lines=lines, code="x.item()")
    assert render("page/code.html", lines=lines, code="") == ""


GRAPH = CompiledGraph(
    compile_id="0/0",
    direction="inference",
    calls=(GeneratedCall(0, "triton_poi_0", "triton", 9, post_nodes=("mul",)),),
    post_nodes=(
        GraphNode("mul", "torch.ops.aten.mul.Tensor", file="/x/model.py", line=7, code="y * 2"),
        GraphNode("mm", "torch.ops.aten.mm.default"),
    ),
    kernels={
        "triton_poi_0": KernelDefinition("triton_poi_0", "@triton.jit\ndef triton_poi_0(): …")
    },
)


def test_a_kernel_is_found_by_its_code_and_by_the_line_it_came_from():
    kernel = Kernel(GRAPH, "triton_poi_0", "@triton.jit")
    assert [node.name for node in nodes_of(kernel)] == ["mul"]
    assert matching([kernel], "TRITON.jit model.py:7") == [kernel]
    assert matching([kernel], "mm") == []


def test_a_node_of_another_graph_with_the_same_name_is_not_its_own():
    """Source comments name nodes before AOT autograd: `add_4` there is `add_7` after it."""
    call = GeneratedCall(0, "k", "triton", 9, source_nodes=("add_4",), post_nodes=("add_7",))
    definition = KernelDefinition("k", "@triton.jit", nodes=(("add_4", ("add_7",)),))
    nodes = tuple(GraphNode(name, "torch.ops.aten.add.Tensor") for name in ("add_4", "add_7"))
    for calls in ((call,), (structs.replace(call, post_nodes=()),)):
        graph = structs.replace(GRAPH, calls=calls, post_nodes=nodes, kernels={"k": definition})
        assert [node.name for node in nodes_of(Kernel(graph, "k", ""))] == ["add_7"]


def test_a_kernel_is_not_made_from_all_that_came_before_a_convolution():
    """Of its code: what it loads, adds and stores. Inductor lists nine nodes for the last two."""
    log = read_inductor(list((SAMPLES / "customcnn/default/torch_trace").iterdir()))
    made_from = {
        kernel.name.rpartition("_")[2]: [node.name for node in nodes_of(kernel)]
        for kernel in all_kernels(log)
    }
    assert made_from["2"] == ["convolution", "relu"]  # of the convolution the bias
    assert made_from["3"] == ["_low_memory_max_pool_with_offsets"]
    assert made_from["7"] == ["convolution_2"]  # its weight in another layout
    assert made_from["8"] == ["convolution_2", "relu_2", "mean"]
    assert made_from["9"] == ["mean"]


@pytest.mark.parametrize("sample", ["bert/default", "bert/reduce-overhead"])
def test_the_nodes_of_a_kernel_are_those_of_the_log(sample):
    logs = list((SAMPLES / sample / "torch_trace").iterdir())
    listed: dict[str, set[str]] = {}
    for log in logs:
        for payload in re.findall(
            r'"inductor_provenance_tracking_node_mappings".*\n((?:\t.*\n)+)',
            gzip.decompress(log.read_bytes()).decode(),
        ):
            for handle, nodes in json.loads(payload)["cppCodeToPost"].items():
                listed.setdefault(handle.rsplit(":", 1)[0], set()).update(nodes)
    kernels = all_kernels(read_inductor(logs))
    assert kernels
    for kernel in kernels:
        assert {node.name for node in nodes_of(kernel)} == listed[kernel.name]


def test_code_is_taken_out_of_the_string_it_is_kept_in():
    triton = "# Source\nk = async_compile.triton('k', '''\nimport triton\n''', device_str='cuda')"
    assert readable(triton) == ("python", "# Source\nimport triton")
    cpp = "k = async_compile.cpp_pybinding(['float*'], r'''\nvoid kernel() {}\n''')"
    assert readable(cpp) == ("cpp", "void kernel() {}")
    assert readable("def plain(): …")[1] == "def plain(): …"


def test_launches_are_those_of_the_step_and_not_of_its_graphs_alone(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    # Each step copies its input with one kernel, and launches one graph of 256 events.
    text = html_of(opened(baseline="sample/bert/reduce-overhead"))
    assert "2 launches per step (1 of a graph) instead of 257." in text
