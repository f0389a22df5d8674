"""Two versions of the user's code, or one in two environments, as files that run in turns.

Git is asked by lists of words, and a ref is unpacked from `git archive`: that runs no hook and
leaves the repository as it is.
"""

import re
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from profiler_core.capture.against import Against, against_of, file_of
from profiler_core.capture.child.project import root_of
from profiler_core.capture.patched import patched
from profiler_core.capture.provenance import code_version, git_says
from profiler_core.capture.python_path import environment_of, python_at
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import BadInput, CaptureFailed

_ARCHIVED_WITHIN_S = 300
_LONGEST = 40  # characters of a label


@dataclass(frozen=True)
class Version:
    """One of two versions that are timed in turns; `label` is "" where there is only one."""

    label: str
    spec: CaptureSpec  # with the files and the Python of this version
    code: dict[str, object]  # git_commit, git_branch, git_dirty
    is_against: bool = False

    @property
    def slug(self) -> str:
        """What the folders of its runs begin with."""
        return re.sub(r"[^A-Za-z0-9_.@+-]+", "-", self.label)


def named_version(spec: CaptureSpec) -> Against | None:
    """As `against_of`, git asked whether a text is a ref."""
    return against_of(spec, lambda file, text: _commit(file.parent, text) is not None)


def versions_of(spec: CaptureSpec, folder: Path) -> tuple[Version, ...]:
    """The versions to time, the one that others are compared with first.

    Args:
        spec: with or without `against`.
        folder: where a git ref is unpacked; it has to stay while anything runs.

    Raises:
        BadInput: there is no such version.
        CaptureFailed: it cannot be unpacked.
    """
    against = named_version(spec)
    own_code = code_version(file_of(spec).parent) if spec.is_user_code else {}
    own_spec = replace(spec, against=None)
    if against is None:
        return (Version("", own_spec, own_code),)
    if against.kind == "patch":
        patch = Path(against.value)
        return (
            Version("as it is", own_spec, own_code, is_against=True),
            Version(
                _short(patch.name),
                patched(own_spec, patch, folder),
                {**own_code, "git_dirty": True},
            ),
        )
    if against.kind == "python":
        other = replace(own_spec, python=python_at(against.value))
        names = [_environment(version.python) for version in (other, own_spec)]
        labels = _telling(names, [str(version.python) for version in (other, own_spec)])
        code = own_code
    elif against.kind == "path":
        other = _moved(own_spec, _copy(own_spec, Path(against.value)))
        files = [file_of(version) for version in (other, own_spec)]
        labels = _telling([file.parent.name for file in files], [str(file) for file in files])
        code = code_version(files[0].parent)
    else:
        repository, commit = _repository(own_spec, against.value)
        top = folder / f"{_short(against.value)}@{commit[:7]}".replace("/", "-")
        _unpack(repository, commit, top)
        other = _in_checkout(own_spec, repository, top)
        own = "working tree" if own_code.get("git_dirty") else "HEAD"
        labels = (_short(against.value), own)
        if labels[0] == labels[1]:
            labels = (commit[:7], "HEAD, here")
        code = {"git_commit": commit, "git_branch": None, "git_dirty": False}
    return (
        Version(labels[0], other, code, is_against=True),
        Version(labels[1], own_spec, own_code),
    )


def _moved(spec: CaptureSpec, file: Path) -> CaptureSpec:
    function = spec.workload.rpartition(":")[2]
    if not file.is_file():
        raise BadInput(
            f"{file} does not exist in the version to compare with.",
            remedy="Choose a version that has your file, or name its copy.",
        )
    return replace(spec, workload=f"{file}:{function}")


def _copy(spec: CaptureSpec, path: Path) -> Path:
    """The file that stands in `path`, a file itself or another copy of the project's folder."""
    own = file_of(spec)
    if not path.is_dir():
        return path
    inside = [own.relative_to(root_of(own)), Path(own.name)]
    top = git_says(own.parent, "rev-parse", "--show-toplevel")
    if top:
        inside.insert(0, own.resolve().relative_to(Path(top).resolve()))
    return next((path / part for part in inside if (path / part).is_file()), path / inside[0])


def _in_checkout(spec: CaptureSpec, repository: Path, top: Path) -> CaptureSpec:
    """The same file and working directory in what was unpacked of the repository."""
    moved = _moved(spec, top / file_of(spec).resolve().relative_to(repository))
    if spec.directory is None:
        return moved
    directory = Path(spec.directory).expanduser().resolve()
    if not directory.is_relative_to(repository):
        return moved
    return replace(moved, directory=str(top / directory.relative_to(repository)))


def _repository(spec: CaptureSpec, ref: str) -> tuple[Path, str]:
    """(top folder of the repository around the user's file, the commit of the ref)."""
    folder = file_of(spec).parent
    top = git_says(folder, "rev-parse", "--show-toplevel")
    if not top:
        raise BadInput(
            f"{folder} lies in no git repository, so there is no version {ref}.",
            remedy="Pass the path of another copy of the file.",
        )
    commit = _commit(folder, ref)
    if commit is None:
        raise BadInput(
            f"The repository {top} has no branch, tag or commit {ref}.",
            remedy="Fetch it, or name another one.",
        )
    return Path(top).resolve(), commit


def _unpack(repository: Path, commit: str, top: Path) -> None:
    archive = top.with_suffix(".tar")
    words = ["git", "-C", str(repository), "archive", "--format=tar", f"--output={archive}", commit]
    try:
        ended = subprocess.run(
            words, capture_output=True, text=True, timeout=_ARCHIVED_WITHIN_S, check=False
        )
        if ended.returncode:
            raise OSError(ended.stderr.strip() or f"git ended with status {ended.returncode}")
        top.mkdir(parents=True)
        with tarfile.open(archive) as packed:
            packed.extractall(top, filter="data")
    except (OSError, tarfile.TarError, subprocess.TimeoutExpired) as error:
        raise CaptureFailed(
            f"The version {commit[:7]} cannot be unpacked: {error}.",
            remedy="Check it out yourself, and pass the path of the copy.",
        ) from error
    finally:
        archive.unlink(missing_ok=True)


def _commit(folder: Path, ref: str) -> str | None:
    if ref.startswith("-"):
        return None
    return git_says(
        folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"
    )


def _environment(python: str | None) -> str:
    folder = environment_of(python_at(python)) if python else None
    return folder.name if folder is not None else python or "own Python"


def _short(text: str) -> str:
    return text[:_LONGEST]


def _telling(names: Sequence[str], paths: Sequence[str]) -> tuple[str, str]:
    """Two labels that differ: names, else paths."""
    first, second = names if names[0] != names[1] and all(names) else paths
    return (first, second) if first != second else (f"{first}, against", f"{second}, own")
