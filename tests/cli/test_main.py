import subprocess
import sys

import pytest

from profiler_core import __version__
from profiler_core.cli.main import VERBS, main


def test_help_lists_every_verb(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(verb in text for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_shows_its_help(capsys, verb):
    with pytest.raises(SystemExit) as end:
        main([verb, "--help"])
    assert end.value.code == 0
    assert f"usage: fusionscope {verb}" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["dance"], ["--json"]])
def test_what_is_no_verb_is_answered_with_the_verbs(capsys, words):
    assert main(words) == 2
    assert ", ".join(VERBS) in capsys.readouterr().err


def test_a_wrong_option_is_usage(capsys):
    with pytest.raises(SystemExit) as end:
        main(["summary", "x", "--no-such-option"])
    assert end.value.code == 2


def test_starting_imports_none_of_the_heavy_libraries():
    """A machine that only captures has neither polars nor numpy."""
    code = (
        "import sys; from profiler_core.cli.main import main; main(['--help']); "
        "print([m for m in ('polars', 'numpy', 'pyarrow', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_module_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "profiler_core", "--help"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fusionscope {__version__}\n"
