"""Files that a page has offered and that a route makes once they are asked for, by a key.

In `<home>/orders`, so that any process over this home knows what another one has offered, also
after a restart. The newest few hundred are kept.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from profiler_core.home import home_directory
from profiler_core.store.private_file import write_private

_MOST = 256
_KEY_LENGTH = 32


@dataclass(frozen=True)
class Order:
    """Which file: `verb RUN… -o FILE options`, the file with this ending."""

    verb: str
    runs: tuple[Path, ...]
    ending: str
    options: tuple[str, ...] = ()


def keep_order(order: Order) -> str:
    """Remember an order; its key, the same for the same order.

    Raises:
        OSError: the home cannot be written.
    """
    # Not by msgspec: a file's name may hold half characters, which JSON writes as escapes.
    runs = [os.fspath(run) for run in order.runs]
    content = json.dumps([order.verb, runs, order.ending, list(order.options)]).encode()
    key = hashlib.sha256(content).hexdigest()[:_KEY_LENGTH]
    path = _folder() / key
    try:
        os.utime(path)  # asked for again: it is the newest
    except FileNotFoundError:
        write_private(path, content)
        _forget_old()
    return key


def kept_order(key: str) -> Order | None:
    """The order of this key; None: nobody remembers it."""
    if len(key) != _KEY_LENGTH or not key.isalnum():
        return None
    try:
        verb, runs, ending, options = json.loads((_folder() / key).read_bytes())
    except (OSError, ValueError):
        return None
    return Order(verb, tuple(map(Path, runs)), ending, tuple(options))


def _forget_old() -> None:
    kept = sorted(_folder().iterdir(), key=_asked_ns, reverse=True)
    for path in kept[_MOST:]:
        path.unlink(missing_ok=True)


def _asked_ns(path: Path) -> int:
    """When it was asked for last; what `listing.changed_ns` says too is when it was copied."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # another process forgot it
        return 0


def _folder() -> Path:
    return home_directory() / "orders"
