"""How often a run compiled, and how many functions run eager: one count wherever it is told."""

import gzip
import json
from pathlib import Path

import pytest

from profiler_core.analysis.compilation.report import compilation_report
from profiler_core.analysis.rows.compilation import fact_table
from profiler_core.cli.logs import _text
from profiler_core.ingest.compile_log.reader import read_compile_log_files
from profiler_core.model.compilation import CompileLog

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "fixtures" / "torch_logs"
LOGS = [
    (CORPUS / "2.4.1" / "b2_break_places", 25),  # 3 frames given up, of which one names an error
    (CORPUS / "2.7.1" / "d1_recompile_limit", 16),  # and two attempts that met the limit
    (CORPUS / "2.15.0" / "d2_accumulated_limit", 5),
    (CORPUS / "2.15.0" / "h1_fullgraph_error", 0),
    (ROOT / "sample_traces" / "breaky" / "default", 10),  # and 9 records of the first calls
    (ROOT / "sample_traces" / "simplecnn-training" / "default", 2),  # the second: its backward
]


def ended_with_code(path):
    """By plain JSON: what compiled a frame or a backward and neither failed nor was given up."""
    n = 0
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        if line[:1] not in set("VIWE") or "compilation_metrics" not in line:
            continue
        record = json.loads(line[line.index("{") :])
        for kind in ("compilation_metrics", "bwd_compilation_metrics"):
            metrics = record.get(kind)
            if metrics and not metrics.get("fail_type"):
                n += metrics.get("has_guarded_code") is not False
    return n


def facts(log):
    table = fact_table([("a", compilation_report(log))])
    return {row[0].text: row[1].text for row in table.rows}


@pytest.mark.parametrize(("folder", "n"), LOGS)
def test_a_compilation_is_what_ended_with_code(folder, n):
    """The report counted what runs at the first calls, too, and `logs` what the limit ended."""
    (path,) = (folder / "torch_trace").iterdir()
    assert ended_with_code(path) == n
    log = read_compile_log_files([path])
    assert facts(log)["Compilations"] == str(n)
    report = compilation_report(log)
    assert report.compile_time is None or report.compile_time.n_compilations == n
    assert f", {n} compilation" in _text(report)


def test_what_no_log_lists_is_not_counted_as_none():
    """A text log lists no compilations: "Compilations 0" stood above its recompiles."""
    text = read_compile_log_files(
        [CORPUS / "2.7.1" / "d1_recompile_limit" / "torch_logs.rg.txt.gz"]
    )
    assert facts(text)["Compilations"] == "–"
    assert "compilation" not in _text(compilation_report(text)).split("\n")[0]
    assert facts(CompileLog())["Compilations"] == "0"
