"""Each key of the JSON answers and each number of the tables stands in docs/."""

import json
import re
from pathlib import Path

import pytest

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.idle import CAUSES
from profiler_core.analysis.verdict_kind import VerdictKind
from profiler_core.cli.main import main
from tests.doc_tables import TABLES, written
from tests.requirements import declared

ROOT = Path(__file__).parents[1]
JSON = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
COLUMNS = (ROOT / "docs" / "columns.md").read_text(encoding="utf-8")
CAPTURES = ROOT / "tests" / "fixtures" / "captures"

# Under these keys stand names of the data (kernels, calls, variables), not keys of ours.
OF_THE_DATA = ("by_api", "environment", "by_category", "idle_by_cause_ns")
# Words that need no definition: labels, places, what run.json holds.
PLAIN = {
    "schema", "run", "source", "device_kind", "device_kinds", "n_events", "n_skipped",
    "window", "steps", "name", "ts_ns", "start_ns", "end_ns", "kind", "index", "compute_capability",
    "n_multiprocessors", "memory_bytes", "device", "devices", "notes", "findings", "baseline",
    "candidates", "label", "path", "workload", "variant", "status", "error", "clock", "n",
    "environment", "baseline_label", "headline", "details", "waterfall", "fusion", "numerics",
    "key", "candidate", "n_profiled_steps", "measured", "category", "memory", "launch",
    "kernels", "by_category", "compile", "seconds", "step_time", "idle_by_cause_ns", "time_ns",
    "p25_ns", "median_ns", "p75_ns", "p95_ns", "baseline_ns", "candidate_ns",
    "environment_differs", "n_calls", "n_graph_calls", "dur_ns",
    "groups", "op", "module", "title", "advice", "page",
}  # fmt: skip


def keys(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            named_by_data = key in OF_THE_DATA and isinstance(inner, dict)
            yield from keys(list(inner.values()) if named_by_data else inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


@pytest.fixture
def answered(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    found = set()
    runs = [str(CAPTURES / name) for name in ("breaky.eager", "breaky.default")]
    for words in (["summary", runs[1]], ["compare", *runs]):
        assert main([*words, "--json"]) == 0
        found |= set(keys(json.loads(capsys.readouterr().out)))
    return found


def test_each_key_of_an_answer_is_in_json_md(answered):
    assert {key for key in answered if f"`{key}`" not in JSON} == set()


def test_each_number_has_a_definition_in_columns_md(answered):
    assert {key for key in answered - PLAIN if key not in COLUMNS} == set()


def test_categories_causes_and_verdicts_are_listed():
    words = [*CATEGORIES, *CAUSES, *VerdictKind.__args__]
    assert [word for word in words if f"`{word}`" not in JSON] == []
    assert [cause for cause in CAUSES if f"**{cause}**" not in COLUMNS] == []


def test_nobody_is_sent_to_a_package_that_no_index_has():
    wrong = re.compile(r"pip install [^\n`]*[\"' ]fusionscope[\[\"'` ]")
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    texts += (ROOT / "profiler_core").rglob("*.py")
    assert [str(path) for path in texts if wrong.search(path.read_text("utf-8"))] == []


def test_the_extras_that_the_docs_name_exist():
    named = set()
    for path in (ROOT / "docs").glob("*.md"):
        for words in re.findall(r"pip install \"[^\"]*\[([a-z0-9,]+)\]\"", path.read_text("utf-8")):
            named |= set(words.split(","))
    assert {"server", "postgresql", "s3", "gs", "capture", "dashboard"} <= named <= set(declared())


@pytest.mark.parametrize(("page", "name"), list(TABLES))
def test_a_table_says_what_is_declared(page, name):
    """Written by `make tables`."""
    assert (ROOT / "docs" / page).read_text("utf-8") == written(page, name)
