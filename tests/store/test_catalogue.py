"""The kept list of runs: what it says without a walk, and when it looks again."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from profiler_core import run_directory as names
from profiler_core.errors import BadInput
from profiler_core.store import catalogue, library
from profiler_core.store.catalogue import file, keeping
from profiler_core.store.catalogue.query import page_query
from tests.everything import comparisons
from tests.store.test_library import put

Wanted = catalogue.Wanted


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    return tmp_path


@pytest.fixture
def settled(monkeypatch):
    """Nothing counts as changed a short while ago: as if all of it lay there for days."""
    monkeypatch.setattr(keeping, "_SETTLES_S", -1.0)
    monkeypatch.setattr(keeping, "_GRANULE_NS", -1)
    monkeypatch.setattr(keeping, "_CHECK_S", 1e9)


@pytest.fixture
def looked_at(monkeypatch):
    """The folders whose runs are looked at from now on."""
    folders = []
    stamp_of = keeping.stamp_of
    monkeypatch.setattr(
        keeping, "stamp_of", lambda folder: (folders.append(folder.name), stamp_of(folder))[1]
    )
    return folders


def put_several(home, n, **record):
    for number in range(n):
        moment = f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"
        put(home / "runs", f"c{number:03}", "eager", created_at=moment, **record)


def keys(page):
    return [group.key for group in page.groups]


def test_pages_are_cut_in_sql_newest_first(home):
    put_several(home, 30)
    put(home / "samples", "s", "eager")
    page = catalogue.groups(Wanted(), offset=25, limit=25)
    assert page.n_all == 31
    assert keys(page) == ["run/c004", "run/c003", "run/c002", "run/c001", "run/c000", "sample/s"]
    assert catalogue.n_groups(Wanted(origins=("sample",))) == 1


def test_all_words_of_a_search_count_and_none_is_a_pattern(home):
    put(home / "runs", "a", "eager", workload="BERT 100%", environment={"gpu": "NVIDIA H200"})
    put(home / "runs", "b", "default", workload="bert_large")
    assert keys(catalogue.groups(Wanted(words="bert h200"))) == ["run/a"]
    assert keys(catalogue.groups(Wanted(words="%"))) == ["run/a"]
    assert keys(catalogue.groups(Wanted(words="bert_"))) == ["run/b"]
    assert keys(catalogue.groups(Wanted(phrase="run/b"))) == ["run/b"]
    assert catalogue.groups(Wanted(words="nothing")).n_all == 0


def test_a_page_comes_out_of_an_index_in_its_order(home):
    put_several(home, 3)
    catalogue.refresh()
    with file.transaction() as connection:
        plan = connection.execute(
            f"EXPLAIN QUERY PLAN {page_query(Wanted(origins=('capture',)))}", ("capture", 25, 0)
        ).fetchall()
    steps = " ".join(row["detail"] for row in plan)
    assert "USING INDEX captures_origin (is_listed=? AND origin=?)" in steps
    assert "SCAN" not in steps and "TEMP B-TREE" not in steps


def test_a_click_looks_into_no_folder_of_a_settled_list(home, settled, looked_at, monkeypatch):
    put_several(home, 5)
    assert len(comparisons()) == 5
    assert len(looked_at) == 5
    monkeypatch.setattr(os, "scandir", None)  # not even the top folders
    assert len(comparisons()) == 5
    assert catalogue.first() == ("run/c004/eager",)
    assert len(looked_at) == 5


def test_what_another_process_captures_or_deletes_is_there_at_the_next_click(
    home, settled, looked_at
):
    put_several(home, 3)
    catalogue.refresh()
    del looked_at[:]
    put(home / "runs", "new", "eager", created_at="2027")
    shutil.rmtree(home / "runs" / "c001")
    assert keys(catalogue.groups(Wanted())) == ["run/new", "run/c002", "run/c000"]
    assert looked_at == ["new"]


def test_the_comparison_of_a_run_that_came_this_moment_has_its_name(home, settled):
    put_several(home, 1)
    catalogue.refresh()
    put(home / "runs", "new", "eager", created_at="2027")
    assert catalogue.line_of(("run/new/eager",)).key == "run/new"


def test_a_run_that_comes_late_into_an_old_capture_is_found_by_the_check(
    home, settled, monkeypatch
):
    put_several(home, 2)
    catalogue.refresh()
    put(home / "runs", "c000", "default", role="candidate")
    assert [len(group.entries) for group in comparisons()] == [1, 1]
    monkeypatch.setattr(keeping, "_CHECK_S", 0.0)
    assert [len(group.entries) for group in comparisons()] == [1, 2]


def test_a_refresh_finds_what_was_written_into_an_old_run(home, settled):
    put_several(home, 2)
    catalogue.refresh()
    record = home / "runs" / "c000" / "eager" / names.RUN_JSON
    record.write_text(record.read_text().replace('"model"', '"another"'))
    assert {group.title for group in comparisons()} == {"model"}
    catalogue.refresh(everything=True)
    assert {group.title for group in comparisons()} == {"model", "another"}


def test_what_was_copied_with_its_old_times_is_new_all_the_same(home):
    put(home / "elsewhere", "c", "eager")
    assert comparisons() == ()
    for path in [home / "elsewhere", *(home / "elsewhere").rglob("*")]:
        os.utime(path, (1e9, 1e9))
    shutil.copytree(home / "elsewhere", home / "runs")
    assert len(comparisons()) == 1
    record = home / "runs" / "c" / "eager" / names.RUN_JSON
    record.write_text(json.dumps({"workload": "another"}))
    os.utime(record, (1e9, 1e9))
    assert comparisons()[0].title == "another"


def test_two_processes_share_the_list(home, monkeypatch):
    put_several(home, 30)
    code = (
        "from profiler_core.store import catalogue as c; "
        "print(len(c.groups(c.Wanted(), limit=1000).groups))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "FUSIONSCOPE_HOME": str(home)},
    )  # fmt: skip
    assert int(printed.stdout) > 30  # with the shipped samples, which are none of this test's
    monkeypatch.setattr(library, "_read_comparable", None)  # nothing is read a second time
    assert len(comparisons()) == 30


def test_a_damaged_list_is_made_again(home):
    put_several(home, 2)
    catalogue.refresh()
    (home / "library.sqlite3").write_bytes(b"no database" * 1000)
    with pytest.raises(BadInput, match="damaged"):
        comparisons()
    assert len(comparisons()) == 2


def test_a_list_of_another_version_is_made_again(home, monkeypatch):
    put_several(home, 2)
    catalogue.refresh()
    monkeypatch.setattr(file, "_SCHEMA", 99)
    assert len(comparisons()) == 2


def test_where_the_home_cannot_be_written_the_list_lies_aside(home, monkeypatch):
    put_several(home, 2)
    # The tests may run as root, whom no mode of a folder stops: a file stands in the way.
    monkeypatch.setattr(file, "_FILE", "in-the-way/library.sqlite3")
    (home / "in-the-way").write_text("")
    monkeypatch.setattr(file, "_ASIDE", {})
    assert len(comparisons()) == 2
    assert not file.list_path().is_relative_to(home)


def test_menus_get_the_labels_that_the_page_has(home):
    put(home / "runs", "c", "eager", role="baseline")
    put(home / "runs", "c", "default", role="candidate")
    (line,) = catalogue.newest(10)
    assert line.keys == ("run/c/eager", "run/c/default")
    (group,) = comparisons()
    assert tuple(run.label for run in line.runs) == library.labels_of(group.entries)
    assert catalogue.line_of(("run/c/default",)) == line
    assert catalogue.line_of(("run/c/default", "run/d/eager")) is None
    assert catalogue.group("run/c/default") == group


def test_of_ranks_beside_each_other_the_lowest_stands_for_all(home):
    for rank in (1, 0):
        folder = put(home, "uploads", f"rank{rank}")
        record = {"rank": rank, "world_size": 2, "workload": "ddp", "capture_id": "c"}
        (folder / names.RUN_JSON).write_text(json.dumps(record))
    assert [group.key for group in comparisons()] == ["upload/rank0"]
    assert [group.key for group in catalogue.jobs(4)] == ["upload/rank0"]
    shutil.rmtree(home / "uploads" / "rank0")
    assert [group.key for group in comparisons()] == ["upload/rank1"]


def test_what_the_history_has_is_asked_once(home, settled):
    put_several(home, 2)
    assert [run.key for run in catalogue.not_noted("here")] == ["run/c000/eager", "run/c001/eager"]
    catalogue.note_recorded(["run/c000/eager"], "here")
    assert [run.key for run in catalogue.not_noted("here")] == ["run/c001/eager"]
    assert len(catalogue.not_noted("elsewhere")) == 2


def test_a_page_looks_once(home, monkeypatch):
    put_several(home, 2)
    with catalogue.one_look():
        assert len(comparisons()) == 2
        put(home / "runs", "new", "eager")
        assert len(comparisons()) == 2
    assert len(comparisons()) == 3
