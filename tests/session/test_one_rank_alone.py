"""One rank of a job without the others: every surface says that the times are its alone."""

import contextlib
import io
import shutil

import pytest

from profiler_core.agents import tools
from profiler_core.answers.encoding import plain
from profiler_core.cli.main import main
from profiler_core.session.comparison import Comparison
from profiler_core.store import library
from tests.analysis.ranks.test_critical_path import SAMPLE
from tests.apps import opened, text_of

NOTE = "times are of rank 0 of 2 alone"


@pytest.fixture
def runs(tmp_path, columns, monkeypatch):
    """The sample's runs without the files of rank 1."""
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for variant in ("eager", "default"):
        left_out = shutil.ignore_patterns("ranks")
        shutil.copytree(SAMPLE / variant, tmp_path / "runs" / "one" / variant, ignore=left_out)
    return [tmp_path / "runs" / "one" / variant for variant in ("eager", "default")]


def printed(*words):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        assert main([*map(str, words)]) in (0, 1)
    return text.getvalue()


def told(text):
    """Whether the note stands there once, for both runs."""
    (line,) = [line for line in text.splitlines() if NOTE in line]
    return line.endswith("The same holds for default.")


def test_compare_gate_report_agents_and_pages_say_it(runs, tmp_path):
    assert told(printed("compare", *runs))
    assert printed("gate", *runs, "--max-step-time", "+50%").count(NOTE) == 2
    printed("report", *runs, "-o", tmp_path / "report.html")
    assert NOTE in (tmp_path / "report.html").read_text(encoding="utf-8")
    (candidate,) = plain(tools.compare(*map(str, runs)))["candidates"]
    assert told("\n".join(candidate["notes"]))
    for page in ("overview", "kernels", "fusion"):
        app = opened(page, baseline="run/one/eager", candidate="run/one/default")
        assert NOTE in text_of(app), page


def test_a_bare_trace_of_a_rank_says_it_and_a_job_does_not():
    trace = SAMPLE / "eager" / "ranks" / "1" / "trace.json.gz"
    assert Comparison.open([trace]).runs[0].alone_note.startswith("Times are of rank 1 of 2 alone")
    assert Comparison.open([SAMPLE / "eager"]).runs[0].alone_note == ""
    assert Comparison.open([SAMPLE.parent / "customcnn" / "eager"]).runs[0].alone_note == ""
