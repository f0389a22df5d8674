"""sources.json: the source lines that logs and graphs name, with eight lines each way.

A page never opens a path that a file names; it shows what was kept here, at the time of the
capture. Files of torch and of the standard library are left out, installed packages are not:
a model of torchvision or transformers is treated as the user's model.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from profiler_core.capture import child

CONTEXT_LINES = 8
_MOST_FILES = 200
_MOST_BYTES_OF_A_LOG = 64 * 1024 * 1024
_MOST_BYTES_OF_A_SOURCE = 4 * 1024 * 1024

_CHILD = Path(child.__file__).resolve().parent

# Of the child's own files: the built-in models, and the step that calls any model.
_OWN_SHOWN = ("models.py", "step.py")
# Below the standard library's folder where an environment is no venv (conda, a system's Python).
_PACKAGES = ("site-packages/", "dist-packages/")

_PATTERNS = (
    re.compile(r'File "([^"\n]+\.py)", line (\d+)'),
    re.compile(r"File: (/[^\s:]+\.py):(\d+)"),  # comments of graph dumps
    re.compile(r"(?<![\w.])(/[^\s:\"'()]+\.py):(\d+)"),
)
# The structured log interns file names, {"str": ["path", 3]}, and then says "filename": 3.
_INTERNED = re.compile(r'\{"str": \["([^"]+)", (\d+)\]\}')
_FRAMES = (
    re.compile(r'"line": (\d+), "name": "[^"]*", "filename": (\d+)'),
    re.compile(r'"filename": (?P<file>\d+), "line": (?P<line>\d+)'),
)


def collect_sources(logs: list[Path], left_out: tuple[str, ...]) -> dict[str, Any]:
    """The content of sources.json.

    Args:
        logs: TORCH_LOGS text and structured logs; absent ones are skipped.
        left_out: folders whose files are not the user's, by whichever of their paths.

    Returns:
        {"schema": 1, "files": {path: {"lines": {number: text}}}}, numbers as text, from 1.
    """
    lines_by_path: dict[str, set[int]] = defaultdict(set)
    for log in logs:
        if log.is_file():
            with log.open("rb") as file:
                text = file.read(_MOST_BYTES_OF_A_LOG).decode(errors="replace")
            for path, line in _positions_in(text):
                lines_by_path[path].add(line)
    # An environment that is reached through a link is named by the link in one place and by what
    # it leads to in another.
    left_out = tuple({path for folder in left_out for path in _both_paths(folder)})
    files: dict[str, Any] = {}
    for path in sorted(lines_by_path):
        if len(files) == _MOST_FILES or not _is_worth_reading(path, left_out):
            continue
        context = _context(Path(path), lines_by_path[path])
        if context:
            files[path] = {"lines": context}
    return {"schema": 1, "files": files}


def _is_worth_reading(path: str, left_out: tuple[str, ...]) -> bool:
    """Neither in a folder that is left out (".../torch" is no part of ".../torchvision") nor ours.

    Packages that lie below such a folder are not left out with it.
    """
    paths = _both_paths(path)
    if any(Path(spelling).parent == _CHILD for spelling in paths):
        return Path(path).name in _OWN_SHOWN
    starts = [f"{folder.rstrip('/')}/" for folder in left_out]
    return not any(
        spelling.startswith(start) and not spelling[len(start) :].startswith(_PACKAGES)
        for spelling in paths
        for start in starts
    )


def _both_paths(path: str) -> set[str]:
    """As it is written, and without the symbolic links in it."""
    return {path, os.path.realpath(path)}


def _positions_in(text: str) -> set[tuple[str, int]]:
    positions = {(path, int(line)) for pattern in _PATTERNS for path, line in pattern.findall(text)}
    interned = {number: path for path, number in _INTERNED.findall(text)}
    if interned:
        for line, number in _FRAMES[0].findall(text):
            if number in interned:
                positions.add((interned[number], int(line)))
        for match in _FRAMES[1].finditer(text):
            if match["file"] in interned:
                positions.add((interned[match["file"]], int(match["line"])))
    return positions


def _context(path: Path, lines: set[int]) -> dict[str, str]:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES_OF_A_SOURCE:
            return {}
        source = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    line_numbers = {
        number
        for line in lines
        for number in range(line - CONTEXT_LINES, line + CONTEXT_LINES + 1)
        if 1 <= number <= len(source)
    }
    return {str(number): source[number - 1] for number in sorted(line_numbers)}
