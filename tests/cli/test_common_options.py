"""What is the same for every verb: defaults in the help, --wide, -q and -v."""

import argparse
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from profiler_core.capture.progress import ProgressLine
from profiler_core.cli.capture_progress import Printer
from profiler_core.cli.main import VERBS, main
from profiler_core.cli.parser import VerbParser, has_default, help_text, parsers_of
from profiler_core.cli.table import clipped, n_more, shorten, show_whole

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"


@pytest.fixture(autouse=True)
def cut_again():
    yield
    show_whole(False)


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)


@pytest.mark.parametrize("verb", VERBS)
def test_defaults_and_common_options_stand_in_every_help(verb):
    holder = argparse.ArgumentParser().add_subparsers(parser_class=VerbParser)
    importlib.import_module(VERBS[verb][0]).add_parser(holder)
    for name, parser in parsers_of(holder.choices[verb], verb):
        text = " ".join(parser.format_help().split())
        assert "--wide" in text and "--quiet" in text and "--verbose" in text, name
        for action in parser._actions:
            if has_default(action):
                assert "default" in help_text(action), (name, action.option_strings)


def test_text_is_cut_on_a_terminal_alone_and_marked(terminal, monkeypatch):
    assert shorten("abcdefghij", 7) == "abc…hij"
    assert clipped("abcdefghij", 7) == "abcdef…"
    show_whole(True)
    assert shorten("abcdefghij", 7) == clipped("abcdefghij", 7) == "abcdefghij"
    show_whole(False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert shorten("abcdefghij", 7) == clipped("abcdefghij", 7) == "abcdefghij"


def test_what_a_list_leaves_out_is_counted():
    assert n_more(0) == ""
    assert n_more(3) == "… and 3 more (--json has them)"


def test_wide_cuts_nothing_on_a_terminal(capsys, monkeypatch):
    words = ["summary", str(SAMPLES / "customcnn" / "eager")]
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: os.terminal_size((80, 24)))
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)
    assert main(words) == 0
    assert "…" in capsys.readouterr().out
    assert main([*words, "--wide"]) == 0
    assert "…" not in capsys.readouterr().out


def test_findings_are_printed_with_advice_and_lines_of_code(capsys):
    assert main(["compare", str(SAMPLES / "breaky")]) == 0
    text = capsys.readouterr().out
    assert "→ Keep counters out of the module" in text
    assert "/capture/child/models.py:155" in text
    assert "…" not in text.replace("… and", "")  # a pipe: only lists end early, and say so


def test_a_quiet_capture_shows_no_progress(capsys):
    line = ProgressLine(0.0, "timing", "eager", 1, 3, "Timing round 1 of 3")
    Printer(sys.stderr, is_quiet=True).show(line)
    assert capsys.readouterr().err == ""
    Printer(sys.stderr).show(line)
    assert "Timing round 1 of 3" in capsys.readouterr().err


def test_why_a_variant_failed_is_not_said_while_it_runs(capsys):
    """The table of the end says it, once."""
    printer = Printer(sys.stderr)
    printer.show(ProgressLine(0.0, "failed", "eager", None, None, "eager failed: no such device"))
    printer.show(
        ProgressLine(0.0, "failed", None, None, None, "Every variant failed: no such device")
    )
    shown = capsys.readouterr().err
    assert "eager failed" in shown
    assert "no such device" not in shown


def test_verbose_says_what_is_read_and_where_an_error_came_from(tmp_path, quick_python):
    def said(*words):
        done = subprocess.run(
            [quick_python, "-m", "profiler_core", *map(str, words)],
            cwd=ROOT, capture_output=True, text=True, env={"FUSIONSCOPE_HOME": str(tmp_path)},
        )  # fmt: skip
        return done.stderr

    run = SAMPLES / "customcnn" / "eager"
    assert "reads the trace" in said("summary", run, "-v")
    assert said("summary", run) == ""
    (tmp_path / "broken.json").write_text("{")
    assert "Traceback" in said("summary", tmp_path / "broken.json", "-v")
    assert "Traceback" not in said("summary", tmp_path / "broken.json")
