"""An installation without extras: no torch, and compare, gate, report and agents all the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.requirements import declared, sections

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_traces" / "customcnn"
EAGER, DEFAULT = SAMPLE / "eager", SAMPLE / "default"
RANKS = ROOT / "sample_traces" / "ddp" / "eager"

COMMANDS = {
    "summary": f"summary {EAGER} --json",
    "compare": f"compare {EAGER} {DEFAULT} --json",
    "logs": f"logs {DEFAULT} --json",
    "gate": f"gate {EAGER} {DEFAULT} --json",
    "html": f"report {EAGER} {DEFAULT} --out report.html",
    "markdown": f"report {EAGER} {DEFAULT} --out report.md",
    "runs": "runs list --json",
    "agent": f"agent {EAGER} {DEFAULT}",
    "open": f"open {EAGER} --no-browser",
    "page": f"open {EAGER} --page kernels",
    "newest": "open",
    "hta": f"ranks {RANKS} --hta",
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> dict[str, list[object]]:
    """Name of a command -> status, output, errors; in the process where extras cannot be found."""
    folder = tmp_path_factory.mktemp("core")
    process = subprocess.run(
        [sys.executable, "-m", "tests.core_alone", *COMMANDS.values()],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "FUSIONSCOPE_HOME": str(folder / "home"),
        },
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    *answers, imported = map(json.loads, process.stdout.splitlines())
    assert imported == []
    report = (folder / "report.html").read_text("utf-8")
    return {**dict(zip(COMMANDS, answers, strict=True)), "report": [0, report, ""]}


@pytest.mark.parametrize("name", ["summary", "compare", "logs", "runs", "agent"])
def test_it_answers(ended, name):
    status, output, errors = ended[name]
    assert (status, errors) == (0, "")
    assert json.loads(output)


def test_it_judges(ended):
    status, output, _ = ended["gate"]
    assert status == 1
    assert json.loads(output)["outcome"] == "regression"


def test_its_report_has_its_charts(ended):
    assert ended["html"][0] == ended["markdown"][0] == 0
    assert ended["report"][1].count("Plotly.newPlot(") >= 3


@pytest.mark.parametrize(
    ("name", "problem", "extra"),
    [
        ("open", "the dashboard needs streamlit and pandas, not installed here.", "dashboard"),
        ("page", "--page needs streamlit and pandas, not installed here.", "dashboard"),
        ("newest", "The dashboard needs streamlit and pandas, not installed here.", "dashboard"),
        ("hta", "HTA's second opinion needs hta and pandas, not installed here.", "ranks"),
    ],
)
def test_what_needs_an_extra_names_it(ended, name, problem, extra):
    text = "".join(ended[name][1:])
    assert problem in text
    assert f"with its extra [{extra}]" in text
    assert "Traceback" not in text


def test_open_shows_a_report_without_the_dashboard(ended):
    status, output, _ = ended["open"]
    assert status == 0
    text = Path(output.strip()).read_text("utf-8")
    assert "<title>customcnn: eager</title>" in text
    assert "Plotly.newPlot(" in text


def test_the_numbers_of_ranks_need_no_extra(ended):
    assert ended["hta"][0] == 0
    assert "rank 0" in ended["hta"][1]


def test_only_all_brings_torch():
    """An unpinned torchvision once replaced a user's torch 2.13 by 2.15 and 6.4 GB of CUDA."""
    bring = {
        extra
        for extra, requirements in declared().items()
        if any(line.startswith(("torch", "Holistic")) for line in requirements)
    }
    assert bring == {"all", "ranks"}
    assert not any(line.startswith("torch") for line in declared()["ranks"])


def test_all_is_requirements_txt():
    listed = [line for section in sections().values() for line in section]
    assert declared()["all"] == listed
    wanted = (
        "torch",
        "torchvision",
        "streamlit",
        "plotly",
        "nvidia-ml-py",
        "HolisticTraceAnalysis",
    )
    assert {line.split(">")[0].split("=")[0] for line in listed} >= set(wanted)


def test_a_server_has_neither_torch_nor_jupyter():
    names = " ".join(declared()["server"])
    assert "torch" not in names
    assert "Holistic" not in names
    assert {"streamlit>=1.67", "authlib>=1.3.2", "psycopg[binary]>=3.1"} <= set(
        declared()["server"]
    )
