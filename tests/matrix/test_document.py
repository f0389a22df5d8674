"""The document and the choice of a Python, without any environment: these run in `make test`."""

import sys

import pytest

from tests.matrix import environments
from tests.matrix.cells import ROWS, Cell
from tests.matrix.document import PATH, document
from tests.matrix.environments import NotPossible, Wanted, environment
from tests.matrix.results import Result, kept


def a_result(name, lost, **cells):
    every = {key: Cell("yes", "seen") for key in ROWS} | cells
    return Result(name, "2026-01-02", name, "3.8", 61.0, 4 * 10**9, 300.4, every, lost)


def test_every_row_and_every_loss_is_in_the_document():
    text = document(
        [
            a_result("2.1.2", ["structured log: none. Use 2.6."], memory=Cell("no", "a | b\nc")),
            a_result("2.15.0", []),
        ]
    )
    for title, _ in ROWS.values():
        assert f"| {title} |" in text
    assert "| memory | ✗ a \\| b c | ✓ seen |" in text
    assert "It was last run on 2026-01-02." in text
    assert "## What is lost with torch 2.1.2\n\n* structured log: none. Use 2.6.\n" in text
    assert "## What is lost with torch 2.15.0\n\nNothing.\n" in text
    assert "| 2.1.2 | 3.8 | 4.0 GB | 61 s | 300 s |" in text


def test_the_document_that_is_shipped_has_every_row():
    shipped = PATH.read_text(encoding="utf-8")
    assert [title for title, _ in ROWS.values() if f"\n| {title} |" not in shipped] == []
    assert all(f"torch {version}" in shipped for version in ("2.1.", "2.6."))


def test_a_version_that_no_python_here_fits_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("MATRIX", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotPossible, match=r"torch old needs a Python of 2\.0, 2\.1, and none is"):
        environment(Wanted("old", ("torch==1.0",), ("2.0", "2.1")))


def test_a_full_disk_is_said_before_anything_is_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("MATRIX", str(tmp_path))
    monkeypatch.setattr(environments, "_NEEDED_BYTES", 10**18)
    monkeypatch.setattr(environments, "_python", lambda wanted: sys.executable)
    with pytest.raises(NotPossible, match="set MATRIX to another folder"):
        environment(Wanted("2.1", ("torch",), ("3.11",)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_newest", [False, True])
def test_an_environment_is_made_once_and_the_newest_is_kept_up_to_date(
    monkeypatch, tmp_path, is_newest
):
    ran = []

    def run(words):
        ran.append([word.replace(str(tmp_path), "") for word in words])
        (tmp_path / "torch-x" / "bin").mkdir(parents=True, exist_ok=True)

    monkeypatch.setenv("MATRIX", str(tmp_path))
    monkeypatch.setattr(environments, "_NEEDED_BYTES", 0)
    monkeypatch.setattr(environments, "_python", lambda wanted: "python3.8")
    monkeypatch.setattr(environments, "_run", run)
    wanted = Wanted("x", ("torch==2.1.*", "numpy<2"), ("3.8",), is_newest)
    made = environment(wanted)
    assert made.python == tmp_path / "torch-x" / "bin" / "python"
    install = ["/torch-x/bin/python", "-m", "pip", "install", "-q", "--no-cache-dir"]
    assert ran == [
        ["python3.8", "-m", "venv", "/torch-x"],
        [*install, "torch==2.1.*", "numpy<2"],
    ]
    ran.clear()
    assert environment(wanted) == made
    assert ran == ([[*install, "--upgrade", "torch==2.1.*", "numpy<2"]] if is_newest else [])


def test_a_result_that_is_not_there_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("MATRIX", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        kept("2.1")
