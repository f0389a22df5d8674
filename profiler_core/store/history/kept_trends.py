"""What *Trends* draws, kept in the cache folder: the next server need not make it again.

Named by what was asked, by the state of the history that it rests on, and by the code that makes
it: what has changed is not found any more.
"""

from collections.abc import Callable, Hashable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from profiler_core.home import cache_directory
from profiler_core.ranks.job_cache import write
from profiler_core.session.kept import code_version, drop_oldest, packed, unpacked
from profiler_core.store.history.lines import LINES_VERSION, digest

T = TypeVar("T")
Made = TypeVar("Made")

_FOLDER = "trends"
_MOST_FILES = 500  # some 50 kB each


def lasting(asked: tuple[Hashable, ...], kind: type[T], make: Callable[[], Made]) -> T | Made:
    """The answer that any process has kept, else the one that is made here, kept for others.

    Args:
        asked: the question with the version of the history.
        kind: of the answer, a record; None is not kept.
        make: asks the history.
    """
    name = digest(repr((code_version(), LINES_VERSION, *asked)))
    path = cache_directory() / _FOLDER / f"{name}.msgpack"
    try:
        kept = unpacked(path.read_bytes(), kind)
    except OSError:
        kept = None
    if kept is not None:
        return kept
    answer = make()
    if answer is not None:
        _keep(path, answer)
    return answer


def _keep(path: Path, answer: object) -> None:
    with suppress(OSError):  # a full disk costs the next server some time
        write(path, packed(answer))
        drop_oldest(path.parent, _MOST_FILES)
