"""`%%compiled` in a shell of IPython: what the cell becomes, and what its line may say."""

import sys
import types

import pytest

import fusionscope
from fusionscope import notebook


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """A shell that has loaded the extension, and what it captured: step and options."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    asked = []
    monkeypatch.setattr(
        notebook, "capture", lambda *given, **options: asked.append((given, options))
    )
    shell.run_line_magic("load_ext", "fusionscope")
    shell.asked = asked
    yield shell
    shell.history_manager.end_session()


def _step(shell, cell: str, line: str = ""):
    shell.asked.clear()
    ran = shell.run_cell(f"%%compiled {line}\n{cell}")
    ran.raise_error()
    [((step,), options)] = shell.asked
    return step, options


def test_the_last_expression_is_what_a_step_returns(shell):
    shell.run_cell("a = 20")
    step, options = _step(shell, "# a comment\nb = a + 1\nb * 2")
    assert step() == 42
    assert "b" not in shell.user_ns
    assert options == {"name": "%%compiled cell", "out": None, "progress": True}


def test_what_the_notebook_has_already_is_kept_from_step_to_step(shell):
    shell.run_cell("total = 0")
    step, _ = _step(shell, "total = total + 1\ntotal")
    assert [step(), step()] == [1, 2]


def test_its_line_takes_the_options_of_a_capture(shell):
    _, options = _step(
        shell, "1", "-q --variants eager,reduce-overhead --rounds 3 --no-profile --out runs"
    )
    assert options == {
        "name": "%%compiled cell", "out": "runs", "progress": False, "rounds": 3,
        "variants": "eager,reduce-overhead", "profile": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "cell", "problem"),
    [
        ("--rounds many", "1", "invalid int value: 'many'"),
        ("--training", "1", "unrecognized arguments: --training"),
        ("", "def f(:", "The cell is not valid Python, line 1"),
        ("", "!ls", "The cell is not valid Python"),
        ("", "# nothing", "The cell is empty"),
    ],
)
def test_a_mistake_is_one_error_without_a_traceback(shell, capsys, line, cell, problem):
    ran = shell.run_cell(f"%%compiled {line}\n{cell}")
    assert isinstance(ran.error_in_exec, fusionscope.FusionscopeError)
    shown = capsys.readouterr()
    assert problem in shown.out + shown.err
    assert "Traceback" not in shown.out + shown.err


def test_help_is_told(shell, capsys):
    shell.run_line_magic("compiled", "")
    assert "--variants" in capsys.readouterr().out


def test_a_trace_is_read_in_jupyter_without_widgets(monkeypatch):
    """DuckDB refuses there to switch off a progress bar that it does not show."""
    import duckdb

    from profiler_core.ingest.kineto import decode

    class Refusing:
        def __init__(self, database):
            self.database = database

        def execute(self, query):
            if "progress_bar" in query:
                raise duckdb.InvalidInputException("required package 'ipywidgets' is missing")
            return self.database.execute(query)

    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda **given: Refusing(connect(**given)))
    decode._database.cache_clear()
    try:
        assert decode._database().execute("SELECT 1").fetchall() == [(1,)]
    finally:
        decode._database.cache_clear()
