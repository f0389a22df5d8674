"""Subprocesses that read traces into columns: one a file, shared by all sessions.

A reader outlives the page that started it, so that a click while a big trace is being read does
not begin anew; whoever opens the trace meanwhile follows the same process.
"""

import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from profiler_core.door import deeds
from profiler_core.errors import BadInput
from profiler_core.ingest.version import Version, version_of
from profiler_core.ui.sign_in.asker import asker

_POLL_S = 0.1


@dataclass(frozen=True)
class Progress:
    """How far a reader is; None before it knows the size."""

    bytes_read: int | None
    bytes_total: int | None
    n_indexing: int | None = None  # events being laid out for the timeline, after reading


@dataclass
class _Reader:
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    said: dict[str, Any] = field(default_factory=dict)

    def last_line(self) -> dict[str, Any]:
        """The newest whole line it wrote."""
        data = Path(self.output.name).read_bytes()
        whole = data[: data.rfind(b"\n") + 1].splitlines()
        if whole:
            self.said = json.loads(whole[-1])
        return self.said


class TraceReaders:
    """The readers of one server. One object a module, held by `st.cache_resource`.

    Args:
        module: what is run with the trace's path; it prints JSON lines as ingest does.
    """

    def __init__(self, module: str = "profiler_core.ingest") -> None:
        self._module = module
        self._lock = threading.Lock()
        self._running: dict[tuple[Path, Version], _Reader] = {}

    def read(self, trace: Path) -> Iterator[Progress]:
        """Follow the reading of `trace` until its columns lie in the cache.

        Raises:
            BadInput: the file cannot be read as a trace; the sentence is the reader's own.
        """
        version = (trace, version_of(trace))
        with self._lock:
            reader = self._running.get(version)
            if reader is None:
                reader = self._running[version] = _start(self._module, trace)
        while reader.process.poll() is None:
            said = reader.last_line()
            yield Progress(said.get("bytes_read"), said.get("bytes_total"), said.get("indexing"))
            time.sleep(_POLL_S)
        said = reader.last_line()
        with self._lock:
            self._running.pop(version, None)
        if reader.process.returncode != 0:
            raise BadInput(
                said.get("problem") or f"{trace.name} could not be read: the reader was ended.",
                remedy=said.get("remedy") or "Open it again; a large trace needs free memory.",
            )


def _start(module: str, trace: Path) -> _Reader:
    # Into a file, not a pipe: nobody may be there to empty it.
    output = tempfile.NamedTemporaryFile(prefix="fusionscope-reader-")  # noqa: SIM115 - outlives this
    return _Reader(deeds.start_reader(asker(), module, str(trace), output=output), output)
