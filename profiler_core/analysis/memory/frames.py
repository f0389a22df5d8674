"""Which frames of a Python stack are the framework's own, and how a place in a file is written."""

import re
from collections.abc import Collection
from typing import NamedTuple

# A folder named torch may be anybody's (/opt/torch/model.py); with what torch keeps in it, it is
# the framework. Generated code lies in Inductor's cache, our own child in capture/child.
_FRAMEWORK = re.compile(
    r"(^|/)torch/(_\w+|nn|autograd|optim|utils|cuda|amp|ao|jit|fx|func|distributed|profiler"
    r"|backends|functional\.py|overrides\.py)(/|\.py|$)"
    r"|(^|/)(site|dist)-packages/torch/|torchinductor|/inductor/|profiler_core/capture/child/(?!models|workloads)"
    r"|^<|(^|/)(threading|contextlib|runpy)\.py$"
)

_CALL = re.compile(r"(?P<file>.+)\((?P<line>\d{1,18})\): (?P<function>.+)$")
MODULE_CALL = "nn.Module: "  # before class and number, in a trace with Python calls


def is_framework(file: str) -> bool:
    """Is this no line that a user of torch, or a library on it, wrote?"""
    return _FRAMEWORK.search(file.replace("\\", "/")) is not None


def place(file: str, line: int | str) -> str:
    """`modeling_bert.py:176`."""
    return f"{file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{line}"


class UserFunction(NamedTuple):
    """A function of the user's code."""

    place: str  # `resnet.py:143`, where it begins
    name: str


def user_function(call: str) -> UserFunction | None:
    """The function of a Python call in a trace, by the line where it begins.

    None for a function of the framework, a built-in one, and the call of a module.
    """
    frame = _CALL.match(call)
    if frame is None or is_framework(frame["file"]):
        return None
    return UserFunction(place(frame["file"], frame["line"]), frame["function"])


def function_of(call: str) -> str | None:
    """The same as `resnet.py:143 forward`."""
    function = user_function(call)
    return None if function is None else f"{function.place} {function.name}"


def n_shared(paths: Collection[tuple[str, ...]]) -> int:
    """How many outermost frames all paths share; each keeps its last one."""
    n = max(min((len(path) for path in paths), default=1) - 1, 0)
    while n and len({path[:n] for path in paths}) > 1:
        n -= 1
    return n
