"""Where the index of a trace lies, and making it when it is not there.

It lies in the cache folder of the trace's columns, so it goes when they go. Its name holds the
version of its format and of the rules that chose the categories: an older one is not found.
"""

import zlib
from pathlib import Path

from profiler_core.analysis import categories, category_rules
from profiler_core.errors import BadInput
from profiler_core.home import cache_directory
from profiler_core.ingest.open import cache_folder, open_trace
from profiler_core.model.trace import Trace
from profiler_core.timeline.build import build_index
from profiler_core.timeline.index import DamagedIndexError, Index, open_index
from profiler_core.timeline.layout import VERSION

_FILES = [Path(str(module.__file__)) for module in (categories, category_rules)]
_RULES = zlib.crc32(b"".join(file.read_bytes() for file in _FILES))
_NAME = f"timeline-{VERSION}-{_RULES:08x}"


def trace_key(path: Path) -> str:
    """A short name for the trace's content, safe to show; `index_of_key` takes it back."""
    return cache_folder(path).relative_to(cache_directory()).as_posix()


def index_of_key(key: str) -> Index:
    """The index of a trace that was indexed before, from its key.

    Raises:
        BadInput: there is none any more.
    """
    root = cache_directory().resolve()
    try:
        folder = (root / key / _NAME).resolve()
        if not folder.is_relative_to(root):
            raise DamagedIndexError("The key leads out of the cache.")
        return open_index(folder)
    except (DamagedIndexError, ValueError) as error:  # no path holds a NUL
        raise BadInput(
            "The timeline of this trace is not in the cache any more.",
            remedy="Reload the page: it is made anew.",
        ) from error


def ready_index(path: Path) -> Index | None:
    """The index of the trace at `path`, or None where it has to be built. Costs milliseconds."""
    try:
        return open_index(cache_folder(path) / _NAME)
    except DamagedIndexError:
        return None


def index_trace(path: Path, trace: Trace | None = None) -> Index:
    """The index of the trace at `path`, built where it is missing or damaged.

    Args:
        path: the trace file.
        trace: its columns, where they are open already.

    Raises:
        FusionscopeError: the trace cannot be read.
    """
    ready = ready_index(path)
    if ready is not None:
        return ready
    folder = cache_folder(path) / _NAME
    build_index(trace if trace is not None else open_trace(path), folder)
    return open_index(folder)
