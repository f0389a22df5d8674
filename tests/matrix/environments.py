"""Virtual environments with one version of torch each, made once and used again.

They lie in the folder named by the variable MATRIX (default: .matrix in the checkout), outside of
what is tested: captures reach them by `--python`, as a user's own environment.
"""

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_READY = "ready.json"
# torch with what PyPI's wheels for Linux depend on, and as much again while pip unpacks it.
_NEEDED_BYTES = 12 * 10**9
_INSTALL_WITHIN_S = 3600


class NotPossible(Exception):
    """An environment cannot be made here; the text says why."""


@dataclass(frozen=True)
class Wanted:
    """One environment: what pip installs, and which Pythons have wheels of it, first choice first.

    The oldest goes into the oldest Python and the newest into the newest, so that the child's code
    meets both ends.
    """

    name: str
    requirements: tuple[str, ...]
    pythons: tuple[str, ...]
    is_newest: bool = False


WANTED = (
    Wanted("2.1", ("torch==2.1.*", "numpy<2"), ("3.8", "3.9", "3.10", "3.11")),
    Wanted("2.6", ("torch==2.6.*", "numpy"), ("3.9", "3.10", "3.11", "3.12", "3.13")),
    Wanted("newest", ("torch", "numpy"), ("3.14", "3.13", "3.12", "3.11"), is_newest=True),
)


@dataclass(frozen=True)
class Environment:
    """A ready one. made_s: how long it took to make; size_bytes: on disk, hard links once."""

    name: str
    python: Path
    made_s: float
    size_bytes: int


def folder() -> Path:
    """Where the environments and the results of the trials lie."""
    return Path(os.environ.get("MATRIX") or ROOT / ".matrix").expanduser().absolute()


def environment(wanted: Wanted) -> Environment:
    """The environment, made when it is not there yet; the newest is brought up to date.

    Raises:
        NotPossible: no Python for it, no room, or pip failed.
    """
    place = folder() / f"torch-{wanted.name}"
    ready = place / _READY
    if not ready.is_file():
        _make(wanted, place)
    elif wanted.is_newest:
        _pip(place, "--upgrade", *wanted.requirements)
    return Environment(wanted.name, place / "bin" / "python", **json.loads(ready.read_text()))


def _make(wanted: Wanted, place: Path) -> None:
    python = _python(wanted)
    folder().mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder()).free
    if free < _NEEDED_BYTES:
        raise NotPossible(
            f"{folder()} has {free / 1e9:.0f} GB left, torch {wanted.name} needs "
            f"{_NEEDED_BYTES / 1e9:.0f} GB while it is installed: set MATRIX to another folder."
        )
    started = time.monotonic()
    shutil.rmtree(place, ignore_errors=True)
    _run([python, "-m", "venv", str(place)])
    _pip(place, *wanted.requirements)
    took = round(time.monotonic() - started, 1)
    ready = {"made_s": took, "size_bytes": _size_bytes(place)}
    (place / _READY).write_text(json.dumps(ready))


def _pip(place: Path, *words: str) -> None:
    # No cache: each wheel is used once, and the cache would hold the gigabytes a second time.
    _run([str(place / "bin" / "python"), "-m", "pip", "install", "-q", "--no-cache-dir", *words])


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=_INSTALL_WITHIN_S)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotPossible(f"{' '.join(words)} failed: {lines[-1] if lines else 'no output'}")


def _python(wanted: Wanted) -> str:
    """An interpreter of one of the wanted versions: on the PATH, pyenv's or uv's."""
    for version in wanted.pythons:
        for finder in (
            [f"python{version}"],
            ["pyenv", "exec", f"python{version}"],
            ["uv", "run", "--no-project", "--python", version, "--offline", "python"],
        ):
            found = _executable(finder, version)
            if found:
                return found
    raise NotPossible(
        f"torch {wanted.name} needs a Python of {', '.join(wanted.pythons)}, and none is here: "
        "install one, with pyenv or uv for example."
    )


def _executable(words: list[str], version: str) -> str | None:
    if shutil.which(words[0]) is None:
        return None
    ask = "import ensurepip, sys; print(sys.executable, '%d.%d' % sys.version_info[:2])"
    # A shim of pyenv runs only what is selected: select the newest of the minor version.
    selected = {**os.environ, "PYENV_VERSION": _pyenv_version(version)}
    try:
        done = subprocess.run(
            [*words, "-c", ask], capture_output=True, text=True, timeout=60, env=selected
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    path, _, found = done.stdout.strip().rpartition(" ")
    return path if done.returncode == 0 and found == version else None


def _pyenv_version(version: str) -> str:
    if shutil.which("pyenv") is None:
        return version
    listed = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True)
    known = [line.strip() for line in listed.stdout.splitlines()]
    return next((name for name in reversed(known) if name.startswith(f"{version}.")), version)


def _size_bytes(place: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in place.rglob("*") if not path.is_dir())
