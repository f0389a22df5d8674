"""The other version of `capture --against`: what it names, and the files that run for it.

Two versions of the user's code, or one version in two environments, are timed in turns as variants
are. What was written is a git ref of the repository around the user's file, the path of another
copy, or another Python; `kind:` before it says which, and is what everything but a person writes.
Git is asked by lists of words, and a ref is unpacked from `git archive`: that runs no hook and
leaves the repository as it is.
"""

import re
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from profiler_core.capture.child.project import root_of
from profiler_core.capture.provenance import code_version
from profiler_core.capture.python_path import environment_of, python_at
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import BadInput, CaptureFailed

Kind = Literal["git", "path", "python"]

_ARCHIVED_WITHIN_S = 300
_LONGEST = 40  # characters of a label


@dataclass(frozen=True)
class Against:
    """What the other version is. value: a ref, a path, or an interpreter."""

    kind: Kind
    value: str

    @property
    def text(self) -> str:
        """As `--against` takes it without looking at any file."""
        return f"{self.kind}:{self.value}"


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


def against_of(spec: CaptureSpec, *, ask_git: bool = True) -> Against | None:
    """What `spec.against` names; None: there is no other version.

    Args:
        spec: with or without it.
        ask_git: start git for what is no path; else that is taken for a ref, right or wrong.

    Raises:
        BadInput: it is neither a ref nor a path, or the workload is no file of the user's.
    """
    text = (spec.against or "").strip()
    if not text:
        return None
    kind, colon, value = text.partition(":")
    is_told = colon and kind in get_args(Kind)
    against = Against(kind, value) if is_told else _recognised(text, spec, ask_git)  # type: ignore[arg-type]
    if against.kind == "path":
        against = replace(against, value=str(Path(against.value).expanduser().absolute()))
    if against.kind != "python" and not spec.is_user_code:
        raise BadInput(
            f"--against {text} names another version of a file, and {spec.workload} is built in.",
            remedy="Pass another Python, or capture your own path/to/file.py:function.",
        )
    return against


def _recognised(text: str, spec: CaptureSpec, ask_git: bool) -> Against:
    path = Path(text).expanduser()
    is_ref = not path.exists()
    if ask_git:
        is_ref = spec.is_user_code and _commit(_file(spec).parent, text) is not None
    if path.exists() and is_ref:
        raise BadInput(
            f"--against {text} is a git ref, and a path too.",
            remedy=f"Write git:{text} or path:{text}.",
        )
    if is_ref:
        return Against("git", text)
    if not path.exists():
        raise BadInput(
            f"--against {text} is neither a git ref of the repository of your file, nor a path.",
            remedy="Pass a branch, tag or commit, another copy of the file, or a Python.",
        )
    if path.suffix == ".py":
        return Against("path", text)
    try:
        return Against("python", python_at(str(path)))
    except CaptureFailed:
        return Against("path", text)


def versions_of(spec: CaptureSpec, folder: Path) -> tuple[Version, ...]:
    """The versions to time, the one that others are compared with first.

    Args:
        spec: with or without `against`.
        folder: where a git ref is unpacked; it has to stay while anything runs.

    Raises:
        BadInput: there is no such version.
        CaptureFailed: it cannot be unpacked.
    """
    against = against_of(spec)
    own_code = code_version(_file(spec).parent) if spec.is_user_code else {}
    own_spec = replace(spec, against=None)
    if against is None:
        return (Version("", own_spec, own_code),)
    if against.kind == "python":
        other = replace(own_spec, python=python_at(against.value))
        names = [_environment(version.python) for version in (other, own_spec)]
        labels = _telling(names, [str(version.python) for version in (other, own_spec)])
        code = own_code
    elif against.kind == "path":
        other = _moved(own_spec, _copy(own_spec, Path(against.value)))
        files = [_file(version) for version in (other, own_spec)]
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


def _file(spec: CaptureSpec) -> Path:
    path = spec.workload.rpartition(":")[0] or spec.workload
    return Path(path).expanduser().absolute()


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
    own = _file(spec)
    if not path.is_dir():
        return path
    inside = [own.relative_to(root_of(own)), Path(own.name)]
    top = _git(own.parent, "rev-parse", "--show-toplevel")
    if top:
        inside.insert(0, own.resolve().relative_to(Path(top).resolve()))
    return next((path / part for part in inside if (path / part).is_file()), path / inside[0])


def _in_checkout(spec: CaptureSpec, repository: Path, top: Path) -> CaptureSpec:
    """The same file and working directory in what was unpacked of the repository."""
    moved = _moved(spec, top / _file(spec).resolve().relative_to(repository))
    if spec.directory is None:
        return moved
    directory = Path(spec.directory).expanduser().resolve()
    if not directory.is_relative_to(repository):
        return moved
    return replace(moved, directory=str(top / directory.relative_to(repository)))


def _repository(spec: CaptureSpec, ref: str) -> tuple[Path, str]:
    """(top folder of the repository around the user's file, the commit of the ref)."""
    folder = _file(spec).parent
    top = _git(folder, "rev-parse", "--show-toplevel")
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
    return _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")


def _git(folder: Path, *words: str) -> str | None:
    try:
        ended = subprocess.run(
            ["git", "-C", str(folder), *words],  # noqa: S607 - the user's own git
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.strip() if ended.returncode == 0 else None


def _environment(python: str | None) -> str:
    folder = environment_of(python_at(python)) if python else None
    return folder.name if folder is not None else python or "own Python"


def _short(text: str) -> str:
    return text[:_LONGEST]


def _telling(names: Sequence[str], paths: Sequence[str]) -> tuple[str, str]:
    """Two labels that differ: names, else paths."""
    first, second = names if names[0] != names[1] and all(names) else paths
    return (first, second) if first != second else (f"{first}, against", f"{second}, own")
