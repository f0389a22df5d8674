"""The ledger on the page is the command line's: it reads the same files of a run."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
import streamlit as st

from profiler_core.answers.explanation import fusion_answer
from profiler_core.session.comparison import Comparison
from profiler_core.store import library
from profiler_core.ui.choice import open_choice
from profiler_core.ui.fusion.data import fused

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A CPU pair whose baseline has an attribution pass: its Python calls name one module."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    folders = []
    for run in ("smallcnn_cpu.eager", "smallcnn_cpu.default"):
        folders.append(tmp_path / "runs" / "cpu" / run.split(".")[1])
        shutil.copytree(CAPTURES / run, folders[-1])
    trace = json.loads(gzip.decompress((folders[0] / "trace.json.gz").read_bytes()))
    steps = [e for e in trace["traceEvents"] if e.get("name", "").startswith("ProfilerStep")]
    trace["traceEvents"] += [
        {
            **{key: step[key] for key in ("ph", "pid", "tid", "ts", "dur")},
            "cat": "python_function",
            "name": "nn.Module: SmallCNN_0",
            "args": {"Python id": number, "Python parent id": None, "Python module id": 0},
        }
        for number, step in enumerate(steps)
    ]
    (folders[0] / "trace_stacks.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode()))
    st.cache_resource.clear()
    return folders


def test_an_attribution_pass_names_modules_on_the_page_too(runs):
    told = Comparison.open(runs).pairs[0].ledger
    shown = fused(open_choice(("run/cpu/eager", "run/cpu/default")), 0).ledger
    assert {group.module for group in shown.of_kind("matched")} == {"SmallCNN_0"}
    assert fusion_answer(shown) == fusion_answer(told)
