"""What a page shows when it fails."""

import time

import pytest

from profiler_core.ui import problem_card
from profiler_core.ui.problem_card import code_changed, show_script_error, with_code


@pytest.fixture
def shown(monkeypatch):
    cards = []
    monkeypatch.setattr(problem_card, "problem_card", lambda *words: cards.append(words))
    return cards


def test_a_module_that_is_newer_than_the_server_counts_as_changed(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "module.py").write_text("")
    assert code_changed(time.time() - 60, tmp_path)
    assert not code_changed(time.time() + 60, tmp_path)


@pytest.mark.parametrize(
    "error",
    [
        ImportError("cannot import name 'x'"),
        AttributeError("module 'm' has no attribute 'x'"),
        NameError("name 'x' is not defined"),
        TypeError("f() got an unexpected keyword argument 'x'"),
    ],
)
def test_what_fails_after_an_update_says_to_restart(shown, monkeypatch, error):
    monkeypatch.setattr(problem_card, "code_changed", lambda: True)
    assert show_script_error(error)
    assert "changed while this server was running" in shown[0][0]
    assert "Restart the server" in shown[0][1]


def test_an_import_that_fails_without_one_is_a_fault_with_a_number(shown, monkeypatch):
    monkeypatch.setattr(problem_card, "code_changed", lambda: False)
    assert show_script_error(ImportError("no module"))
    assert "This page stopped: ImportError" in shown[0][0]


def test_code_in_a_remedy_is_code_and_no_other_mark_of_markdown_counts():
    """The remedy of a path that may not be opened stood there with its backticks."""
    assert with_code("Use *this*: `open PATH`.") == r"Use \*this\*\: `open PATH`\."
    assert with_code("a`b") == r"a\`b"
