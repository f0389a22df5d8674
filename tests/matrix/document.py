"""The results -> docs/compatibility.md."""

from tests.matrix.cells import ROWS
from tests.matrix.environments import ROOT
from tests.matrix.results import Result

PATH = ROOT / "docs" / "compatibility.md"
_MARK = {"yes": "✓", "partly": "◐", "no": "✗"}

_HEAD = (
    "# Versions of PyTorch\n\n"
    "Captures run in the interpreter that `--python` names, whatever torch from 2.1 on it has.\n"
    "This page is written by `make test-matrix`: it makes an environment for each version, "
    "captures two built-in workloads and a project of the user's own there on the CPU, and reads "
    "the captures back.\n"
    "It was last run on {date}.\n"
    "`python -m profiler_core doctor --python PATH` says the same of your own environment.\n\n"
    "✓ works · ◐ works in part · ✗ is not there; each with what was seen.\n\n"
)

_COST = (
    "\n## What it takes\n\n"
    "| torch | Python | environment | made in | captures and answers |\n"
    "|---|---|---|---|---|\n"
    "{rows}\n\n"
    "An environment is made once, by pip, and kept in the folder `MATRIX` (default `.matrix`); "
    "the newest is brought up to date each time.\n"
    "An old version gets the oldest Python that it has wheels for and that is found, the newest "
    "the newest.\n"
)


def document(results: list[Result]) -> str:
    """The whole page, one sentence a line."""
    parts = [
        _HEAD.format(date=max(result.date for result in results)),
        _table(results),
    ]
    parts += [_lost(result) for result in results]
    rows = [
        f"| {result.torch} | {result.python} | {result.size_bytes / 1e9:.1f} GB "
        f"| {result.made_s:.0f} s | {result.trial_s:.0f} s |"
        for result in results
    ]
    parts.append(_COST.format(rows="\n".join(rows)))
    return "".join(parts)


def _table(results: list[Result]) -> str:
    lines = ["| | " + " | ".join(f"torch {result.torch}" for result in results) + " |"]
    lines.append("|---" * (len(results) + 1) + "|")
    for key, (title, _) in ROWS.items():
        found = [result.cells[key] for result in results]
        words = [f"{_MARK[cell.state]} {_plain(cell.text)}" for cell in found]
        lines.append(f"| {title} | " + " | ".join(words) + " |")
    return "\n".join(lines) + "\n"


def _lost(result: Result) -> str:
    lines = [f"\n## What is lost with torch {result.torch}\n"]
    lines += [f"* {_plain(sentence)}" for sentence in result.lost] or ["Nothing."]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """One line that no table is cut by."""
    return " ".join(text.split()).replace("|", "\\|")
