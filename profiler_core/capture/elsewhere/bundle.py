"""What is sent to another machine: our own code, and the user's project; all in one archive.

Our code is always sent, so that both sides are the same version and nothing has to be installed
there but torch.
"""

import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

import profiler_core
from profiler_core.capture.against import against_of, file_of
from profiler_core.capture.child.project import root_of
from profiler_core.capture.provenance import git_says
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import BadInput

OURS = "fusionscope"  # folder of the archive
CODE = "code"
SENT = "{sent}"  # becomes the folder in which the archive is unpacked
_MOST_BYTES = 200_000_000
_MOST_FILES = 20_000
# Beside `capture`: what it imports there, as `tests/test_contracts.py` holds.
_OUR_PARTS = (
    *("__init__.py", "digits.py", "errors.py", "home.py", "resources.py", "run_directory.py"),
    "worker",
)
_LEFT_OUT = {"__pycache__", "node_modules"}
_LEAVE_IT_THERE = "or copy it there yourself and pass --code-there with its path there"


@dataclass(frozen=True)
class Project:
    """The user's files. paths: relative to the folder, sorted."""

    folder: Path
    paths: tuple[Path, ...]
    n_bytes: int


def project_of(spec: CaptureSpec) -> Project:
    """The files of the folder that a capture works in: what git knows or would, else all of them.

    Raises:
        BadInput: the file is not in that folder, or a link out of it; or it is too much to be sent.
    """
    file = file_of(spec)
    if not file.is_file():
        raise BadInput(
            f"{file} does not exist.",
            remedy="Pass an existing Python file; --code-there takes a path of the other machine.",
        )
    folder = Path(spec.directory).expanduser().absolute() if spec.directory else root_of(file)
    if not file.is_relative_to(folder):
        raise BadInput(
            f"--directory {folder} does not hold {file}, and only one folder is sent.",
            remedy=f"Name a folder that holds both, {_LEAVE_IT_THERE}.",
        )
    root = folder.resolve()
    # Somebody else's project may link to this user's keys, and its code runs there.
    if not file.resolve().is_relative_to(root):
        raise BadInput(
            f"{file} is a link that leads out of {folder}.",
            remedy="Name the file that it leads to, or put a copy in its place.",
        )
    paths = [file.relative_to(folder)]
    n_bytes = 0
    for path in _listed(folder):
        if len(paths) > _MOST_FILES or n_bytes > _MOST_BYTES:
            raise BadInput(
                f"{folder} holds more than {_MOST_BYTES // 1_000_000} MB or {_MOST_FILES} files, "
                "which is too much to be sent for each capture.",
                remedy=f"Put what is large into .gitignore, {_LEAVE_IT_THERE}.",
            )
        full = folder / path
        if path != paths[0] and full.is_file() and full.resolve().is_relative_to(root):
            paths.append(path)
            n_bytes += full.stat().st_size
    return Project(folder, tuple(sorted(paths)), n_bytes + file.stat().st_size)


def _listed(folder: Path) -> Iterator[Path]:
    names = git_says(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if names is not None:
        yield from (Path(name) for name in names.split("\0") if name)
        return
    for top, folders, files in os.walk(folder):
        here = Path(top)
        folders[:] = [name for name in folders if _is_code(here / name)]
        yield from ((here / name).relative_to(folder) for name in files)


def _is_code(folder: Path) -> bool:
    is_hidden = folder.name.startswith(".") or folder.name in _LEFT_OUT
    return not is_hidden and not (folder / "pyvenv.cfg").exists()


def our_files() -> Iterator[tuple[Path, str]]:
    """Our code that runs there, and the one library that it needs: each file, and its path."""
    package = Path(profiler_core.__file__).parent
    for part in (*_OUR_PARTS, "capture"):
        yield from _below(package / part, f"{package.name}/{part}")
    library = Path(platformdirs.__file__).parent
    yield from _below(library, library.name)


def _below(path: Path, name: str) -> Iterator[tuple[Path, str]]:
    if path.is_file():
        yield path, name
        return
    for file in sorted(path.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file, f"{name}/{file.relative_to(path).as_posix()}"


def write_bundle(target: Path, project: Project | None) -> None:
    """Pack our code, and the project where there is one."""
    with tarfile.open(target, "w:gz", compresslevel=6, dereference=True) as archive:
        for file, name in our_files():
            archive.add(file, f"{OURS}/{name}")
        if project is not None:
            for path in project.paths:
                archive.add(project.folder / path, f"{CODE}/{path.as_posix()}")


def as_there(spec: CaptureSpec, project: Project | None) -> CaptureSpec:
    """The spec with the paths that hold there.

    Args:
        spec: as asked for here.
        project: what is sent; None: the paths are of the other machine already.

    Raises:
        BadInput: the version to compare with is not there.
    """
    against = against_of(spec)
    if against is not None and against.kind != "python" and project is not None:
        raise BadInput(
            f"--against {against.value} is another version of your file, and only one is sent.",
            remedy="Pass another Python of that machine, or --code-there with paths there.",
        )
    if project is None:
        return spec
    function = spec.workload.rpartition(":")[2]
    path = file_of(spec).relative_to(project.folder).as_posix()
    folder = f"{SENT}/{CODE}"
    return replace(
        spec,
        workload=f"{folder}/{path}:{function}",
        directory=folder if spec.directory else None,
        against=against.text if against else None,
    )
