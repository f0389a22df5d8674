r"""A run of Windows: its logs name C:\Users\…\net.py where the same run of Linux names /home/….

Each path of a shipped capture is rewritten as Windows has it; nothing but the folders may change.
"""

import gzip
import json
import re
import shutil

import pytest

from profiler_core.analysis.compilation.report import LIBRARY, place_text
from profiler_core.analysis.gate.judgement import _in_checkouts
from profiler_core.analysis.source_lines import source_lines
from profiler_core.ingest.windows_paths import with_slashes
from profiler_core.report.contents import gather
from profiler_core.report.redaction import redacted
from profiler_core.resources import sample_traces_directory
from profiler_core.session.comparison import Comparison
from profiler_core.session.search import search_index

SAMPLE = sample_traces_directory() / "breaky"
POSIX = re.compile(rb"(?:/home/user|/opt/torch/\.venv/lib/python3\.12)(?:/[\w.-]+)+\.py\b")


def _windows(path: str) -> str:
    """`/home/user/x.py` -> `C:\\Users\\Ada Lovelace\\x.py`."""
    path = path.replace("/home/user", "C:/Users/Ada Lovelace")
    return path.replace("/opt/torch/.venv/lib/python3.12", "C:/venv/Lib").replace("/", "\\")


def _rewritten(data: bytes, *, is_json: bool) -> bytes:
    def windows(found: re.Match[bytes]) -> bytes:
        text = _windows(found[0].decode())
        return (text.replace("\\", "\\\\") if is_json else text).encode()

    return POSIX.sub(windows, data)


def _structured(data: bytes) -> bytes:
    """Of the structured log: records are JSON, their payloads text or JSON."""
    lines = data.split(b"\n")
    in_json = False
    for number, line in enumerate(lines):
        if not line.startswith(b"\t"):
            in_json = False
        elif not lines[number - 1].startswith(b"\t"):
            in_json = line[1:2] in (b"{", b"[")
        lines[number] = _rewritten(line, is_json=in_json or not line.startswith(b"\t"))
    return b"\n".join(lines)


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> tuple[Comparison, Comparison]:
    """The capture as it is, and as Windows would have written it."""
    folder = tmp_path_factory.mktemp("windows") / "breaky"
    shutil.copytree(SAMPLE, folder)
    n_rewritten = 0
    for path in [*folder.rglob("*.txt"), *folder.rglob("*.json"), *folder.rglob("*.log*")]:
        packed = path.suffix == ".gz"
        data = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
        if path.parent.name == "torch_trace":
            new = _structured(data)
        else:
            new = _rewritten(data, is_json=path.suffix == ".json")
        n_rewritten += new != data
        path.write_bytes(gzip.compress(new) if packed else new)
    assert n_rewritten >= 5
    names = ("eager", "default", "reduce-overhead")
    return tuple(Comparison.open([root / name for name in names]) for root in (SAMPLE, folder))  # type: ignore[return-value]


def _told(comparison: Comparison, run: int) -> object:
    """What the compiler's log says, each place as pages show it."""
    report = comparison.compilation_of(run)
    assert report is not None
    return (
        [(place_text(b.place.file, b.place.line), b.place.code, b.cost_ns) for b in report.breaks],
        [(r.event.function, place_text(r.event.file, r.event.line)) for r in report.recompiles],
        len(report.log.compilations),
    )


@pytest.mark.parametrize("run", [1, 2])
def test_breaks_and_recompiles_are_at_the_same_lines_of_the_users_files(both, run):
    linux, windows = both
    assert _told(windows, run) == _told(linux, run)
    breaks = windows.compilation_of(run).breaks
    assert breaks
    assert all(b.place.file.startswith("C:/Users/Ada Lovelace/") for b in breaks)


def test_the_code_around_a_line_is_found(both):
    linux, windows = both
    for run in (1, 2):
        kept, same = windows.runs[run].kept_sources, linux.runs[run].kept_sources
        assert {with_slashes(_windows(name)): lines for name, lines in same.items()} == kept
        for graph_break in windows.compilation_of(run).breaks:
            assert graph_break.place.line in kept[graph_break.place.file]


def test_groups_have_the_same_lines(both):
    sources = [[g.sources for g in c.pairs[0].ledger.groups] for c in both]
    assert sources[0] == sources[1]
    assert any(sources[1])
    logs = [c.runs[1].code for c in both]
    files = {node.file for graph in logs[1].graphs for node in graph.dynamo_nodes if node.file}
    assert files
    assert all("\\" not in file for file in files)
    assert {node.source for graph in logs[1].graphs for node in graph.dynamo_nodes} == {
        node.source for graph in logs[0].graphs for node in graph.dynamo_nodes
    }


def test_search_and_findings_name_the_same(both):
    linux, windows = (search_index(c) for c in both)
    assert [e.title for e in windows.entries] == [e.title for e in linux.entries]
    found = [[(f.key, f.title, f.evidence) for f in c.pairs[0].findings] for c in both]
    assert found[0] == found[1]


def test_a_redacted_report_names_neither_folder_nor_person(both):
    contents = redacted(gather(both[1]))
    for report in contents.compilations:
        places = [b.place.file for b in report.breaks] if report else []
        assert all(re.fullmatch(r"[\w.]+", place) for place in places)
    assert "Lovelace" not in repr([report and report.breaks for report in contents.compilations])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r'File "C:\Users\ada\my net.py", line 3', 'File "C:/Users/ada/my net.py", line 3'),
        (r'{"f": "D:\\work\\net.py"}', '{"f": "D:/work/net.py"}'),
        (r'"stack": "File \"D:\\\\work\\\\net.py\""', r'"stack": "File \"D:/work/net.py\""'),
        (r"lambda x:\n    return x", r"lambda x:\n    return x"),
        (r"regex \d:\w", r"regex \d:\w"),
        ("/home/user/net.py:3", "/home/user/net.py:3"),
        (r"C:\data\trace.json", r"C:\data\trace.json"),
    ],
)
def test_only_paths_of_python_files_are_rewritten(text, read):
    assert with_slashes(text) == read


def test_a_printed_stack_of_a_trace_gives_its_innermost_line():
    stack = '  File "C:\\Users\\ada\\net.py", line 84, in forward\n    return x'
    assert source_lines(json.dumps([stack])) == ("net.py:84",)


@pytest.mark.parametrize(
    ("file", "is_library"),
    [
        ("C:/Users/ada/net.py", False),
        ("C:/Users/ada/lib/net.py", False),
        ("C:/Python312/Lib/threading.py", True),
        ("C:/venv/Lib/site-packages/torch/nn/modules/module.py", True),
    ],
)
def test_whose_a_file_of_windows_is(file, is_library):
    assert bool(LIBRARY.search(file)) is is_library


def test_a_gate_takes_two_checkouts_of_one_file():
    assert _in_checkouts(r"C:\before\net.py:build", r"D:\after\net.py:build")
    assert not _in_checkouts(r"C:\before\net.py:build", r"C:\before\other.py:build")
    assert _in_checkouts("/before/net.py:build", "/after/net.py:build")
