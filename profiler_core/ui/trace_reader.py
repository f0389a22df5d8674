"""Processes that read traces into columns: one a file, shared by all sessions.

A reader outlives the page that started it, so that a click while a big trace is being read does
not begin anew; whoever opens the trace meanwhile follows the same process.
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from profiler_core.door import deeds
from profiler_core.ingest.version import Version, version_of
from profiler_core.ui.sign_in.asker import asker
from profiler_core.worker.protocol import Progress
from profiler_core.worker.worker import Worker


class TraceReaders:
    """The readers of one server. One object a module, held by `st.cache_resource`.

    Args:
        module: what is run with the trace's path, a module that answers as ingest does.
    """

    def __init__(self, module: str = "profiler_core.ingest") -> None:
        self._module = module
        self._lock = threading.Lock()
        self._running: dict[tuple[Path, Version], Worker] = {}

    def read(self, trace: Path) -> Iterator[Progress]:
        """Follow the reading of `trace` until its columns lie in the cache.

        Raises:
            BadInput: the file cannot be read as a trace; the sentence is the reader's own.
        """
        version = (trace, version_of(trace))
        with self._lock:
            reader = self._running.get(version)
            if reader is None:
                reader = deeds.start_reader(asker(), self._module, str(trace))
                self._running[version] = reader
        yield from reader.progress()
        with self._lock:
            self._running.pop(version, None)
        reader.result(
            dict[str, Any],
            ended=f"{trace.name} could not be read: the reader was ended.",
            remedy="Open it again; a large trace needs free memory.",
        )
