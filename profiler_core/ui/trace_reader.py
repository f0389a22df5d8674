"""Reading traces into columns, as pages wait for it: a job for each file, shared by all servers.

A job outlives the page that asked for it, so that a click while a big trace is being read does not
begin anew; whoever opens the trace meanwhile follows the same job.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiler_core.door import deeds
from profiler_core.ingest.version import version_of
from profiler_core.jobs import service as jobs
from profiler_core.ui.sign_in.asker import asker
from profiler_core.worker.protocol import Progress


@dataclass(frozen=True)
class TraceReaders:
    """The readers of one kind of file.

    module: what is run with the file's path, a module that answers as ingest does.
    """

    module: str = "profiler_core.ingest"

    def read(self, trace: Path) -> Iterator[Progress]:
        """Follow the reading of `trace` until its columns lie in the cache.

        While the reading waits for its turn, the text of the progress says for what.

        Raises:
            BadInput: the file cannot be read as a trace; the sentence is the reader's own.
            QueueFull: too many jobs run or wait.
        """
        job_id = deeds.read_file(asker(), self.module, trace, str(version_of(trace)))
        yield from jobs.follow(job_id)
        jobs.result(job_id, dict[str, Any])
