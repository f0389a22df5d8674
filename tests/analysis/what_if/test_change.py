"""Every finding with a number per step says what would have to be different."""

import ast
from pathlib import Path

import pytest

from profiler_core.analysis.what_if.change import LEVERS

RULES = Path("profiler_core/analysis/finding_rules")


def made_findings():
    """(module, keywords) of each place that makes a finding."""
    return [
        (path.stem, {keyword.arg: keyword.value for keyword in node.keywords})
        for path in sorted(RULES.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding"
    ]


@pytest.mark.parametrize(("module", "keywords"), made_findings())
def test_what_has_a_number_per_step_names_its_lever(module, keywords):
    if "prediction" in keywords:
        assert "change" in keywords, module


def test_every_lever_is_some_findings_own():
    texts = {
        node.value
        for path in RULES.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
    }
    assert set(LEVERS) <= texts
