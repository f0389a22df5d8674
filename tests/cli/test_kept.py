"""Verbs that need the history only at times, on a machine without its libraries."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EAGER, DEFAULT = (str(ROOT / "sample_traces" / "bert" / name) for name in ("eager", "default"))
_BARE = (
    "import sys; sys.modules['sqlalchemy'] = sys.modules['alembic'] = None\n"
    "from profiler_core.cli.main import main\n"
    "sys.exit(main(sys.argv[1:]))"
)


def on_a_bare_machine(*words):
    """A process in which neither SQLAlchemy nor Alembic can be imported."""
    return subprocess.run(
        [sys.executable, "-c", _BARE, *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("verb", ["gate", "report"])
def test_paths_are_enough(verb, tmp_path):
    output = ["-o", str(tmp_path / "report.md")] if verb == "report" else []
    done = on_a_bare_machine(verb, EAGER, DEFAULT, *output)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gate", "main", DEFAULT), "main is no run, and a baseline of that name lies in"),
        (("report", EAGER, DEFAULT, "--review", "7", "-o", "REPORT"), "The review 7 lies in"),
    ],
)
def test_what_lies_in_the_history_says_what_is_missing(words, said, tmp_path):
    output = str(tmp_path / "report.md")
    done = on_a_bare_machine(*(output if word == "REPORT" else word for word in words))
    assert done.returncode == 2
    assert said in done.stderr and "or install SQLAlchemy" in done.stderr
    assert "Traceback" not in done.stderr
