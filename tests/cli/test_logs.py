import json
import re
from pathlib import Path

import pytest

from profiler_core.cli.main import main

FIXTURES = Path(__file__).parents[1] / "fixtures"
CORPUS = FIXTURES / "torch_logs"
KEYS = {
    "schema", "torch_version", "graph_breaks", "frame_skips", "recompiles", "recompile_limit_hits",
    "compilations", "perf_hints", "cudagraph_skips", "lower_bound", "n_lines", "n_unparsed",
}  # fmt: skip
BREAK_KEYS = {
    "file", "line", "function", "reason", "kind", "gb_id", "n", "compile_ids", "cost_ns", "remedy",
}  # fmt: skip
RECOMPILE_KEYS = {"file", "line", "function", "compile_id", "reasons", "kind", "cost_ns", "remedy"}


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


def answer(capsys, *words):
    assert main(["logs", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_run_gives_all_keys_with_costs(capsys):
    found = answer(capsys, FIXTURES / "graph_breaks" / "breaky")
    assert found.keys() >= KEYS
    assert found["graph_breaks"][0].keys() >= BREAK_KEYS
    assert found["recompiles"][0].keys() >= RECOMPILE_KEYS
    assert found["graph_breaks"][0]["cost_ns"] > 0
    assert found["torch_version"] == "2.11.0+cu130"
    assert found["n_unparsed"] == 0


def test_a_text_alone_says_what_it_cannot_show(capsys):
    found = answer(capsys, CORPUS / "2.4.1" / "b1_break_kinds" / "torch_logs.rg.txt.gz")
    assert len(found["graph_breaks"]) == 13
    assert all(one["cost_ns"] is None for one in found["graph_breaks"])
    assert any("data-dependent" in sentence for sentence in found["lower_bound"])
    assert (found["torch_version"], found["torch_version_range"]) == (None, ["2.3", "2.4"])


def test_a_structured_log_alone_gives_compilations(capsys):
    (path,) = (CORPUS / "2.7.1" / "b1_break_kinds" / "torch_trace").iterdir()
    found = answer(capsys, path)
    assert len(found["graph_breaks"]) == 15
    assert all(one["seconds"] > 0 for one in found["compilations"])


def test_files_of_one_run_are_merged(capsys):
    folder = CORPUS / "2.15.0" / "d2_accumulated_limit"
    (structured,) = (folder / "torch_trace").iterdir()
    found = answer(capsys, structured, folder / "torch_logs.rg.txt.gz")
    assert found["sources"] == ["structured", "text"]
    assert len(found["recompiles"]) == 4
    (hit,) = found["recompile_limit_hits"]
    assert (hit["function"], hit["limit"]) == ("tagged", "accumulated_recompile_limit")


def test_the_text_leads_with_what_costs_most(capsys):
    assert main(["logs", str(FIXTURES / "graph_breaks" / "breaky")]) == 0
    text = capsys.readouterr().out
    assert re.search(r"One break costs .* clock\); what the other break costs is not known\.", text)
    assert text.index("bench.py:26") < text.index("print")
    assert "reached recompile_limit: it runs eager for new inputs" in text


def test_skipped_frames_come_before_breaks(capsys):
    path = CORPUS / "2.15.0" / "b2_break_places" / "torch_logs.rg.txt.gz"
    assert main(["logs", str(path)]) == 0
    text = capsys.readouterr().out
    assert text.index("Functions that run eager") < text.index("Graph breaks")


def test_a_run_without_logs_is_told_so(capsys):
    assert main(["logs", str(FIXTURES / "graph_breaks" / "d256_b0")]) == 3
    assert "has no compiler log" in capsys.readouterr().err


def test_a_trace_is_no_log(capsys, tmp_path):
    trace = FIXTURES / "graph_breaks" / "d256_b0" / "trace.json.gz"
    assert main(["logs", str(trace)]) == 3


def test_binary_and_missing_files_end_in_one_sentence(capsys, tmp_path):
    binary = tmp_path / "noise.bin"
    binary.write_bytes(bytes(range(256)) * 64)
    assert main(["logs", str(binary)]) == 2
    assert main(["logs", str(tmp_path / "gone.txt")]) == 2
    errors = capsys.readouterr().err
    assert "binary" in errors and "does not exist" in errors
    assert "Traceback" not in errors
