"""A made-up finding is one file: every surface has it."""

import json
import shutil

import pytest

from tests.copied import ROOT, Copied

RULE = '''
"""Kernels whose names are long."""

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.what_if.prediction import Prediction


def long_names(facts: Facts) -> Finding | None:
    """Long names take long to read."""
    return Finding(
        key="long_names",
        title="Names of kernels are long.",
        evidence=f"{len(facts.summary.kernels)} kernels have a name.",
        advice="Read faster.",
        page="kernels",
        prediction=Prediction.at_most(7e4, facts.clock, "nobody has tried"),
    )


RULES: tuple[Rule, ...] = (long_names,)
'''

TITLE = "Names of kernels are long."
PAIR = ("smallcnn_cpu.eager", "smallcnn_cpu.default")

ANSWERS = """
import contextlib, io, json, sys
from pathlib import Path
from profiler_core.agents import tools
from profiler_core.answers.encoding import plain
from profiler_core.cli.main import main

def printed(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([*words]) == 0
    return out.getvalue()

words, report = sys.argv[1:3], sys.argv[3]
text = printed("compare", *words)
printed("report", *words, "-o", report)
answers = {
    "json": json.loads(printed("compare", *words, "--json")),
    "agents": plain(tools.compare(*words)),
    "text": text,
    "html": Path(report).read_text(encoding="utf-8"),
}
print(json.dumps(answers))
"""

PAGE = """
from streamlit.testing.v1 import AppTest
page = AppTest.from_file("pages/overview.py", default_timeout=300)
page.query_params["baseline"] = "run/pair/smallcnn_cpu.eager"
page.query_params["candidate"] = "run/pair/smallcnn_cpu.default"
page.run()
assert not page.exception, page.exception
drawn = " ".join(str(element.proto) for element in page.main)
assert "Names of kernels are long." in drawn
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    copied = Copied(tmp_path_factory.mktemp("copied"))
    (copied.folder / "static").symlink_to(ROOT / "static")
    rules = copied.package / "analysis" / "finding_rules"
    (rules / "long_names.py").write_text(RULE, encoding="utf-8")
    for name in PAIR:
        source = ROOT / "tests" / "fixtures" / "captures" / name
        shutil.copytree(source, copied.folder / "home" / "runs" / "pair" / name)
    return copied


def test_the_command_line_the_report_and_agents_have_it(product, tmp_path):
    words = [str(product.folder / "home" / "runs" / "pair" / name) for name in PAIR]
    answers = json.loads(product.run("-c", ANSWERS, *words, tmp_path / "report.html"))
    assert TITLE in answers["text"]
    assert TITLE in answers["html"]
    for surface in ("json", "agents"):
        (candidate,) = answers[surface]["candidates"]
        (finding,) = [f for f in candidate["findings"] if f["title"] == TITLE]
        assert finding["at_stake_ns"] == 70_000, surface


def test_the_overview_has_it(product):
    product.run("-c", PAGE)
