"""The one sentence about a file with nothing in it."""

from typing import TypeVar

from profiler_core.errors import BadInput

_Error = TypeVar("_Error", bound=BadInput)


def empty_file(name: str, kind: type[_Error]) -> _Error:
    """The error for a file that is empty, plain or unpacked."""
    return kind(f"{name} is empty.", remedy="Record it again, or pass the file that was meant.")
