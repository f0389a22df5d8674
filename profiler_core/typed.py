"""Types that msgspec decodes, each made ready by one thread.

msgspec keeps what it works out of a class on the class before that is whole. A second thread that
decodes the same class at that moment reads a null pointer, and the process is gone: a server ended
so in its first second (msgspec 0.22; tests/test_typed.py says how to see it).
"""

from threading import RLock
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")

_ready: set[Any] = set()
_lock = RLock()


def ready(kind: _T) -> _T:
    """The type itself, which any thread may hand to msgspec from now on.

    Args:
        kind: a class, or a union or container of some.
    """
    if kind not in _ready:
        with _lock:
            msgspec.json.Decoder(kind)
            _ready.add(kind)
    return kind
