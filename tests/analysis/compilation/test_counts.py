"""How often a run compiled, and how many functions run eager: one count wherever it is told."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from profiler_core.analysis.compilation.report import compilation_report
from profiler_core.analysis.finding_rules.compiler import frame_skips
from profiler_core.analysis.rows.compilation import eager_table, fact_table
from profiler_core.analysis.wording.compilation import headline
from profiler_core.analysis.wording.sentence import plain
from profiler_core.cli.logs import _text
from profiler_core.ingest.compile_log.reader import read_compile_log_files
from profiler_core.model.compilation import CompileLog, FrameSkip, LimitHit

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "fixtures" / "torch_logs"
BREAKY = ROOT / "sample_traces" / "breaky" / "default"
LOGS = [
    (CORPUS / "2.4.1" / "b2_break_places", 25),  # 3 frames given up, of which one names an error
    (CORPUS / "2.7.1" / "d1_recompile_limit", 16),  # and two attempts that met the limit
    (CORPUS / "2.15.0" / "d2_accumulated_limit", 5),
    (CORPUS / "2.15.0" / "h1_fullgraph_error", 0),
    (BREAKY, 10),  # and 9 records of the first calls
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


LIMIT = LimitHit(function="forward", file="m.py", line=3, limit="recompile_limit")
REST = replace(LIMIT, line=9, is_rest=True)
SKIP = FrameSkip(function="loop", function_line=3, file="m.py", line=5, reason="in a loop")


@pytest.mark.parametrize(("skips", "hits", "told", "headline_begins"), [
    ((), (), "0", "One graph"),
    ((), (REST,), "1, partly", "1 function runs partly eager since the recompile limit"),
    ((), (LIMIT, replace(LIMIT, rank=1)), "1", "1 function runs eager since the recompile limit"),
    ((SKIP,), (REST,), "2, 1 of them partly", "1 function runs eager because of a break inside; 1 "
     "function runs partly eager"),
    # One function with two breaks in its loops, and another one that is called the same.
    ((SKIP, replace(SKIP, line=7)), (), "1", "1 function runs eager because"),
    ((SKIP, replace(SKIP, function_line=30, line=35)), (), "2", "2 functions run eager because"),
])  # fmt: skip
def test_functions_that_run_eager_are_those_of_the_page(skips, hits, told, headline_begins):
    """The table said 0 where the page said that one runs eager since the recompile limit."""
    log = CompileLog(frame_skips=skips, limit_hits=hits)
    assert facts(log)["Functions that run eager"] == told
    report = compilation_report(log)
    assert plain(headline(report)).startswith(headline_begins)
    finding = frame_skips(SimpleNamespace(compilation=report, place=1))
    n = report.eager_functions.skipped
    assert finding.title.startswith(f"{n} function") if skips else finding is None
    assert finding is None or len(finding.items) == len(skips)


def test_the_function_that_met_the_limit_in_a_capture_is_counted():
    paths = [next((BREAKY / "torch_trace").iterdir()), BREAKY / "torch_logs.txt"]
    assert facts(read_compile_log_files(paths))["Functions that run eager"] == "1, partly"


def test_a_report_lists_the_functions_that_met_the_limit_as_the_page_does():
    """ "Functions that run eager: 1, partly" stood above a table without it."""
    paths = [next((BREAKY / "torch_trace").iterdir()), BREAKY / "torch_logs.txt"]
    report = compilation_report(read_compile_log_files(paths))
    (row,) = eager_table(report, 10).rows
    (hit,) = report.log.limit_hits
    name, cause, change = row
    assert (name.text, cause.text) == (f"forward, from line {hit.line} on", "recompile limit")
    assert hit.is_rest and name.below == (f"child/{Path(hit.file).name}:{hit.line}",)
    assert change.text == "Remove the cause of the recompiles below."
    assert cause.below == (
        f"It was compiled again and again until recompile_limit ({hit.value}) was reached. Last "
        f"guard that failed: {hit.last_reason}. It runs eager for new inputs.",
    )


def test_a_function_that_met_the_limit_on_two_ranks_is_one_row():
    hits = (LIMIT, replace(LIMIT, rank=1), REST)
    report = compilation_report(CompileLog(frame_skips=(SKIP,), limit_hits=hits))
    table = eager_table(report, 10)
    assert [row[0].text for row in table.rows] == ["loop", "forward", "forward, from line 9 on"]
    assert len(table.rows) == report.eager_functions.n
    assert eager_table(report, 1).n_left_out == 1


def test_what_no_log_lists_is_not_counted_as_none():
    """A text log lists no compilations: "Compilations 0" stood above its recompiles."""
    text = read_compile_log_files(
        [CORPUS / "2.7.1" / "d1_recompile_limit" / "torch_logs.rg.txt.gz"]
    )
    assert facts(text)["Compilations"] == "–"
    assert "compilation" not in _text(compilation_report(text)).split("\n")[0]
    assert facts(CompileLog())["Compilations"] == "0"
