"""Dossiers and search know the functions of the user's code that Python calls of a trace name."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from profiler_core.analysis.dossier.record import Dossier, Relation
from profiler_core.analysis.item import group_item, kernel_item, operator_item, source_item
from profiler_core.analysis.search import SearchEntry
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.session.search import search_index
from profiler_core.ui.dossier.draw import dossier_html
from tests.analysis.called_functions import write_trace
from tests.larger import LARGER

STACK = LARGER / "captures" / "resnet50_b1.eager+stack"
OF_FUNCTIONS = (
    "Which line it comes from is not known: Python calls in a trace have the line where a "
    "function begins."
)


@pytest.fixture
def pair(tmp_path: Path) -> Comparison:
    """Two eager runs with Python calls, of which the second's kernels take three times as long."""
    before = write_trace(tmp_path / "before" / "trace.json")
    after = write_trace(tmp_path / "after" / "trace.json", times=3)
    return Comparison.open([before.parent, after.parent])


def relation(of: Dossier, kind: str) -> Relation | None:
    return next((relation for relation in of.relations if relation.kind == kind), None)


def functions(of: Dossier) -> dict[str, tuple[float | None, ...]]:
    listed = relation(of, "functions")
    return {} if listed is None else {entry.title: entry.times_ns for entry in listed.entries}


def found_lines(runs: Comparison, query: str) -> list[SearchEntry]:
    return [hit for hit in search_index(runs).search(query, 9) if hit.kind == "source line"]


def why_no_line(of: Dossier) -> str:
    (line,) = (each for each in of.missing if each.startswith("Which line"))
    return line


def test_operators_and_kernels_list_the_functions_that_call_them(pair: Comparison) -> None:
    """ "that takes the compiled run's structured log" stood there, of two eager runs."""
    of_mul = {
        "impl.py:5 own": (17_000, 51_000),
        "net.py:40 rotate": (11_000, 33_000),
    }
    for item in (operator_item("aten::mul"), kernel_item("mul_kernel")):
        made = dossier(pair, item)
        assert functions(made) == of_mul
        assert why_no_line(made) == OF_FUNCTIONS
    listed = relation(made, "functions")
    assert listed is not None and listed.heads == pair.labels
    assert [entry.item for entry in listed.entries] == [
        source_item("impl.py:5"), source_item("net.py:40"),
    ]  # fmt: skip
    assert "Functions that call it" in dossier_html(made)
    groups = pair.pairs[0].ledger.groups
    (number,) = (n for n, group in enumerate(groups) if group.title == "neg")
    made = dossier(pair, group_item(1, number))
    assert functions(made) == {"net.py:60 half": (7000, 21_000)}
    assert why_no_line(made) == OF_FUNCTIONS


def test_why_no_line_is_known_is_said_of_the_files_that_are_there(
    pair: Comparison, tmp_path: Path
) -> None:
    gradient = dossier(pair, kernel_item("gradient_kernel"))
    assert functions(gradient) == {}
    assert "no Python call of your code is around it" in why_no_line(gradient)
    bare = write_trace(tmp_path / "bare" / "trace.json", with_calls=False)
    line = why_no_line(dossier(Comparison.open([bare.parent]), operator_item("aten::mul")))
    assert "TORCH_TRACE" in line
    assert "with_stack=True" in line


def test_a_function_is_found_and_opens(pair: Comparison) -> None:
    (hit,) = found_lines(pair, "rotate")
    assert (hit.kind, hit.title, hit.detail) == ("source line", "net.py:40", "rotate")
    assert hit.sides_ns == (11_000, 33_000)
    places = {each.title for each in found_lines(pair, "net.py")}
    assert places == {"net.py:10", "net.py:40", "net.py:60"}
    made = dossier(pair, hit.item)
    assert made.title == "net.py:40"
    assert [(time.time_ns, time.n) for time in made.times] == [(11_000, 1), (33_000, 1)]
    (about,) = made.about
    assert "function rotate begins" in about
    assert made.modules == ("Rotary_0",)
    operators, kernels = relation(made, "operators"), relation(made, "kernels")
    assert operators is not None and kernels is not None
    assert [(e.title, e.item, e.times_ns) for e in (*operators.entries, *kernels.entries)] == [
        ("aten::mul", operator_item("aten::mul"), (11_000, 33_000)),
        ("mul_kernel", kernel_item("mul_kernel"), (11_000, 33_000)),
    ]
    with pytest.raises(NothingToAnalyse):
        dossier(pair, source_item("net.py:90"))  # launches nothing


def test_one_run_without_python_calls_is_no_head(tmp_path: Path) -> None:
    before = write_trace(tmp_path / "before" / "trace.json", with_calls=False)
    after = write_trace(tmp_path / "after" / "trace.json", times=3)
    pair = Comparison.open([before.parent, after.parent])
    assert functions(dossier(pair, operator_item("aten::neg"))) == {"net.py:60 half": (21_000,)}
    (hit,) = found_lines(pair, "rotate")
    assert (hit.step_ns, hit.sides_ns, hit.runs) == (33_000, (), pair.labels[1])
    assert [time.label for time in dossier(pair, hit.item).times] == [pair.labels[1]]


def test_the_functions_of_a_real_run_are_those_around_its_launches() -> None:
    """By the file's own events: the innermost of the user's frames around each launch."""
    events = json.loads(gzip.decompress((STACK / "trace.json.gz").read_bytes()))["traceEvents"]
    whole = [event for event in events if event.get("ph") == "X"]
    frames = [
        event
        for event in whole
        if event.get("cat") == "python_function" and "resnet.py(" in event["name"]
    ]
    launches = {
        event["args"]["correlation"]: event["ts"]
        for event in whole
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    us: Counter[str] = Counter()
    for event in whole:
        if event.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy"):
            at = launches[event["args"]["correlation"]]
            around = [f for f in frames if f["ts"] <= at < f["ts"] + f["dur"]]
            if around:
                name = max(around, key=lambda frame: frame["ts"])["name"]
                us[name.rpartition("/")[2]] += event["dur"]
    n_steps = sum(event["name"].startswith("ProfilerStep#") for event in whole) // 2
    alone = Comparison.open([STACK])
    for name in ("resnet.py(143): forward", "resnet.py(266): _forward_impl"):
        place, _, function = name.replace("(", ":").partition("): ")
        made = dossier(alone, source_item(place))
        assert made.times[0].time_ns == pytest.approx(1000 * us[name] / n_steps)
        assert f"{place} {function}" in functions(dossier(alone, operator_item("aten::conv2d")))
        found = search_index(alone).search(f"{function} {place}", 30)
        assert source_item(place) in {hit.item for hit in found}
