"""`audit`: who did what, as a table and as JSON."""

import json

import pytest

from profiler_core.cli.main import main
from profiler_core.store import history
from tests.store.history.samples import redated_copy


@pytest.fixture(autouse=True)
def own_history(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setenv("FUSIONSCOPE_PERSON", "Ada")
    monkeypatch.delenv("FUSIONSCOPE_DATABASE_URL", raising=False)
    history.record(redated_copy(tmp_path, "c1"))
    history.tag("c1.default", "weekly", "kept", person="Bob")


def test_the_newest_deed_comes_first(capsys):
    assert main(["audit", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [(one["person"], one["action"], one["subject"]) for one in said["entries"]] == [
        ("Bob", "tag", "c1.default"),
        ("Ada", "record", "c1.default"),
    ]
    assert said["entries"][0]["detail"] == {"tags": ["weekly", "kept"]}


def test_it_is_narrowed_down_by_person_and_deed(capsys):
    assert main(["audit", "--person", "Bob"]) == 0
    text = capsys.readouterr().out
    assert "Bob" in text and "tags: weekly kept" in text and "Ada" not in text
    assert main(["audit", "--action", "delete"]) == 0
    assert "No actions are recorded" in capsys.readouterr().out
