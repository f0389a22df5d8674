"""Which version of the user's code ran: git commit, branch, and whether the work tree was clean."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

_TIMEOUT_S = 5
# A repository's own configuration names programs, and it may be somebody else's, whose code is only
# meant to run on another machine: none is started, and nothing is fetched.
_NO_PROGRAMS = {"core.fsmonitor": "false", "core.hooksPath": os.devnull}
_NO_TRANSPORT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_OF_THE_REPOSITORY = ("local", "worktree")  # scopes of git's configuration


def code_version(folder: Path) -> dict[str, Any]:
    """`git_commit`, `git_branch`, `git_dirty` of the repository around `folder`.

    None outside of one; no branch where a commit is checked out by itself.
    """
    commit = git_says(folder, "rev-parse", "HEAD")
    if not commit:
        return {"git_commit": None, "git_branch": None, "git_dirty": None}
    changes = _git_says(
        folder,
        ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty"),
        _filters(folder),
    )
    return {
        "git_commit": commit,
        "git_branch": git_says(folder, "symbolic-ref", "--short", "--quiet", "HEAD") or None,
        "git_dirty": None if changes is None else bool(changes),
    }


def git_says(folder: Path, *arguments: str) -> str | None:
    """What git prints in a folder; None where it is absent or ends with an error.

    For commands that run no filter of the repository's, as `status` does.
    """
    return _git_says(folder, arguments, {})


def _filters(folder: Path) -> dict[str, str]:
    """The repository's own filters, each with no program; the user's own (Git LFS) stay."""
    pattern = r"^filter\..*\.(clean|smudge|process|required)$"
    listed = git_says(
        folder, "config", "-z", "--show-scope", "--name-only", "--get-regexp", pattern
    )
    answer = (listed or "").split("\0")
    return {
        name: "false" if name.endswith(".required") else ""
        for scope, name in zip(answer[::2], answer[1::2])  # noqa: B905 - Python 3.8 records, too
        if scope in _OF_THE_REPOSITORY
    }


def _git_says(folder: Path, arguments: tuple[str, ...], settings: dict[str, str]) -> str | None:
    try:
        completed = subprocess.run(
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - the user's own git
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
            env={**os.environ, **_NO_TRANSPORT, **_configured({**_NO_PROGRAMS, **settings})},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return completed.stdout.strip() if completed.returncode == 0 else None


def _configured(settings: dict[str, str]) -> dict[str, str]:
    """The variables that set these keys of git, behind those that the user's variables set."""
    word = os.environ.get("GIT_CONFIG_COUNT", "")
    n_before = int(word) if word.isdecimal() else 0
    variables = {"GIT_CONFIG_COUNT": str(n_before + len(settings))}
    for number, (key, value) in enumerate(settings.items(), n_before):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables
