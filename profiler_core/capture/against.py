"""The other version of `capture --against`: what it names. Nothing is started here.

What was written is a git ref of the repository around the user's file, the path of another copy, or
another Python; `kind:` before it says which, and is what everything but a person writes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from profiler_core.capture.python_path import python_at
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import BadInput, CaptureFailed
from profiler_core.home import expanded, is_there

Kind = Literal["git", "path", "python", "patch"]
IsRef = Callable[[Path, str], bool]  # (the user's file, a text)


@dataclass(frozen=True)
class Against:
    """What the other version is. value: a ref, a path, an interpreter, or a unified diff."""

    kind: Kind
    value: str

    @property
    def text(self) -> str:
        """As `--against` takes it without looking at any file."""
        return f"{self.kind}:{self.value}"


def against_of(spec: CaptureSpec, is_ref: IsRef | None = None) -> Against | None:
    """What `spec.against` names; None: there is no other version.

    Args:
        spec: with or without it.
        is_ref: tells whether a text is a ref of the repository around the user's file; None: what
            is no path is taken for one, right or wrong, and nothing is started.

    Raises:
        BadInput: it is neither a ref nor a path, or the workload is no file of the user's.
    """
    text = (spec.against or "").strip()
    if not text:
        return None
    kind, colon, value = text.partition(":")
    is_told = colon and kind in get_args(Kind)
    against = Against(kind, value) if is_told else _recognised(text, spec, is_ref)  # type: ignore[arg-type]
    if against.kind in ("path", "patch"):
        against = replace(against, value=str(expanded(against.value).absolute()))
    if against.kind != "python" and not spec.is_user_code:
        raise BadInput(
            f"--against {text} names another version of a file, and {spec.workload} is built in.",
            remedy="Pass another Python, or capture your own path/to/file.py:function.",
        )
    return against


def _recognised(text: str, spec: CaptureSpec, is_ref: IsRef | None) -> Against:
    path = expanded(text)
    is_path = is_there(path)
    names_ref = not is_path
    if is_ref is not None:
        names_ref = spec.is_user_code and is_ref(file_of(spec), text)
    if is_path and names_ref:
        raise BadInput(
            f"--against {text} is a git ref, and a path too.",
            remedy=f"Write git:{text} or path:{text}.",
        )
    if names_ref:
        return Against("git", text)
    if not is_path:
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


def file_of(spec: CaptureSpec) -> Path:
    """The user's file, absolute."""
    path = spec.workload.rpartition(":")[0] or spec.workload
    return expanded(path).absolute()
