"""`runs …`: the history on the command line, with keys as docs/json.md lists them."""

import json
import zipfile
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from profiler_core.model.review import ReviewFinding, ReviewSide
from profiler_core.store import history
from profiler_core.store.history import database
from tests.store.history.samples import SAMPLES, redated_copy

JSON = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
BERT = "20261121-124835-bert-7ac3"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FUSIONSCOPE_PERSON", "Ada")
    for name in ("FUSIONSCOPE_DATABASE_URL", "FUSIONSCOPE_ARTIFACTS_URL"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path / "home"
    database.close_all()


@pytest.fixture
def asked(capsys):
    def ask(*words, status=0):
        assert main(["runs", *map(str, words), "--json"]) == status
        said = capsys.readouterr()
        if status:
            return said.err
        answer = json.loads(said.out)
        assert answer.pop("schema") == 1
        for entry in answer.get("runs", []):
            assert {key for key in (*entry, *entry["metrics"]) if f"`{key}`" not in JSON} == set()
        return answer

    return ask


def test_import_list_tag_baseline(asked):
    (run,) = asked("import", SAMPLES / "bert" / "default", "--tag", "weekly")["runs"]
    assert (run["run_id"], run["tags"], run["person"]) == (f"{BERT}.default", ["weekly"], "Ada")
    assert run["metrics"]["n_kernels"] == 208
    asked("import", SAMPLES / "bert")
    assert len(asked("list")["runs"]) == 3
    assert [r["variant"] for r in asked("list", "--variant", "eager")["runs"]] == ["eager"]
    assert [r["variant"] for r in asked("list", "--tag", "weekly")["runs"]] == ["default"]
    assert asked("tag", f"{BERT}.eager", "a", "b")["runs"][0]["tags"] == ["a", "b"]
    assert asked("untag", f"{BERT}.eager", "a")["runs"][0]["tags"] == ["b"]
    assert asked("baseline")["baselines"] == []
    (kept,) = asked("baseline", "main", f"{BERT}.eager")["baselines"]
    assert (kept["name"], kept["run_id"]) == ("main", f"{BERT}.eager")
    assert "main" in asked("delete", f"{BERT}.eager", status=2)
    assert asked("baseline", "main", "--remove")["baselines"] == []
    assert asked("delete", f"{BERT}.eager")["deleted"] == [f"{BERT}.eager"]


def test_a_directory_becomes_a_baseline_at_once(asked, home):
    directory = redated_copy(home, "c1")
    (kept,) = asked("baseline", "nightly", directory)["baselines"]
    assert kept["run_id"] == "c1.default"


def test_export_and_import_again(asked, home, tmp_path):
    asked("import", redated_copy(home, "c1", whole=True))
    answer = asked("export", "c1.default", "-o", tmp_path / "run.zip")
    assert zipfile.ZipFile(answer["path"]).testzip() is None
    assert answer["size_bytes"] == (tmp_path / "run.zip").stat().st_size
    asked("delete", "c1.default")
    assert asked("list")["runs"] == []
    (run,) = asked("import", tmp_path / "run.zip")["runs"]
    assert run["run_id"] == "c1.default"
    assert "cannot be written" in asked(
        "export", "c1.default", "-o", tmp_path / "no" / "x.zip", status=2
    )


def test_retention_lists_before_it_deletes(asked, home):
    for n in (1, 2, 3):
        redated_copy(home, f"c{n}", created_at=f"2024-01-0{n}T00:00:00Z")
    assert asked("reconcile")["recorded"] == ["c1.default", "c2.default", "c3.default"]
    listed = asked("retention", "--keep-captures", 2)
    assert [run["run_id"] for run in listed["runs"]] == ["c1.default"]
    assert listed["n_deleted"] == 0
    assert (home / "runs" / "c1").is_dir()
    assert asked("retention", "--keep-captures", 2, "--apply")["n_deleted"] == 1
    assert not (home / "runs" / "c1").exists()
    assert len(asked("list")["runs"]) == 3
    assert "No rule" in asked("retention", status=2)
    assert "at least 1" in asked("retention", "--keep-days", 0, status=2)


def test_the_rules_of_the_settings_hold(asked, home):
    redated_copy(home, "c1", created_at="2020-01-01T00:00:00Z")
    asked("reconcile")
    (home / "settings.toml").write_text("keep_days = 30\n")
    answer = asked("retention")
    assert answer["rules"] == {
        "keep_captures": None,
        "keep_days": 30,
        "keep_uploads_days": None,
    }
    assert [run["run_id"] for run in answer["runs"]] == ["c1.default"]


def test_without_json_it_is_a_table(home, capsys):
    redated_copy(home, "c1")
    assert main(["runs", "list"]) == 0
    assert capsys.readouterr().out == "No runs.\n"
    assert main(["runs", "reconcile"]) == 0
    assert main(["runs", "list"]) == 0
    out = capsys.readouterr().out
    assert "c1.default" in out
    assert "205 µs" in out


def test_what_is_not_there_is_a_sentence(asked, tmp_path):
    assert "has no run" in asked("export", "nothing", status=2)
    assert "does not exist" in asked("import", tmp_path / "nothing", status=2)
    assert "no baseline" in asked("baseline", "nothing", status=2)


def test_findings_and_regressions_are_listed(home, asked, capsys):
    assert asked("findings") == {"findings": []}
    assert asked("regressions") == {"regressions": []}
    for day, slower in ((3, 1.0), (4, 2.0)):
        run = redated_copy(
            home, f"c{day}", created_at=f"2026-11-{day:02}T00:00:00Z", slower=slower
        )  # fmt: skip
        asked("import", run)
    (regression,) = asked("regressions")["regressions"]
    assert (regression["run_id"], regression["difference"]["before_run_id"]) == (
        "c4.default", "c3.default"
    )  # fmt: skip
    assert main(["runs", "regressions"]) == 0
    assert "+100 %" in capsys.readouterr().out
    sides = [ReviewSide("a", None, "a"), ReviewSide("b", None, "b")]
    finding = ReviewFinding(1, "graph_breaks", "3 breaks", "", "", "0.4 ms", "per step", "", "")
    review_id = history.begin_review("Week 47", sides, [finding], person="Ada")
    (row,) = asked("findings")["findings"]
    assert (row["state"], row["owner"], row["due"]) == ("open", "", None)
    history.assign_finding(
        review_id, finding.reference, 0, owner="Bob", state="doing", due="2026-12-01", person="Ada"
    )
    assert main(["runs", "findings", "--owner", "Bob", "--state", "doing"]) == 0
    text = capsys.readouterr().out
    assert "Bob" in text and "2026-12-01" in text and "0.4 ms per step" in text
    assert asked("findings", "--owner", "Cyn") == {"findings": []}
    for key in (*row, *regression, *regression["difference"]):
        assert f"`{key}`" in JSON
