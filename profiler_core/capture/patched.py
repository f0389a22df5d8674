"""A copy of the user's project with a patch applied; the project itself is never written to.

The patch is a unified diff, as `git diff` writes it. `git apply` is asked by a list of words,
inside the copy, which is no repository; it refuses what leads out of it too.
"""

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from profiler_core.capture.against import file_of
from profiler_core.capture.elsewhere.bundle import project_of
from profiler_core.capture.provenance import git_says
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import BadInput, CaptureFailed

_MOST_BYTES = 1_000_000
_APPLIED_WITHIN_S = 60
_HEADER = re.compile(r"^(?:---|\+\+\+) (?:[ab]/)?([^\t\n\r]+)", re.MULTILINE)
_LINK = re.compile(r"^(?:new|new file|old) mode 0*120000", re.MULTILINE)


def patched(spec: CaptureSpec, patch: Path, folder: Path) -> CaptureSpec:
    """The spec with the files of a patched copy.

    Args:
        spec: of the user's own files.
        patch: the unified diff.
        folder: where the copy is made; it has to stay while anything runs.

    Raises:
        BadInput: the patch cannot be read, does not fit, or names what is outside of the project.
        CaptureFailed: the copy cannot be made.
    """
    text = _read(patch)
    project = project_of(spec)
    prefix = Path(git_says(project.folder, "rev-parse", "--show-prefix") or "")
    depth = _depth(text, patch, project.folder, prefix)
    top = folder / "patched" / project.folder.name
    try:
        for path in project.paths:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(project.folder / path, top / path)
    except OSError as error:
        raise CaptureFailed(
            f"{project.folder} cannot be copied for the patch: {error.strerror}.",
            remedy="Apply it to a copy of your own, and pass that as --against.",
        ) from error
    _apply(text, patch, top, depth)
    file = file_of(spec)
    return replace(
        spec,
        workload=f"{top / file.relative_to(project.folder)}:{spec.workload.rpartition(':')[2]}",
        directory=str(top) if spec.directory else None,
    )


def _read(patch: Path) -> str:
    try:
        if patch.stat().st_size > _MOST_BYTES:
            raise BadInput(
                f"{patch} is larger than {_MOST_BYTES // 1_000_000} MB.",
                remedy="Pass a unified diff of your file.",
            )
        return patch.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"The patch {patch} cannot be read: {getattr(error, 'strerror', None) or error}.",
            remedy="Pass a unified diff, as git diff writes it.",
        ) from error


def _depth(text: str, patch: Path, folder: Path, prefix: Path) -> int:
    """How many leading parts of its paths are cut: that of git, and where the project lies."""
    paths = [Path(name) for name in _HEADER.findall(text) if name != "/dev/null"]
    if not paths:
        raise BadInput(
            f"{patch} names no file: it is no unified diff.",
            remedy="Pass what git diff writes.",
        )
    outside = [path for path in paths if path.is_absolute() or ".." in path.parts]
    is_of_top = prefix != Path() and any(path.is_relative_to(prefix) for path in paths)
    if is_of_top:
        outside += [path for path in paths if not path.is_relative_to(prefix)]
    if outside or _LINK.search(text):
        what = f"names {outside[0]}" if outside else "makes a symbolic link"
        raise BadInput(
            f"{patch} {what}, which leads out of the project {folder}.",
            remedy="Keep the patch to files of the project.",
        )
    has_letters = re.search(r"^(?:---|\+\+\+) [ab]/", text, re.MULTILINE) is not None
    return int(has_letters) + (len(prefix.parts) if is_of_top else 0)


def _apply(text: str, patch: Path, top: Path, depth: int) -> None:
    words = ["git", "apply", "--whitespace=nowarn", f"-p{depth}", "-"]
    alone = {"GIT_CEILING_DIRECTORIES": str(top.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        ended = subprocess.run(
            words, input=text, cwd=top, capture_output=True, text=True, check=False,
            timeout=_APPLIED_WITHIN_S, env={**environment, **alone},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CaptureFailed(
            f"git cannot apply {patch}: {error}.", remedy="Install git, or pass a patched copy."
        ) from error
    if ended.returncode:
        first = (ended.stderr.strip().splitlines() or [f"status {ended.returncode}"])[0]
        raise BadInput(
            f"{patch} does not fit your file: {first}.",
            remedy="Make it against the file as it is now.",
        )
