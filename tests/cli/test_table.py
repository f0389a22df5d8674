"""Tables as wide as the terminal."""

import os
import sys

import pytest

from profiler_core.cli.table import table

HEAD = ["kernel", "kind", "time"]
ROWS = [["a_kernel_with_a_very_long_name_of_seventy_characters_that_goes_on_and_on", "GEMM", "1.5"]]


@pytest.fixture
def terminal(monkeypatch):
    def of(width):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setattr("shutil.get_terminal_size", lambda *_: os.terminal_size((width, 24)))

    return of


@pytest.mark.parametrize("width", [60, 40, 30])
def test_names_are_cut_to_the_terminal_and_numbers_never(terminal, width):
    terminal(width)
    lines = table(HEAD, ROWS, n_text=2).splitlines()
    assert max(map(len, lines)) == width
    assert lines[-1].endswith("1.5")
    assert lines[-1].startswith("a_ker") and "…" in lines[-1]
    assert "GEMM" in lines[-1]


def test_below_what_a_name_needs_the_table_overflows(terminal):
    terminal(5)
    assert "…" in table(HEAD, ROWS, n_text=2)
    assert "1.5" in table(HEAD, ROWS, n_text=2)


def test_a_wide_terminal_and_a_file_cut_nothing(terminal):
    assert ROWS[0][0] in table(HEAD, ROWS, n_text=2)
    terminal(200)
    assert ROWS[0][0] in table(HEAD, ROWS, n_text=2)
