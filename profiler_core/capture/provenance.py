"""Which version of the user's code ran: git commit, branch, and whether the work tree was clean."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

_TIMEOUT_S = 5


def code_version(folder: Path) -> dict[str, Any]:
    """`git_commit`, `git_branch`, `git_dirty` of the repository around `folder`.

    None outside of one; no branch where a commit is checked out by itself.
    """
    commit = git_says(folder, "rev-parse", "HEAD")
    if not commit:
        return {"git_commit": None, "git_branch": None, "git_dirty": None}
    changes = git_says(folder, "status", "--porcelain", "--untracked-files=no")
    return {
        "git_commit": commit,
        "git_branch": git_says(folder, "symbolic-ref", "--short", "--quiet", "HEAD") or None,
        "git_dirty": None if changes is None else bool(changes),
    }


def git_says(folder: Path, *arguments: str) -> str | None:
    """What git prints in a folder; None where it is absent or ends with an error."""
    try:
        completed = subprocess.run(
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - the user's own git
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return completed.stdout.strip() if completed.returncode == 0 else None
