"""Beside several candidates a module, a line, an operator is told beside any one of them."""

import gzip
import json
import re
from html import unescape
from math import prod
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
from profiler_core.session.search import search_index
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


def share_of_bandwidth(run: Path, name: str, peak: float) -> float:
    """Of one kernel that works in place, by the shapes that its trace has of it, from the JSON."""
    events = json.loads(gzip.decompress((run / "trace.json.gz").read_bytes()))["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel" and e["name"] == name]
    calls = [e for e in events if e.get("cat") == "cpu_op" and e["name"] == name]
    shapes = calls[0]["args"]["Input Dims"]
    n_bytes = sum(2 * 4 * prod(shape) for shape in shapes if shape)  # read and written
    seconds = sum(kernel["dur"] for kernel in kernels) / len(kernels) / 1e6
    return n_bytes / seconds / peak


@pytest.mark.parametrize("of", [1, 2])
def test_a_kernel_is_held_against_the_limits_of_the_asked_candidate(of: int) -> None:
    """The dossier beside default said 62 % of the bandwidth, which is reduce-overhead's."""
    runs = [RUNS.parent / "bert" / variant for variant in VARIANTS]
    bert = Comparison.open(runs)
    names = [row.name for row in bert.kernels if "softmax" in row.name and row.n(1) and row.n(2)]
    (name,) = [each for each in names if each.startswith("triton_")]
    made = dossier(bert, kernel_item(name).beside(of))
    share = re.search(r"at (\d+) % of the memory's bandwidth in (\S+)\.$", made.answer)
    assert share is not None
    assert share[2] == VARIANTS[of]
    # An H200 moves 4.8 TB/s; the log counts the same tensors.
    truth = share_of_bandwidth(runs[1], name, 4.8e12)
    slower = {1: 1.0, 2: made.times[1].mean_ns / made.times[2].mean_ns}[of]
    assert int(share[1]) == pytest.approx(100 * truth * slower, abs=1.5)


def test_a_finding_says_which_candidate_it_is_of() -> None:
    runs = [RUNS.parent / "breaky" / variant for variant in VARIANTS]
    breaky = Comparison.open(runs)
    answers = [dossier(breaky, Item("finding", f"{of}.recompiles")).answer for of in (1, 2)]
    assert ["in default" in answers[0], "in reduce-overhead" in answers[1]] == [True, True]


def test_search_leads_beside_the_candidate_of_its_times(three: Comparison) -> None:
    hits = [hit for hit in search_index(three).entries if hit.item.is_by_name and hit.runs]
    assert {hit.item.kind for hit in hits} >= {"module", "operator", "source"}
    for hit in hits:
        if hit.item.of is not None:
            assert hit.runs == f"eager → {VARIANTS[hit.item.of]}"
            made = dossier(three, hit.item)
            assert f" in {VARIANTS[hit.item.of]}" in made.answer, hit


@pytest.mark.parametrize("of", [1, 2])
def test_search_tells_of_the_candidate_that_pages_tell_of(three: Comparison, of: int) -> None:
    """With default shown a hit said "eager -> reduce-overhead" and opened that."""
    hits = search_index(three, of).entries
    own = three.kernels[0]
    for hit in hits:
        if hit.item.named == module_item("head"):
            assert (hit.item.of, hit.runs) == (of, f"eager → {VARIANTS[of]}")
        if hit.item.kind == "finding":
            assert hit.item.run == of
        if hit.item == kernel_item(own.name) and all(own.sides):
            assert hit.sides_ns == (own.time_ns(0), own.time_ns(of))
    assert {hit.item.kind for hit in hits} >= {"module", "kernel"}


def test_a_kernel_of_no_such_candidate_is_told_of_the_first_shown(three: Comparison) -> None:
    name = next(row.name for row in three.kernels if all(row.sides))
    answers = [dossier(three, kernel_item(name).beside(of)).answer for of in (None, 99)]
    assert answers[0] == answers[1]
    assert f" in {VARIANTS[three.shown_first + 1]}" in answers[0]
