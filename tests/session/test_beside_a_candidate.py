"""Beside several candidates a module, a line, an operator is told beside any one of them."""

import gzip
import json
import re
from html import unescape
from pathlib import Path

import pytest

from profiler_core.analysis.item import (
    Item,
    group_item,
    kernel_item,
    module_item,
    operator_item,
    read_item,
    source_item,
)
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.ui.dossier.draw import dossier_html

RUNS = Path(__file__).resolve().parents[2] / "sample_traces" / "customcnn"
VARIANTS = ("eager", "default", "reduce-overhead")


@pytest.fixture(scope="module")
def three() -> Comparison:
    return Comparison.open([RUNS / variant for variant in VARIANTS])


def head_ns(variant: str) -> float:
    """ns per step of the one product with a vector, which is the classifier, from the JSON."""
    events = json.loads(gzip.decompress((RUNS / variant / "trace.json.gz").read_bytes()))
    events = events["traceEvents"]
    n_steps = sum(
        event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#")
        for event in events
    )
    kernels = [e for e in events if e.get("cat") == "kernel" and "gemv" in e["name"]]
    return 1000 * sum(kernel["dur"] for kernel in kernels) / n_steps


@pytest.mark.parametrize("of", [1, 2])
def test_a_module_has_the_time_groups_and_code_of_the_asked_candidate(
    three: Comparison, of: int
) -> None:
    """The row of `default` said 1.90 us, and the dossier that it opened 2.25, of the other one."""
    made = dossier(three, module_item("head").beside(of))
    truths = [head_ns(variant) for variant in VARIANTS]
    assert [time.time_ns for time in made.times] == pytest.approx(truths)
    assert [time.label for time in made.times] == list(VARIANTS)
    assert f" in {VARIANTS[of]}" in made.answer
    became = next(each for each in made.relations if each.kind == "became")
    assert became.heads == ("eager", VARIANTS[of])
    assert {entry.item.run for entry in became.entries if entry.item} == {of}


@pytest.mark.parametrize("of", [1, 2])
def test_a_line_and_an_operator_too(three: Comparison, of: int) -> None:
    for item in (source_item("models.py:26"), operator_item("aten::convolution")):
        made = dossier(three, item.beside(of))
        became = next(each for each in made.relations if each.kind == "became")
        assert {entry.item.run for entry in became.entries if entry.item} == {of}
        assert f" in {VARIANTS[of]}" in made.answer, item


@pytest.mark.parametrize("of", [1, 2])
def test_a_group_leads_to_what_is_beside_its_candidate(three: Comparison, of: int) -> None:
    made = dossier(three, group_item(of, 0))
    assert made.beside == of
    items = [entry.item for each in made.relations for entry in each.entries if entry.item]
    assert {item.candidate for item in items} == {of}
    page = unescape(str(dossier_html(made)))
    linked = re.findall(r'data-item="((?:module|source)@?\d*:[^"]+)"', page)
    assert linked
    assert {read_item(each).of for each in linked if read_item(each)} == {of}


def test_times_of_the_others_lead_to_them(three: Comparison) -> None:
    page = str(dossier_html(dossier(three, module_item("head").beside(1))))
    assert 'data-item="module@2:head"' in page
    assert 'data-item="module@1:head"' not in page


def test_beside_one_candidate_addresses_are_as_they_were() -> None:
    pair = Comparison.open([RUNS / variant for variant in VARIANTS[:2]])
    made = dossier(pair, group_item(1, 0))
    assert "@1:" not in str(dossier_html(made))
    assert dossier(pair, module_item("head").beside(1)).times == (
        dossier(pair, module_item("head")).times
    )


def test_findings_of_a_thing_are_the_same_beside_any_candidate(three: Comparison) -> None:
    named = {
        item
        for pair in three.pairs
        for finding in pair.findings or ()
        for item in finding.items
        if item.is_by_name
    }
    assert named
    for item in named:
        plain = dossier(three, item).findings
        assert plain
        assert dossier(three, item.beside(1)).findings == plain
        assert dossier(three, item.beside(2)).findings == plain


@pytest.mark.parametrize(
    "item", [module_item("a.b").beside(2), kernel_item("k"), source_item("x.py:3").beside(1)]
)
def test_an_address_names_the_candidate(item: Item) -> None:
    assert read_item(item.text) == item


@pytest.mark.parametrize("text", ["module@:a", "module@0:a", "module@x:a", "group@1:1.2", "@1:a"])
def test_an_address_that_names_none_opens_nothing(text: str) -> None:
    assert read_item(text) is None


def test_a_candidate_that_is_none_of_these_is_the_first_shown(three: Comparison) -> None:
    assert dossier(three, module_item("head").beside(99)).answer == (
        dossier(three, module_item("head")).answer
    )
